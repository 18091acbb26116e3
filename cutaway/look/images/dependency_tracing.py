r"""Dependency tracing: which entries of its input a value of any network reads, through whatever the network computes.

    wanted ← entries of the value
    for each operation, last first:      wanted ← (wanted ∖ what it writes) ∪ {what it reads for a wanted entry}

This is a compiler's liveness analysis, over memory: every operation of a real pass is recorded, by what it writes and
reads of which storage, so that views and changes in place are exact. What an operation reads, reading_rules.py says,
by its structure, not by a derivative: rounding, comparing, sorting and choosing by an index read too, and no numbers
cancel. An operation that has no rule there counts as reading everything that it is given. A number that leaves torch
(`item`, a shape that depends on the input) may decide about all that follows: then everything counts as read. Both
are named in ``unknown``.
Aho, Lam, Sethi, Ullman 2006, §9.2.5.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
import torch.utils._pytree as pytree
from jaxtyping import Bool
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from cutaway.look.images.reading_rules import WHOLE, Call, Rule, is_plain, read_everything, rule_of
from cutaway.overriding import override

_LEAVES = {"tolist", "numpy", "__array__", "__dlpack__"}  # functions that take values out of torch
_CHECKS = {"_linalg_check_errors", "_assert_async", "_functional_assert_async"}  # raise an error, or do nothing
_SPOKEN = {"_local_scalar_dense": "item"}


class Area(NamedTuple):
    """A tensor's place in memory: its storage, and the bytes of it that its entries are."""

    storage: int
    bytes: int
    size: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int

    @classmethod
    def of(cls, x: Tensor) -> "Area":
        if not is_plain(x):  # no bytes of its own: one entry
            return cls(id(x), 1, (), (), 0)
        item = x.element_size()
        storage = x.untyped_storage()
        return cls(
            storage._cdata,
            storage.nbytes(),
            (*x.shape, item),
            (*(step * item for step in x.stride()), 1),
            int(x.storage_offset()) * item,
        )


class Step(NamedTuple):
    """An operation that was recorded: what it wrote, and what it reads for what it wrote (rule None: not known)."""

    call: Call
    rule: Rule | None
    written: list[Area]
    areas: dict[int, Area]  # of its tensors, by identity, at that time


class Dependencies(NamedTuple):
    """Which entries of an input are read, and which operations on the way are not known; with one, at most these."""

    entries: Bool[Tensor, "..."]
    unknown: tuple[str, ...]


class DependencyTrace:
    """While it is open, operations on what was made of ``x`` are recorded; then `read_for` says what a value reads.

    >>> x = torch.zeros(5)
    >>> with DependencyTrace(x) as trace:
    ...     y = x.cumsum(0)
    >>> trace.read_for(y, torch.tensor([False, True, False, False, False])).entries
    tensor([ True,  True, False, False, False])
    """

    def __init__(self, x: Tensor) -> None:
        self.x = x
        self.steps: list[Step] = []
        self._alive: list[Any] = [x]  # a storage that is freed may come back as another
        self._made = {Area.of(x).storage}  # storages with an entry that may depend on x
        self._escaped: dict[str, None] = {}  # how numbers left torch
        self._paused = False
        self._modes = (_Functions(self), _Operations(self))

    def __enter__(self) -> "DependencyTrace":
        for mode in self._modes:
            mode.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        for mode in reversed(self._modes):
            mode.__exit__(*error)

    def depends(self, x: Any) -> bool:
        """Whether a tensor shares its storage with something made of the input."""
        return isinstance(x, Tensor) and Area.of(x).storage in self._made

    def record(self, call: Call, rule: Rule | None, written: list[Tensor]) -> None:
        """Records an operation if it has to do with the input, also where it only overwrites."""
        reads = any(self.depends(x) for x in call.inputs)
        if not (reads or any(self.depends(x) for x in written)):
            return
        if not all(is_plain(x) for x in (*call.inputs, *written)):
            rule = None
        areas = {id(x): Area.of(x) for x in call.inputs if self.depends(x)}
        self._alive.append((call, written))
        self.steps.append(Step(call, rule, [Area.of(x) for x in written], areas))
        if reads:
            self._made |= {Area.of(x).storage for x in written}

    def escape(self, name: str, values: list[Tensor]) -> None:
        """Values that leave torch, as a number or a shape, may decide about anything that follows."""
        if name not in _CHECKS and any(self.depends(x) for x in values):
            self._escaped[_SPOKEN.get(name, name)] = None

    @contextmanager
    def paused(self) -> Iterator[None]:
        before, self._paused = self._paused, True
        try:
            yield
        finally:
            self._paused = before

    def read_for(self, value: Tensor, wanted: Bool[Tensor, "..."]) -> Dependencies:
        """Which entries of the input the wanted entries of a value read."""
        if self._escaped:
            return Dependencies(torch.ones(self.x.shape, dtype=torch.bool), tuple(self._escaped))
        memory: dict[int, Tensor] = {}
        unknown: dict[str, None] = {}
        if self.depends(value):
            _want(memory, Area.of(value), wanted)
        with torch.no_grad():
            for step in reversed(self.steps):
                self._back(memory, step, unknown)
        area = Area.of(self.x)
        found = _wanted(memory, area) if area.storage in memory else torch.zeros(self.x.shape, dtype=torch.bool)
        return Dependencies(found, tuple(reversed(unknown)))

    def _back(self, memory: dict[int, Tensor], step: Step, unknown: dict[str, None]) -> None:
        masks = [_taken(memory, area) for area in step.written]
        if not any(bool(mask.any()) for mask in masks):
            return
        if step.rule is None and step.areas:
            unknown[step.call.name] = None
        for x, mask in (step.rule or read_everything)(step.call, masks):
            if id(x) in step.areas:
                _want(memory, step.areas[id(x)], mask)


