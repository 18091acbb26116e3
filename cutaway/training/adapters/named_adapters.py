r"""Adapters by name on one base: several are held, those in use act, and each can be taken off again.

    y = f(x; θ, φ_a)        cut.use(model, "a")
    y = f(x; θ)             cut.use(model, None)

θ is frozen, so switching loads nothing, and taking the last one off leaves the base as it was, bit for bit.
Notes: N3 §8 (adapters).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from threading import Lock, get_ident
from typing import Any
from weakref import WeakKeyDictionary

from torch import nn

from cutaway.blocks.low_rank.wrapping import Adapted
from cutaway.overriding import override
from cutaway.training.adapters.freezing import TrainableShare, trainable_share
from cutaway.training.adapters.records import (
    AdapterRecord,
    adapters_of,
    exchange,
    expect_adapter,
    expect_unmerged,
    forget,
    named_parameters,
    remember,
    unwrapped,
)

_lock = Lock()
_inside: WeakKeyDictionary[nn.Module, list[int]] = WeakKeyDictionary()  # threads that are inside `with use(model, ...)`
_latest: WeakKeyDictionary[nn.Module, int] = WeakKeyDictionary()  # the thread that chose last
_ONE_THREAD = (
    "the adapters in use are chosen for a model in all threads, got a choice in another thread than one that is inside "
    "`with cut.use(...)`; give each thread a model of its own: copy.deepcopy(model)"
)
_FAST_PATH = "cutaway_fast_path"  # an attribute of such a layer: what it would do without adapters


@dataclass(frozen=True, repr=False)
class AdapterSummary(TrainableShare):
    """What was put onto a model: the adapter's name and kind, the places that it changes, and the trainable share."""

    name: str
    kind: str
    targets: tuple[str, ...]
    model: nn.Module

    def remove(self) -> None:
        """Takes the adapter off again."""
        remove_adapter(self.model, self.name)

    @override
    def __str__(self) -> str:
        return f"{self.kind} {self.name!r} in {len(self.targets)} places: {super().__str__()}"

    @override
    def __repr__(self) -> str:
        return str(self)


def freeze_for(model: nn.Module, record: AdapterRecord, trained: dict[str, nn.Parameter]) -> None:
    """Freezes all that is there for a new adapter, but what it trains in full, of which the base's values are kept."""
    parameters = named_parameters(model)
    record.could_train = {path: parameter.requires_grad for path, parameter in parameters.items()}
    record.other_values = {path: parameter.detach().clone() for path, parameter in trained.items()}
    for path, parameter in parameters.items():
        parameter.requires_grad_(path in trained)
        if path not in trained:
            parameter.grad = None


def summarise(model: nn.Module, record: AdapterRecord, places: Iterable[str]) -> AdapterSummary:
    """Remembers a new adapter, and says what it is."""
    remember(model, record)
    parameters = named_parameters(model)
    for path in record.other_values:
        parameters[path].requires_grad_(True)  # a wrapper freezes all that it is put around
    set_fast_paths(model)
    share = trainable_share(model)
    return AdapterSummary(share.trainable, share.parameters, record.name, record.kind, tuple(places), model)


def replace_module(model: nn.Module, old: nn.Module, new: nn.Module) -> None:
    """Puts a module in the place of another, under each of its names."""
    for parent in list(model.modules()):
        if parent is not new:
            for child, module in parent._modules.items():
                if module is old:
                    parent._modules[child] = new


def set_fast_paths(model: nn.Module) -> None:
    """torch's own encoder layer goes around its linear layers in evaluation: not where something stands in for one."""
    for layer in model.modules():
        if isinstance(layer, nn.TransformerEncoderLayer):
            adapted = any(isinstance(module, Adapted) for module in layer.modules())
            if adapted and _FAST_PATH not in vars(layer):
                vars(layer)[_FAST_PATH] = layer.activation_relu_or_gelu
                layer.activation_relu_or_gelu = 0  # what its forward pass asks
            elif not adapted and _FAST_PATH in vars(layer):
                layer.activation_relu_or_gelu = vars(layer).pop(_FAST_PATH)


def adapted_modules(model: nn.Module) -> list[Adapted]:
    """The wrappers inside a model that hold parts of adapters."""
    return [module for module in unwrapped(model).modules() if isinstance(module, Adapted)]


def remove_adapter(model: nn.Module, name: str = "default") -> TrainableShare:
    """Takes an adapter off: with the last one gone, the model is as it was before, bit for bit."""
    model = unwrapped(model)
    expect_unmerged(model)
    record = expect_adapter(model, name)
    if record.in_use:
        exchange(model, record)
    for module in adapted_modules(model):
        if name in module.held:
            module.remove(name)
        if not len(module.held):
            replace_module(model, module, module.base)
    names = list(adapters_of(model))
    later = names[names.index(name) + 1 :]
    if later:
        adapters_of(model)[later[0]].could_train = record.could_train  # what that found frozen, this one had frozen
    else:
        parameters = named_parameters(model)
        for path, could in record.could_train.items():
            if path in parameters:
                parameters[path].requires_grad_(could)
    forget(model, name)
    set_fast_paths(model)
    return trainable_share(model)


class use:  # noqa: N801 -- used like a function
    """Chooses the adapters in use: ``cut.use(model, "a")``, several that add up, or None for the base alone.

    Those in use can be trained, the others not. In a ``with`` statement the choice ends with it. The choice is the
    model's, in all threads: while one is inside its ``with``, no other may choose; give each a copy of the model.
    """

    def __init__(self, model: nn.Module, names: str | Iterable[str] | None) -> None:
        self.model = unwrapped(model)
        expect_unmerged(self.model)
        several = isinstance(names, Iterable) and not isinstance(names, str)
        chosen: list[Any] = [] if names is None else list(names) if several else [names]
        for name in chosen:
            expect_adapter(self.model, name)
        with _lock:
            if any(thread != get_ident() for thread in _inside.get(self.model, ())):
                raise ValueError(_ONE_THREAD)
            self._thread = get_ident()
            self._before = [name for name, record in adapters_of(self.model).items() if record.in_use]
            _choose(self.model, chosen)
            _latest[self.model] = self._thread

    def __enter__(self) -> "use":
        with _lock:
            if _latest[self.model] != self._thread:  # another thread chose in between
                raise ValueError(_ONE_THREAD)
            _inside.setdefault(self.model, []).append(self._thread)
        return self

    def __exit__(self, *_: object) -> None:
        with _lock:
            _inside[self.model].remove(self._thread)
            _choose(self.model, [name for name in self._before if name in adapters_of(self.model)])


def _choose(model: nn.Module, names: list[str]) -> None:
    records = adapters_of(model)
    shared = {path for name in names for path in records[name].other_values}
    if sum(len(records[name].other_values) for name in names) > len(shared):
        raise ValueError(
            f"adapters that add up must not train the same parameters in full, got {', '.join(names)}; use one of them"
        )
    for chosen in (False, True):  # first off, then on: each exchanges its values with the base's
        for record in records.values():
            if (record.name in names) is chosen and record.in_use is not chosen:
                exchange(model, record)
    parameters = named_parameters(model)
    for record in sorted(records.values(), key=lambda record: record.in_use):  # in use comes last: it wins
        for path in record.other_values:
            parameters[path].requires_grad_(record.in_use)
    for module in adapted_modules(model):
        module.choose(names)
