r"""Traces and patches: read and change any value inside any `nn.Module`.

    with cut.trace(model, "blocks.*.attention.weights") as seen:
        model(tokens)
    seen["blocks.0.attention.weights"]

    with cut.patch(model, {"blocks.1.attention.output": lambda y: 0 * y}):
        model(tokens)

How they get at the values is in hooks.py, what a trace keeps in results.py, addresses in address_globs.py and
arguments.py.
"""

from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any

import torch
from torch import Tensor, nn

from cutaway.inside.address_globs import Addresses, Site, find_sites, named_sites
from cutaway.inside.checkpoints import computed_again, enclosing_function
from cutaway.inside.hooks import AddressedWatch, HookedWatch, Stop, into_graph
from cutaway.inside.results import Keeping, Kept, LookError, Seen, rebuilt, shape_of, tensors
from cutaway.inside.taps import Part, Whole
from cutaway.inside.tensor_layouts import sides_of
from cutaway.inside.wrappers import kind_of
from cutaway.overriding import override

Edit = Callable[[Any], Any]


def _expect_module(model: Any) -> None:
    if not isinstance(model, nn.Module):
        raise ValueError(f"a model must be a torch.nn.Module, got {type(model).__name__}; pass the module itself")


def _find(model: nn.Module, patterns: Iterable[str]) -> dict[str, dict[str, Site]]:
    _expect_module(model)
    for pattern in patterns:
        if not isinstance(pattern, str):
            raise ValueError(f"an address must be a text, got {pattern!r}; cut.addresses(model) lists those of a model")
    known = named_sites(model)
    return {pattern: find_sites(known, pattern) for pattern in patterns}


class trace(AddressedWatch):  # noqa: N801 -- used like a function
    """Reads values while the model runs: ``with cut.trace(model, "blocks.*") as seen: model(x)``.

    ``addresses`` are patterns or lists of them. Values are the model's own tensors unless asked otherwise:
    ``clone`` copies each when it is made (needed where later code changes it in place), ``detach`` cuts it from
    the autograd graph, ``device`` moves it. ``gradients`` also keeps the gradient of each value, filled in by any later
    backward pass. ``stop`` ends the pass, and the `with` block, once every address has been read. ``memory_limit`` in
    bytes, over all that is kept, ends the pass with a MemoryError before the machine is out of memory.

    ``only`` keeps a part of every value, ``value[only]``: an index of its leading axes, ``only=(examples, heads)`` for
    the weights of attention, which are then computed for these alone.
    """

    def __init__(
        self,
        model: nn.Module,
        *addresses: str | Iterable[str],
        gradients: bool = False,
        stop: bool = False,
        clone: bool = False,
        detach: bool = False,
        device: torch.device | str | int | None = None,
        memory_limit: float | None = None,
        only: Any = (),
    ) -> None:
        patterns = [part for given in addresses for part in _as_patterns(given)]
        if not patterns:
            raise ValueError("a trace needs an address, got none; '**' asks for all, cut.addresses(model) lists them")
        super().__init__(_find(model, patterns), edits=gradients, gradients=gradients, only=_as_index(only))
        self.keeping = Keeping(clone, detach, device, self.only)
        self.stop = stop
        self.memory_limit = memory_limit
        self.bytes = 0
        self.seen = Seen([name for names in self.names.values() for name in names], gradients)
        # A checkpoint is held by the graph, and what was seen holds the graph: it must not hold what was seen.
        self._without_seen = HookedWatch(self.names, self.edits, self.gradients, self.only)

    @override
    def remembered(self) -> HookedWatch:
        return self._without_seen

    @override
    def read(self, site: Site, value: Any) -> None:
        names, keeping = self.names[site], self.keeping
        if isinstance(value, Part):  # the block has left out the rest
            value, keeping = value.value, keeping._replace(only=())
        source = None
        if isinstance(value, Whole):
            value, source = value
        for x in tensors(value):
            if torch._C._functorch.is_functorch_wrapped_tensor(x):
                raise LookError(
                    f"a trace reads plain tensors, got one inside a torch.func transform (vmap, grad, jvp) at "
                    f"{names[0]!r}; trace a call outside of it, or return the value from the transformed function"
                )
            try:
                self.bytes += keeping.size(x) * (2 if self.gradients else 1)  # a gradient takes as much again
            except IndexError:
                raise LookError(
                    f"only must index the leading axes of every value read, got only={self.only} for one of shape "
                    f"{sides_of(x)} at {names[0]!r}; ask for a part that is there, or for fewer addresses"
                ) from None
        if self.memory_limit is not None and self.bytes > self.memory_limit:
            raise MemoryError(
                f"a trace may keep memory_limit={self.memory_limit:.0f} bytes, got {self.bytes} at {names[0]!r}; "
                "ask for fewer addresses or raise the limit"
            )
        kept = Kept(value, keeping, _why_no_gradient(value) if self.gradients else None, source)
        for name in names:
            self.seen._kept[name].append(kept)

    @override
    def wants_to_stop(self) -> bool | None:
        return len(self.reached) == len(self.names) if self.stop else None

    def __enter__(self) -> Seen:
        self.open()
        return self.seen

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> bool:
        self.close()
        if kind is None:
            self.expect_reached()
        return isinstance(error, Stop) and error.args[0] is self


