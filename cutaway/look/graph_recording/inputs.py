r"""What goes into a recorded function: under which names, and in autograd's graph where a δ is wanted."""

import inspect
from typing import Any

from torch import Tensor, nn

from cutaway.inside.results import rebuilt, tensors


def name_inputs(function: Any, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> dict[str, Any]:
    """Inputs by the names of the function's own parameters, in order."""
    called = function.forward if isinstance(function, nn.Module) else function
    try:
        parameters = list(inspect.signature(called).parameters.values())
    except (TypeError, ValueError):  # builtins have none
        parameters = []
    named: dict[str, Any] = {}
    for i, part in enumerate(inputs):
        plain = "input" if len(inputs) == 1 else f"input {i + 1}"
        single = i < len(parameters) and parameters[i].kind is not inspect.Parameter.VAR_POSITIONAL
        name = parameters[i].name if single else plain
        named[plain if name in keywords or name in named else name] = part
    return named | keywords


class Ready:
    """Inputs as they go in: floats that should get a δ, in the graph; all tensors with their names."""

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


__all__ = ["Ready", "name_inputs"]
