r"""What a trace keeps: values as they were when they went by, and their gradients once there are some."""

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence

from cutaway.inside.address_globs import UnknownAddress, unknown_address
from cutaway.inside.tensor_layouts import sides_of
from cutaway.overriding import override


class LookError(ValueError, RuntimeError):
    """A mistake of the caller's that shows only when the model runs, or when what was seen is read."""


# ---------------------------------------------------------------------------------------------------------------------
# Modules give tensors, but also tuples, dictionaries and dataclasses of them (and transformers' outputs, both at once).
# Of a PackedSequence its data is the value; the lengths and the order of its sequences are how it is packed.


def _parts(value: Any) -> dict[Any, Any]:
    if isinstance(value, PackedSequence):
        return {"data": value.data}
    if isinstance(value, MutableMapping):
        return dict(value)
    if isinstance(value, (tuple, list)):
        return dict(enumerate(value))
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name, None) for field in fields(value)}
    return {}


def tensors(value: Any) -> Iterator[Tensor]:
    """The tensors inside a value, in order."""
    if isinstance(value, Tensor):
        yield value
    else:
        for part in _parts(value).values():
            yield from tensors(part)


def rebuilt(value: Any, change: Callable[[Tensor], Any]) -> Any:
    """A copy of a value, as far as it is made of tuples, lists, mappings and dataclasses, with its tensors changed."""
    if isinstance(value, Tensor):
        return change(value)
    parts = {key: rebuilt(part, change) for key, part in _parts(value).items()}
    if isinstance(value, PackedSequence):
        return _repacked(value, parts["data"])
    if isinstance(value, (tuple, list)):
        return type(value)(*parts.values()) if hasattr(value, "_fields") else type(value)(parts.values())
    if isinstance(value, MutableMapping):
        new = copy.copy(value)
        for key, part in parts.items():  # transformers' outputs refuse update()
            new[key] = part
        return new
    if parts:
        new = copy.copy(value)
        for name, part in parts.items():
            object.__setattr__(new, name, part)  # also where the dataclass is frozen
        return new
    return value


def _repacked(packed: PackedSequence, data: Any) -> PackedSequence:
    """Other data, packed alike; with the order on its device, so that it can be unpacked there."""
    order = [packed.sorted_indices, packed.unsorted_indices]
    if isinstance(data, Tensor) and data.device != packed.data.device:
        order = [None if part is None else part.to(data.device) for part in order]
    return packed._replace(data=data, sorted_indices=order[0], unsorted_indices=order[1])


def shape_of(value: Any) -> Any:
    """The shape of a tensor; of a tuple, list, mapping or dataclass, the shapes inside; None for anything else."""
    if isinstance(value, Tensor):
        return sides_of(value)
    shapes = {key: shape_of(part) for key, part in _parts(value).items()}
    if isinstance(value, PackedSequence):
        return shapes["data"]
    return (tuple(shapes.values()) if isinstance(value, (tuple, list)) else shapes) or None


# ---------------------------------------------------------------------------------------------------------------------


class Keeping(NamedTuple):
    """How a tensor is kept."""

    clone: bool
    detach: bool
    device: torch.device | str | int | None
    only: tuple[Any, ...] = ()  # an index of the leading axes; (): all

    def size(self, x: Tensor) -> int:
        """In bytes; an IndexError if ``only`` does not fit."""
        if self.only and x.is_nested:
            raise IndexError("a nested tensor has no axes of one length")
        part = torch.tensor(False).expand(x.shape)[self.only] if self.only else x
        return part.numel() * x.element_size()

    def keep(self, x: Tensor) -> Tensor:
        whole = x.detach() if self.detach else x
        part = whole[self.only].clone() if self.only else whole  # a view would keep the whole in memory
        moved = part if self.device is None else part.to(self.device)
        # An inference tensor has no version that could tell of a later change: it is always copied.
        return moved.clone() if moved is whole and (self.clone or x.is_inference()) else moved


def _add(total: list[Tensor], keeping: Keeping, gradient: Tensor) -> None:
    total[:] = [total[0] + keeping.keep(gradient) if total else keeping.keep(gradient)]