def _as_patterns(given: Any) -> list[Any]:
    """One pattern, or those of a list; anything else is left to the check of addresses."""
    return list(given) if isinstance(given, Iterable) and not isinstance(given, (str, bytes, nn.Module)) else [given]


def _as_index(only: Any) -> tuple[Any, ...]:
    """Plain numbers, slices and lists, which can be compared."""
    parts = only if isinstance(only, tuple) else (only,)
    plain = []
    for part in parts:
        if isinstance(part, (Tensor, range)):
            part = part.tolist() if isinstance(part, Tensor) else list(part)
        if isinstance(part, bool) or not isinstance(part, (int, slice, list)):
            raise ValueError(
                f"only must be a number, slice or list of numbers for each leading axis, got {type(part).__name__}; "
                "for the second head of all examples use only=(slice(None), 1)"
            )
        plain.append(part)
    return tuple(plain)


def _why_no_gradient(value: Any) -> str:
    if not torch.is_grad_enabled():
        if inside := enclosing_function():
            return (
                f"a gradient needs a pass in the graph, got {{}} inside {inside}, a torch.autograd.Function; "
                "with activation checkpointing pass use_reentrant=False"
            )
        return (
            "a gradient needs a pass with gradients enabled, got {} under torch.no_grad() or inference_mode(); "
            "run the model outside of it"
        )
    if not any(x.requires_grad for x in tensors(value)):
        return "a gradient needs a value made of floats, got {} without one; ask for a value further on"
    view = ", and make later operations in place on it, a view, ordinary ones"
    return (
        "a gradient needs a backward pass from a result that depends on the value, got none through {}; call "
        "backward() on the loss"
    ) + (view if any(x._is_view() for x in tensors(value)) else "")


class patch(AddressedWatch):  # noqa: N801 -- used like a function
    """Changes values while the model runs: ``with cut.patch(model, {"mlp.hidden": 0.0}): model(x)``.

    ``edits`` maps addresses (or patterns) to a function of the value, or to a tensor or number that broadcasts to its
    shape. Functions are differentiated through. Patches compose: each receives what the ones before it made.
    Under activation checkpointing a patch must stay open through backward; closed too early, backward raises.
    """

    def __init__(self, model: nn.Module, edits: Mapping[str, Edit | Tensor | float]) -> None:
        if not isinstance(edits, Mapping):
            raise ValueError(
                f"a patch takes a dict of addresses and edits, got {type(edits).__name__}; "
                "pass {address: function or tensor}"
            )
        if not edits:
            raise ValueError("a patch needs an edit, got none; pass {address: function or tensor}")
        super().__init__(_find(model, edits), edits=True)
        self.functions: dict[Site, list[Edit]] = {}
        for pattern, edit in edits.items():
            # once for each site, also where a shared module goes by several of the names
            for site, address in {site: address for address, site in self.patterns[pattern].items()}.items():
                self.functions.setdefault(site, []).append(_as_function(edit, address))

    @override
    def change(self, site: Site, value: Any) -> Any:
        address = self.names[site][0]
        if inside := enclosing_function():
            raise LookError(
                f"a patch must not act inside a torch.autograd.Function, whose backward may compute the value again "
                f"without it, got {inside} around {address!r}; with activation checkpointing pass use_reentrant=False"
            )
        for function in self.functions[site]:
            value = function(value)
        return rebuilt(value, self._sealed) if torch.is_grad_enabled() and computed_again() else value

    def _sealed(self, x: Tensor) -> Tensor:
        """Makes backward raise at this value if the patch is closed by then, even where nothing is computed again."""
        x = into_graph(x)
        if x.requires_grad:
            x.register_hook(lambda _: self._must_be_open())
        return x

    def _must_be_open(self) -> None:
        if not self.is_open:
            raise LookError(
                f"a patch under activation checkpointing must stay open through backward, got backward after the "
                f"patch of {next(iter(self.patterns))!r} was closed; call backward() inside the `with` block"
            )

    @override
    def again(self) -> HookedWatch:
        self._must_be_open()
        return self

    def __enter__(self) -> "patch":
        self.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()
        if kind is None:
            self.expect_reached()


