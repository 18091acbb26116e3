r"""Prepares the inputs of a recorded function: checks them, names them, makes floats require gradients."""

import inspect
from typing import Any

from torch import Tensor, nn

from cutaway.inside.results import rebuilt, tensors


def expect_inputs(function: Any, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> None:
    """Raises unless a function can be called with these inputs."""
    signature = _signature(function)
    if signature is None:
        return
    try:
        signature.bind(*inputs, **keywords)
    except TypeError as error:
        name = type(function).__name__ if isinstance(function, nn.Module) else getattr(function, "__name__", "function")
        what = "model" if isinstance(function, nn.Module) else "function"
        first = next(iter(signature.parameters), "x")
        got = f"{len(inputs) + len(keywords)} inputs" if inputs or keywords else "no inputs"
        raise ValueError(
            f"a graph is recorded of one pass over real inputs, got {got} for {name}{_listed(signature)}: {error}; "
            f"pass what it takes, as in cut.graph({what}, {first})"
        ) from None


def _listed(signature: inspect.Signature) -> str:
    plain = [parameter.replace(annotation=parameter.empty) for parameter in signature.parameters.values()]
    return str(inspect.Signature(plain))


def _signature(function: Any) -> inspect.Signature | None:
    called = function.forward if isinstance(function, nn.Module) else function
    try:
        return inspect.signature(called)
    except (TypeError, ValueError):  # builtins have none
        return None


def name_inputs(function: Any, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> dict[str, Any]:
    """Inputs by the names of the function's own parameters, in order."""
    signature = _signature(function)
    parameters = [] if signature is None else list(signature.parameters.values())
    named: dict[str, Any] = {}
    for i, part in enumerate(inputs):
        plain = "input" if len(inputs) == 1 else f"input {i + 1}"
        single = i < len(parameters) and parameters[i].kind is not inspect.Parameter.VAR_POSITIONAL
        name = parameters[i].name if single else plain
        named[plain if name in keywords or name in named else name] = part
    return named | keywords


class PreparedInputs:
    """Inputs as the function gets them: floats that should get a δ require a gradient; all tensors have names."""

    def __init__(self, deltas: bool) -> None:
        self.deltas = deltas
        self.tensors: list[tuple[str, Tensor]] = []
        self._made: dict[int, Tensor] = {}

    def make(self, name: str, part: Any) -> Any:
        given = list(tensors(part))
        names = [name] if len(given) == 1 else [f"{name}[{i}]" for i in range(len(given))]
        ready = [self._one(one, x) for one, x in zip(names, given)]
        if all(new is old for new, old in zip(ready, given)):
            return part  # itself: the function may write to a list or dictionary of its caller's
        news = iter(ready)
        return rebuilt(part, lambda _: next(news))

    def _one(self, name: str, x: Tensor) -> Tensor:
        if id(x) not in self._made:
            wants = self.deltas and (x.is_floating_point() or x.is_complex()) and not x.requires_grad
            if wants and "mask" not in name and not isinstance(x, nn.Parameter):
                # a copy that is no leaf: the function may change it in place
                self._made[id(x)] = x.clone().detach().requires_grad_().clone()
            else:
                self._made[id(x)] = x
        self.tensors.append((name, self._made[id(x)]))
        return self._made[id(x)]


__all__ = ["PreparedInputs", "expect_inputs", "name_inputs"]