class Kept:
    """One value of one call: its tensors as they were, and their gradients once there are some.

    ``excuse`` says why there may be no gradient, ``{}`` standing for the address; None: gradients are not wanted.
    ``source`` is the tensor that the gradient of a `Whole` arrives at, in place of the value.
    """

    def __init__(self, value: Any, keeping: Keeping, excuse: str | None = None, source: Tensor | None = None) -> None:
        self._value = rebuilt(value, keeping.keep)
        self._versions = [(x, None if x.is_inference() else x._version) for x in tensors(self._value)]
        self._totals: list[list[Tensor]] = [[] for _ in self._versions]
        self.excuse = excuse or ""
        if excuse is not None:
            for x, total in zip(tensors(value if source is None else source), self._totals, strict=True):
                if x.requires_grad and torch.is_grad_enabled():
                    # Never a leaf, on which a hook would stay for good: `HookedWatch.prepare` has made a view of it.
                    # The hook must not hold this object: the graph would hold it, and it the graph, for ever.
                    x.register_hook(partial(_add, total, keeping))

    @property
    def shape(self) -> Any:
        return shape_of(self._value)

    def value(self, address: str) -> Any:
        for x, version in self._versions:
            if version is not None and x._version != version:
                raise LookError(
                    f"a value that was read must not change afterwards, got {address!r} changed in place "
                    f"(version {version} is now {x._version}, as after an in-place ReLU); trace it with clone=True"
                )
        return self._value

    def gradient(self) -> Any:
        """In the structure of the value, None where none came; None if none came at all."""
        if not any(self._totals):
            return None
        totals = iter(self._totals)
        return rebuilt(self._value, lambda _: next(iter(next(totals)), None))


def _values(calls: list[Kept], address: str) -> list[Any]:
    return [one.value(address) for one in calls]


def _gradients(calls: list[Kept], address: str) -> list[Any]:
    found = [one.gradient() for one in calls]
    if all(gradient is None for gradient in found):
        raise LookError(calls[0].excuse.format(repr(address)))
    return found


class _View(Mapping[str, Any]):
    """What was kept, by address; ``single`` shows a list of one call as its element."""

    def __init__(
        self, kept: dict[str, list[Kept]], show: Callable[[list[Kept], str], list[Any]], single: bool = True
    ) -> None:
        self._kept, self._show, self._single = kept, show, single

    @override
    def __getitem__(self, address: str) -> Any:
        if address not in self._kept:
            raise UnknownAddress(unknown_address(address, self._kept, rule="be one that the trace asked for"))
        if not self._kept[address]:
            raise UnknownAddress(
                f"a value is there once a pass has reached it, got none yet at {address!r}; run the model in the trace"
            )
        shown = self._show(self._kept[address], address)
        return shown[0] if self._single and len(shown) == 1 else shown

    @override
    def __contains__(self, address: object) -> bool:
        return any(address == one for one in self)

    @override
    def __iter__(self) -> Iterator[str]:
        return (address for address, kept in self._kept.items() if kept)

    @override
    def __len__(self) -> int:
        return sum(1 for _ in self)


class Seen(_View):
    """What a trace saw: ``seen[address]`` is the value, or a list of values where it was called more than once.

    ``seen.calls[address]`` is always a list. ``seen.gradient[address]`` after backward, if gradients were asked for;
    gradients of several backward passes add up, as ``.grad`` does.
    """

    def __init__(self, addresses: Iterable[str], gradients: bool) -> None:
        super().__init__({address: [] for address in addresses}, _values)
        self._wants_gradients = gradients
        self.calls: Mapping[str, list[Any]] = _View(self._kept, _values, single=False)

    @property
    def gradient(self) -> Mapping[str, Any]:
        if not self._wants_gradients:
            raise LookError("gradients must be asked for, got a trace without; use trace(..., gradients=True)")
        return _View(self._kept, _gradients)

    @override
    def __repr__(self) -> str:
        lines = []
        for address in self:
            calls = self._kept[address]
            lines.append(f"{address}  {calls[0].shape}" + (f"  × {len(calls)} calls" if len(calls) > 1 else ""))
        return "\n".join(lines) or "nothing seen yet"


__all__ = ["Keeping", "Kept", "LookError", "Seen", "rebuilt", "shape_of", "tensors"]