def _as_function(edit: Edit | Tensor | float, address: str) -> Edit:
    def replace(value: Any) -> Any:
        if not isinstance(value, Tensor):
            raise ValueError(
                f"a tensor or number can only replace a tensor, got {type(value).__name__} at {address!r}; "
                "patch it with a function that returns the whole new value"
            )
        new = torch.as_tensor(edit)
        if value.is_nested:
            return _replace_nested(new, value, address)
        if not torch.can_cast(new.dtype, value.dtype):
            raise ValueError(
                f"a patch must fit the value's type, got {new.dtype} for {value.dtype} at {address!r}; convert it first"
            )
        try:
            return new.to(value).expand(value.shape).clone()  # its own memory: the model may change it in place
        except RuntimeError:
            raise ValueError(
                f"a patch must broadcast to the value's shape, got {tuple(new.shape)} for {tuple(value.shape)} "
                f"at {address!r}; give it that shape, or ones in the axes to repeat"
            ) from None

    def apply(value: Any) -> Any:
        assert callable(edit)
        new = edit(value)
        if new is None and value is not None:  # a module that gives None may go on to do so
            raise ValueError(f"a patch function must return the new value, got None at {address!r}; add a `return`")
        return new

    if isinstance(edit, (Tensor, int, float)):
        return replace
    if callable(edit):
        return apply
    raise ValueError(
        f"an edit must be a function, a tensor or a number, got {type(edit).__name__} at {address!r}; "
        "for an array use torch.as_tensor"
    )


def _replace_nested(new: Tensor, value: Tensor, address: str) -> Tensor:
    """A nested tensor's parts differ in shape: it takes what broadcasts to each of them, or another nested tensor."""
    try:
        return new.to(value).clone() if new.is_nested else torch.zeros_like(value) + new.to(value)
    except RuntimeError:
        raise ValueError(
            f"a patch must broadcast to every part of a nested tensor, got {sides_of(new)} for {sides_of(value)} "
            f"at {address!r}; patch it with a number, or with a function that returns the whole new value"
        ) from None


class _Shapes(AddressedWatch):
    """Reads the shape of each value at its first call."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__(_find(model, ["**"]))
        self.shapes: dict[str, Any] = {}

    @override
    def read(self, site: Site, value: Any) -> None:
        value = value.value if isinstance(value, (Part, Whole)) else value
        for address in self.names[site]:
            self.shapes.setdefault(address, shape_of(value))


def addresses(model: nn.Module, *args: Any, **kwargs: Any) -> Addresses:
    """All addresses of a model; with inputs, each with the shape of its value in one pass over them.

    The pass runs without gradients, in evaluation mode, and leaves the model and the random state as they were.
    Add ``.input`` to an address for what goes into it: the first argument; ``.input.1`` or ``.input.mask`` for others.
    ``input`` and ``output`` alone (or "") are what goes into the model and what it returns.
    """
    _expect_module(model)
    kinds = {path: kind_of(module) for path, module in named_sites(model).items() if path}
    if not (args or kwargs) or not kinds:
        return Addresses(kinds, {})
    look = _Shapes(model)
    training = {module: module.training for module in model.modules()}
    gpus = {x.device.index for x in model.parameters() if x.is_cuda}
    look.open()
    try:
        with torch.no_grad(), torch.random.fork_rng(devices=gpus):
            model.eval()(*args, **kwargs)
    finally:
        look.close()
        for module, mode in training.items():
            module.training = mode
    return Addresses(kinds, look.shapes)