class _Operations(TorchDispatchMode):
    """Hears every operation below autograd."""

    supports_higher_order_operators = True

    @override
    @classmethod
    def _should_skip_dynamo(cls) -> bool:  # otherwise the first operation imports the whole compiler
        return False

    def __init__(self, trace: DependencyTrace) -> None:
        super().__init__()
        self.trace = trace

    @override
    def __torch_dispatch__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), options: dict[str, Any] | None = None
    ) -> Any:
        options = options or {}
        trace = self.trace
        if trace._paused:
            return function(*args, **options)
        known = isinstance(function, torch._ops.OpOverload)
        with trace.paused():  # before: an index may be changed in place by it
            call = (
                Call.of(function, args, options, trace.depends)
                if known
                else Call(str(function), {"args": args, "options": options}, trace.depends)
            )
        result = function(*args, **options)
        with trace.paused():
            if known:
                self._hear(function, call, result)
            else:
                trace.record(call, None, [x for x in pytree.tree_leaves(result) if isinstance(x, Tensor)])
        return result

    def _hear(self, function: Any, call: Call, result: Any) -> None:
        trace = self.trace
        if torch.Tag.inplace_view in function.tags:  # another shape of the same bytes
            return
        outputs = [x for x in pytree.tree_leaves(result) if isinstance(x, Tensor)]
        if torch.Tag.data_dependent_output in function.tags or not (outputs or call.changed):
            trace.escape(call.name, call.inputs)
        trace.escape(call.name, call.shape_deciders)
        if call.changed:
            outputs += [x for x in call.changed if not any(x is y for y in outputs)]
        else:  # what shares its storage with an input is a view of it
            ours = {Area.of(x).storage for x in call.inputs}
            outputs = [x for x in outputs if Area.of(x).storage not in ours]
        if outputs:
            trace.record(call, rule_of(call), outputs)


class _Functions(TorchFunctionMode):
    """Hears what is best understood before it is taken apart, and values that leave torch."""

    def __init__(self, trace: DependencyTrace) -> None:
        super().__init__()
        self.trace = trace

    @override
    def __torch_function__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), options: dict[str, Any] | None = None
    ) -> Any:
        options = options or {}
        trace = self.trace
        name = getattr(function, "__name__", "")
        if trace._paused:
            return function(*args, **options)
        if name in _LEAVES:
            trace.escape(name, [x for x in args if isinstance(x, Tensor)])
        if function not in WHOLE:
            return function(*args, **options)
        names, rule = WHOLE[function]
        with trace.paused():
            result = function(*args, **options)
            trace.record(Call(name, dict(zip(names, args)) | options, trace.depends), rule, [result])
        return result


def _memory(memory: dict[int, Tensor], area: Area) -> Tensor:
    """A flag for each byte of a storage: whether it is wanted."""
    if area.storage not in memory:
        memory[area.storage] = torch.zeros(area.bytes, dtype=torch.bool)
    return memory[area.storage]


def _wanted(memory: dict[int, Tensor], area: Area) -> Tensor:
    if not area.size:
        return _memory(memory, area)[0].clone()
    return _memory(memory, area).as_strided(area.size, area.stride, area.offset).any(-1)


def _taken(memory: dict[int, Tensor], area: Area) -> Tensor:
    """Which entries are wanted; none of them is any more, as they are written here."""
    if area.storage not in memory:
        return torch.zeros(area.size[:-1], dtype=torch.bool)
    found = _wanted(memory, area)
    if not area.size:
        memory[area.storage].zero_()
    else:
        memory[area.storage].as_strided(area.size, area.stride, area.offset).fill_(False)
    return found


def _want(memory: dict[int, Tensor], area: Area, mask: Tensor) -> None:
    flags = _memory(memory, area)
    if not area.size:
        flags |= mask.any()
        return
    mask = mask.cpu().expand(area.size[:-1])
    if _apart(area):
        flags.as_strided(area.size, area.stride, area.offset).logical_or_(mask[..., None])
        return
    item = area.size[-1]  # entries share bytes, as those of an expanded tensor do
    entries = torch.arange(area.bytes // item)
    entries = entries.as_strided(area.size[:-1], [step // item for step in area.stride[:-1]], area.offset // item)
    flags[: area.bytes // item * item].view(-1, item)[entries[mask]] = True


def _apart(area: Area) -> bool:
    """Whether no two entries share a byte, as far as strides tell."""
    known = sorted((step, size) for step, size in zip(area.stride, area.size) if size > 1)
    reach = 0
    for step, size in known:
        if step <= reach:
            return False
        reach += step * (size - 1)
    return True
