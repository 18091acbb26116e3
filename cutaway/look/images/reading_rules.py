r"""Reading rules: which entries of its inputs an operation of torch reads for an entry of its output, by its structure.

    y = f(x):      M_x = {j : some wanted y_i may change with x_j, for some values of the weights and of the image}

An operation entry by entry reads the entry, a sum along an axis the whole axis, so do a sort and a softmax, a running
maximum what came before, a convolution its window, a matrix product a row and a column, a choice by an index the index
and, if the index itself depends on the image, all that it may choose from. Numbers that do not depend on the image (an
index, a mask) are used as they are; weights are not, as a weight that is 0 may be another after the next step.
`rule_of` finds the rule of an operation, or None if there is none.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch import Tensor, nn

F = nn.functional
Masks = list[Tensor]  # of the outputs: True where an entry is wanted
Reads = Iterable[tuple[Tensor, Tensor]]  # inputs, and which of their entries are read
_MARK = 2.0**45  # numbers of entries begin here, where no number that is filled in lies


def is_plain(x: Tensor) -> bool:
    """Whether its entries are bytes of a storage."""
    return x.layout == torch.strided and not x.is_nested and x.device.type != "meta"


class Call:
    """One operation: its name, what it was given by name, its tensors, and whether they depend on the input."""

    def __init__(self, name: str, given: dict[str, Any], depends: Callable[[Any], bool]) -> None:
        now = {id(x): x.detach() if is_plain(x) else x for x in pytree.tree_leaves(given) if isinstance(x, Tensor)}
        given = pytree.tree_map(lambda x: now.get(id(x), x), given)  # of this shape, whatever becomes of it in place
        self.name, self.given = name, given
        self.inputs = list(now.values())
        self._depending = {id(x) for x in self.inputs if depends(x)}
        self.changed: list[Tensor] = []  # in place
        self.function: Any = None
        # An index or mask that does not depend on the input is used as it is, also if it is changed later.
        kept = lambda x: x.clone() if self._depending and self._is_choice(x) else x
        self.values = pytree.tree_map(kept, given)

    @classmethod
    def of(
        cls, function: Any, args: tuple[Any, ...], options: dict[str, Any], depends: Callable[[Any], bool]
    ) -> "Call":
        """Of an operation below autograd, by its schema."""
        packet = function.overloadpacket.__name__
        given, changed = {}, []
        for i, argument in enumerate(function._schema.arguments):
            value = args[i] if i < len(args) else options.get(argument.name, argument.default_value)
            if not argument.is_out:
                given[argument.name] = value
            if argument.alias_info is not None and argument.alias_info.is_write:
                changed += [x for x in pytree.tree_leaves(value) if isinstance(x, Tensor)]
        home = function.namespace
        name = packet.rstrip("_") if changed and not packet.startswith("__") else packet
        call = cls(name if home == "aten" else f"{home}::{name}", given, depends)
        call.changed, call.function = changed, function
        return call

    def __getitem__(self, name: str) -> Any:
        return self.given[name]

    def depends(self, x: Any) -> bool:
        return id(x) in self._depending

    def _is_choice(self, x: Any) -> bool:
        return isinstance(x, Tensor) and not self.depends(x) and not (x.is_floating_point() or x.is_complex())

    @property
    def shape_deciders(self) -> list[Tensor]:
        """The inputs that say how many entries the result has, where they depend on the image."""
        if self.name == "index":
            deciders = [x for x in self["indices"] if isinstance(x, Tensor) and x.dtype in (torch.bool, torch.uint8)]
        elif torch.Tag.dynamic_output_shape in self.function.tags:
            deciders = [self["mask"]] if self.name == "masked_select" else self.inputs
        else:
            deciders = []
        return [x for x in deciders if self.depends(x)]


def rule_of(call: Call) -> "Rule | None":
    """What an operation reads, or None if that is not known."""
    rule = RULES.get(call.name)
    if rule is None and _is_pointwise(call.name):
        rule = _entry_by_entry
    return rule


@cache
def _is_pointwise(name: str) -> bool:
    """Whether torch says of an operation, in place or not, that it works entry by entry."""
    packet = getattr(torch.ops.aten, name, None)
    overloads = [] if packet is None or "::" in name else [getattr(packet, each) for each in packet.overloads()]
    return any(torch.Tag.pointwise in each.tags for each in overloads)


Rule = Callable[[Call, Masks], Reads]


def read_everything(call: Call, masks: Masks) -> Reads:
    for x in call.inputs:
        yield x, torch.ones(x.shape if x.layout == torch.strided else (), dtype=torch.bool)


def _nothing(call: Call, masks: Masks) -> Reads:
    return ()


def _narrowed(mask: Tensor, shape: Sequence[int]) -> Tensor:
    """From the shape after broadcasting back to that before."""
    while mask.ndim > len(shape):
        mask = mask.any(0)
    for axis, size in enumerate(shape):
        if size == 1 and mask.shape[axis] != 1:
            mask = mask.any(axis, keepdim=True)
    return mask


def _both(masks: Masks) -> Tensor:
    """Wanted in any of several outputs of one shape."""
    mask = masks[0]
    for other in masks[1:]:
        mask = mask | other if other.shape == mask.shape else mask
    return mask


def _entry_by_entry(call: Call, masks: Masks) -> Reads:
    """y_i reads the i-th entry of each input, after broadcasting."""
    mask = _both(masks)
    for x in call.inputs:
        if call.depends(x):
            yield x, _narrowed(mask, x.shape)


def _source(name: str) -> Rule:
    """The i-th entry of one input alone: what is overwritten is not read."""

    def rule(call: Call, masks: Masks) -> Reads:
        x = call[name]
        if isinstance(x, Tensor):
            yield x, _narrowed(masks[0], x.shape)

    return rule


def _where(call: Call, masks: Masks) -> Reads:
    """A mask that does not depend on the image says which of the two is read."""
    mask, mine, other = masks[0], call[_MINE[call.name][0]], call.given.get(_MINE[call.name][1])
    test = call["condition" if call.name == "where" else "mask"]
    if call.depends(test):
        yield from _entry_by_entry(call, masks)
        return
    test = call.values["condition" if call.name == "where" else "mask"].cpu().bool()
    chosen = test if call.name == "where" else ~test
    if isinstance(mine, Tensor):
        yield mine, _narrowed(mask & chosen, mine.shape)
    if isinstance(other, Tensor):
        yield other, _narrowed(mask & ~chosen, other.shape)


_MINE = {"where": ("self", "other"), "masked_fill": ("self", "value")}


def _axes(dim: Any, count: int) -> tuple[int, ...]:
    if dim is None or (isinstance(dim, (list, tuple)) and not dim):
        return tuple(range(count))
    return tuple(d % max(count, 1) for d in ([dim] if isinstance(dim, int) else dim))


def _over_axes(call: Call, masks: Masks) -> Reads:
    """A reduction reads all entries along its axes."""
    x = call["self"] if "self" in call.given else call.inputs[0]
    axes = _axes(call.given.get("dim"), x.ndim)
    total = torch.zeros(x.shape, dtype=torch.bool)
    for mask in masks:
        if mask.ndim != x.ndim and x.ndim:
            for axis in sorted(axes):
                mask = mask.unsqueeze(axis)
        total = total | mask
    yield x, total


def _along(mask: Tensor, axes: Iterable[int], shape: Sequence[int]) -> Tensor:
    """Whole lines of an input of this shape, for each line along the axes with a wanted entry."""
    for axis in axes:
        mask = mask.any(axis, keepdim=True)
    return mask.expand(shape)


def _lines(*, default: Any = -1) -> Rule:
    """Every entry reads the whole line along its axis: sorting, softmax, Fourier's transform."""

    def rule(call: Call, masks: Masks) -> Reads:
        x = call["self"] if "self" in call.given else call.inputs[0]
        if not x.ndim:
            yield x, _both(masks)
            return
        axes = _axes(call.given.get("dim", default), x.ndim)
        total = torch.zeros(x.shape, dtype=torch.bool)
        for mask in masks:
            total = total | _along(mask, axes, x.shape)
        yield x, total

    return rule


def _running(call: Call, masks: Masks) -> Reads:
    """A running sum, product or maximum reads what came before, and the entry itself."""
    x, mask = call["self"], _both(masks)
    if x.ndim:
        axis = call["dim"] % x.ndim
        mask = mask.flip(axis).int().cumsum(axis).flip(axis) > 0
    yield x, mask


def _numbered(call: Call, names: Sequence[str]) -> Iterator[tuple[Tensor, Tensor]]:
    """Those of the inputs with a name here, and their entries as numbers from `_MARK` on."""
    first = 0
    for x in pytree.tree_leaves([call.given[name] for name in names if name in call.given]):
        if isinstance(x, Tensor):
            yield x, torch.arange(first, first + x.numel(), dtype=torch.float64).view(x.shape) + _MARK
            first += x.numel()


def _moved(*names: str) -> Rule:
    """What only moves entries says itself where each of them comes from: it is given their numbers instead."""

    def rule(call: Call, masks: Masks) -> Reads:
        numbered = list(_numbered(call, names))
        movers = {id(x) for x, _ in numbered}
        if any(call.depends(x) and id(x) not in movers for x in call.inputs):  # an index made of the image
            yield from read_everything(call, masks)
            return
        ids = {id(x): numbers for x, numbers in numbered}
        given = {
            name: pytree.tree_map(lambda x: ids.get(id(x), x), value)
            for name, value in call.values.items()
            if name not in ("dtype", "layout", "device", "pin_memory", "memory_format")
        }
        found = _again(call, given)
        total = sum(x.numel() for x, _ in numbered)
        wanted = torch.zeros(total, dtype=torch.bool)
        for mask, numbers in zip(masks, found):
            if numbers.is_floating_point() and numbers.shape == mask.shape:
                places = numbers[mask] - _MARK
                wanted[places[(places >= 0) & (places < total)].long()] = True
        for x, numbers in numbered:
            if numbers.numel():
                start = int(numbers.flatten()[0] - _MARK)
                yield x, wanted[start : start + numbers.numel()].view(x.shape)

    return rule


def _again(call: Call, given: dict[str, Any]) -> list[Tensor]:
    """The operation on other values, never in place."""
    function = call.function
    packet, overload = function.overloadpacket, function._overloadname
    if call.changed:
        packet = getattr(torch.ops.aten, call.name)
        overload = overload.removesuffix("out").rstrip("_") or "default"
        function = getattr(packet, overload, None) or packet
    given = {k: v.cpu() if isinstance(v, Tensor) else v for k, v in given.items()}
    if isinstance(given.get("indices"), (list, tuple)):
        given["indices"] = [i.cpu() if isinstance(i, Tensor) else i for i in given["indices"]]
    result = function(**given)
    return [x for x in pytree.tree_leaves(result) if isinstance(x, Tensor)]


def _chosen(call: Call, masks: Masks) -> Reads:
    """`index`: an index that depends on the image may choose anything, one that does not chooses what it chooses."""
    if not any(call.depends(x) for x in call["indices"]):
        yield from _moved("self")(call, masks)
        return
    x, mask = call["self"], masks[0]
    yield x, torch.ones(x.shape, dtype=torch.bool)
    indices = [i for i in call["indices"] if isinstance(i, Tensor)]
    whole = any(i.dtype in (torch.bool, torch.uint8) for i in indices)
    places = [n for n, i in enumerate(call["indices"]) if isinstance(i, Tensor)]
    shape = torch.broadcast_shapes(*(i.shape for i in indices)) if not whole else ()
    joined = places == list(range(places[0], places[0] + len(places)))
    first = places[0] if joined else 0
    for index in indices:
        if not call.depends(index):
            continue
        if whole:
            yield index, torch.ones(index.shape, dtype=torch.bool)
            continue
        kept = range(first, first + len(shape))
        others = [axis for axis in range(mask.ndim) if axis not in kept]
        yield index, _narrowed(mask.any(others) if others else mask, index.shape)


def _index_select(call: Call, masks: Masks) -> Reads:
    x, index, mask = call["self"], call["index"], masks[0]
    if not call.depends(index):
        yield from _moved("self")(call, masks)
        return
    if not x.ndim:
        yield from read_everything(call, masks)
        return
    axis = call["dim"] % x.ndim
    yield x, _along(mask, [axis], x.shape)
    others = [other for other in range(x.ndim) if other != axis]
    yield index, (mask.any(others) if others else mask).view(index.shape)


def _gather(call: Call, masks: Masks) -> Reads:
    x, index, mask = call["self"], call["index"], masks[0]
    if not call.depends(index):
        yield from _moved("self")(call, masks)
        return
    yield index, mask
    yield x, _in_corner(mask, x, call["dim"])


def _in_corner(mask: Tensor, x: Tensor, dim: int) -> Tensor:
    """Whole lines of ``x``, whose other axes may be longer than those of the mask."""
    if not x.ndim:
        return mask.any()
    axis = dim % x.ndim
    total = torch.zeros(x.shape, dtype=torch.bool)
    corner = total[tuple(slice(None) if i == axis else slice(0, n) for i, n in enumerate(mask.shape))]
    corner |= mask.any(axis, keepdim=True)
    return total


def _scatter(call: Call, masks: Masks) -> Reads:
    """Entries of a source, or sums of them, at indices along an axis, in what was there before."""
    x, index, mask = call["self"], call["index"], masks[0]
    source = call.given.get("src", call.given.get("source"))
    yield x, mask
    if isinstance(call.given.get("value"), Tensor):
        yield call["value"], mask.any().expand(call["value"].shape)
    if not call.depends(index):
        if isinstance(source, Tensor):
            places = call.values["index"].cpu()
            if call.name in _BY_SLICE:
                axis = call["dim"] % max(x.ndim, 1)
                yield source, mask.index_select(axis, places.view(-1)) if x.ndim else mask
            else:
                read = mask.gather(call["dim"], places) if places.numel() else places.bool()
                yield source, _padded(read, source.shape)
        return
    if call.name in _BY_SLICE:
        axis = call["dim"] % max(x.ndim, 1)
        yield index, torch.ones(index.shape, dtype=torch.bool) & mask.any()
        if isinstance(source, Tensor):
            yield source, _along(mask, [axis], source.shape) if x.ndim else mask
        return
    corner = mask[tuple(slice(None) if i == call["dim"] % x.ndim else slice(0, n) for i, n in enumerate(index.shape))]
    lines = _along(corner, [call["dim"] % x.ndim], index.shape)
    yield index, lines
    if isinstance(source, Tensor):
        yield source, _padded(lines, source.shape)


_BY_SLICE = ("index_add", "index_copy", "index_reduce", "index_fill")


def _padded(mask: Tensor, shape: Sequence[int]) -> Tensor:
    """As the first corner of a larger one."""
    total = torch.zeros(tuple(shape), dtype=torch.bool)
    total[tuple(slice(0, n) for n in mask.shape)] = mask
    return total


def _index_put(call: Call, masks: Masks) -> Reads:
    """Values at indices, in what was there before."""
    x, values = call["self"], call["values"]
    if any(call.depends(i) for i in call["indices"]):
        yield from read_everything(call, masks)
        return
    mask = masks[0]
    places = tuple(i if i is None else i.cpu() for i in call.values["indices"])
    slots = mask[tuple(slice(None) if i is None else i for i in places)]
    yield values, _narrowed(slots, values.shape)
    if call["accumulate"]:
        yield x, mask
        return
    kept = mask.clone()
    kept[tuple(slice(None) if i is None else i for i in places)] = False
    yield x, kept


def _product(call: Call, masks: Masks) -> Reads:
    """A B reads a row of A and a column of B for each entry; what is added is read entry by entry."""
    mask = masks[0]
    given = call.given
    names = next(pair for pair in _FACTORS if all(name in given for name in pair))
    a, b = (given[name] for name in names)
    added = given.get("self", given.get("input")) if "self" not in names else None
    if isinstance(added, Tensor):
        yield added, _narrowed(mask, added.shape)
    if call.name in ("mv", "addmv"):
        yield a, mask[:, None].expand(a.shape)
        yield b, mask.any().expand(b.shape)
    elif call.name in ("dot", "vdot"):
        yield a, mask.expand(a.shape)
        yield b, mask.expand(b.shape)
    elif call.name in ("ger", "addr"):
        yield a, mask.any(1)
        yield b, mask.any(0)
    elif call.name == "addbmm":
        yield a, mask.any(-1)[None, :, None].expand(a.shape)
        yield b, mask.any(-2)[None, None, :].expand(b.shape)
    elif call.name == "_cdist_forward":
        yield a, _narrowed(mask.any(-1)[..., None], (*a.shape[:-1], 1)).expand(a.shape)
        yield b, _narrowed(mask.any(-2)[..., None], (*b.shape[:-1], 1)).expand(b.shape)
    else:
        yield a, mask.any(-1)[..., None].expand(a.shape)
        yield b, mask.any(-2)[..., None, :].expand(b.shape)


_FACTORS = (("mat1", "mat2"), ("batch1", "batch2"), ("mat", "vec"), ("vec1", "vec2"), ("x1", "x2"), ("self", "mat2"),
            ("self", "vec"), ("self", "tensor"), ("self", "vec2"), ("self", "other"))  # fmt: skip


def _linear(call: Call, masks: Masks) -> Reads:
    x, mask = call["input"], masks[0]
    yield x, mask.any(-1)[..., None].expand(x.shape)
    yield from _rows_of_weights(call, mask.flatten(0, -2) if mask.ndim > 1 else mask[None])


def _rows_of_weights(call: Call, mask: Tensor) -> Reads:
    """Weights that depend on the image, too: those of the outputs that are wanted; the mask is (rows, outputs)."""
    for name in ("weight", "bias"):
        if call.depends(call.given.get(name)):
            weight = call[name]
            yield weight, mask.any(0).view(-1, *[1] * (weight.ndim - 1)).expand(weight.shape)


def _back_through(function: Callable[[Tensor], Tensor], shape: Sequence[int], mask: Tensor) -> Tensor:
    """Which inputs a linear function with positive weights reads: its transpose, applied to the mask."""
    with torch.enable_grad():
        x = torch.zeros(tuple(shape), dtype=torch.float64, requires_grad=True)
        y = function(x)
        (slope,) = torch.autograd.grad((y * mask.to(y.dtype).view(y.shape)).sum(), x)
    return slope != 0


def _convolution(call: Call, masks: Masks) -> Reads:
    x, weight, mask = call["input"], call["weight"], masks[0]
    single = mask.ndim < weight.ndim
    ones = torch.ones(weight.shape, dtype=torch.float64)
    names = ("stride", "padding", "dilation", "transposed", "output_padding", "groups")
    rest = [call.given.get(name, default) for name, default in zip(names, (1, 0, 1, False, 0, 1))]
    rest = [[n] * (weight.ndim - 2) if isinstance(n, int) and not isinstance(n, bool) and i in (0, 1, 2, 4) else n
            for i, n in enumerate(rest)]  # fmt: skip
    shape = (1, *x.shape) if single else x.shape
    batched = mask[None] if single else mask
    same = lambda v: torch.convolution(v, ones, None, *rest)
    yield x, _back_through(same, shape, batched).view(x.shape)
    for name in ("weight", "bias"):
        if call.depends(call.given.get(name)):
            yield call[name], batched.any().expand(call[name].shape)


def _pool(axes: int) -> Rule:
    """The window of each entry: its mean instead of its maximum."""
    spread = (F.conv1d, F.conv2d, F.conv3d)[axes - 1]

    def each(value: Any, default: int | list[int] = 1) -> list[int]:
        value = default if value is None or value == [] or value == () else value
        return [value] * axes if isinstance(value, int) else list(value) * (axes if len(value) == 1 else 1)

    def rule(call: Call, masks: Masks) -> Reads:
        x = call["self"]
        kernel = each(call["kernel_size"])
        stride, padding = each(call.given.get("stride"), kernel), each(call.given.get("padding"), 0)
        dilation = each(call.given.get("dilation"), 1)
        mask = _both(masks)
        size, wanted = x.shape[-axes:], mask.shape[-axes:]
        ends = [(n - 1) * s + d * (k - 1) + 1 for n, s, d, k in zip(wanted, stride, dilation, kernel)]
        after = [max(end - have - p, 0) for end, have, p in zip(ends, size, padding)]
        pads = [n for pair in zip(reversed(padding), reversed(after)) for n in pair]

        def windows(v: Tensor) -> Tensor:
            ones = torch.ones(1, 1, *kernel, dtype=v.dtype)
            y = spread(F.pad(v, pads), ones, None, stride, 0, dilation)
            return y[tuple([slice(None)] * 2 + [slice(0, n) for n in wanted])]

        flat = (math.prod(x.shape[:-axes]), 1)
        yield x, _back_through(windows, (*flat, *size), mask.reshape(*flat, *wanted)).view(x.shape)

    return rule


def _adaptive(axes: int) -> Rule:
    mean: Any = (F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d)[axes - 1]

    def rule(call: Call, masks: Masks) -> Reads:
        x, mask = call["self"], _both(masks)
        flat = (1, math.prod(x.shape[:-axes]))
        found = _back_through(
            lambda v: mean(v, mask.shape[-axes:]), (*flat, *x.shape[-axes:]), mask.reshape(*flat, *mask.shape[-axes:])
        )
        yield x, found.view(x.shape)

    return rule


def _true_weights(call: Call, masks: Masks) -> Reads:
    """A linear function whose own weights are positive, or never cancel: resizing, folding, means of windows."""
    x = call["self"] if "self" in call.given else call["input"]
    name = "self" if "self" in call.given else "input"
    generator = torch.Generator().manual_seed(0)  # weights of either sign meet random ones: no sum is 0 by chance
    mask = masks[0] * (0.5 + torch.rand(masks[0].shape, generator=generator, dtype=torch.float64))
    yield x, _back_through(lambda v: _again(call, call.given | {name: v})[0], x.shape, mask)


def _last_axes(call: Call, masks: Masks) -> Reads:
    """Norms over the last axes."""
    x, mask = call["input"], masks[0]
    count = len(call["normalized_shape"])
    total = _along(mask, range(x.ndim - count, x.ndim), x.shape)
    for other in masks[1:]:  # mean and spread
        total = total | (other if other.ndim == x.ndim else other.view(*other.shape, *[1] * (x.ndim - other.ndim)))
    yield x, total
    yield from _affine(call, mask)


def _affine(call: Call, mask: Tensor) -> Reads:
    for name in ("weight", "bias"):
        if call.depends(call.given.get(name)):
            yield call[name], mask.any().expand(call[name].shape)


def _group_norm(call: Call, masks: Masks) -> Reads:
    x = call["input"]
    count, groups = call["N"], call["group"]
    wanted = masks[0].reshape(count, groups, -1).any(-1)
    for other in masks[1:]:
        wanted = wanted | other.view(count, groups)
    yield x, wanted[..., None].expand(count, groups, x[0].numel() // groups).reshape(x.shape)
    yield from _affine(call, masks[0])


def _batch_norm(call: Call, masks: Masks) -> Reads:
    x, mask = call["input"], masks[0]
    if call.given.get("training", call.name in ("_batch_norm_with_update",)):
        wanted = mask.transpose(0, 1).flatten(1).any(1)
        for other in masks[1:]:
            wanted = wanted | other if other.shape == wanted.shape else wanted
        mask = wanted.view(-1, *[1] * (x.ndim - 2)).expand(x.shape)
    yield x, mask
    for name in ("weight", "bias", "running_mean", "running_var"):
        if call.depends(call.given.get(name)):
            yield call[name], mask.any().expand(call[name].shape)


def _glu(call: Call, masks: Masks) -> Reads:
    yield call["self"], torch.cat([masks[0], masks[0]], call["dim"])


def _embedding(call: Call, masks: Masks) -> Reads:
    yield call["indices"], masks[0].any(-1)
    if call.depends(call["weight"]):
        yield call["weight"], masks[0].any().expand(call["weight"].shape)


def _bucketize(call: Call, masks: Masks) -> Reads:
    values, bounds = call["self"], call["boundaries"]
    if isinstance(values, Tensor):
        yield values, masks[0]
    yield bounds, masks[0].any().expand(bounds.shape)


def _searchsorted(call: Call, masks: Masks) -> Reads:
    values, bounds = call["self"], call["sorted_sequence"]
    if isinstance(values, Tensor):
        yield values, masks[0]
    whole = masks[0].any() if bounds.ndim == 1 or not masks[0].ndim else masks[0].any(-1, keepdim=True)
    yield bounds, whole.expand(bounds.shape)


def _drawn(call: Call, masks: Masks) -> Reads:
    """Random numbers read their parameters; those that are drawn in place overwrite what was there."""
    for name, x in call.given.items():
        if isinstance(x, Tensor) and not (name == "self" and call.changed):
            yield x, _narrowed(masks[0], x.shape)


def _recurrence(call: Call, masks: Masks) -> Reads:
    """A step of our recurrent kernels reads the steps before it, of inputs (t, b, i), and the first state."""
    x = call["x"] if "x" in call.given else call["a"]
    wanted = torch.zeros(x.shape[:2], dtype=torch.bool)
    for mask in masks:
        if mask.ndim > 2:
            wanted |= mask.flatten(2).any(-1)
        else:  # the last state
            wanted[0 if call["reverse"] else -1] |= mask.any(-1)
    before = wanted if call["reverse"] else wanted.flip(0)
    before = before.int().cumsum(0) > 0
    before = before if call["reverse"] else before.flip(0)
    for name, value in call.given.items():
        if isinstance(value, Tensor) and name in ("hidden", "cell"):
            yield value, wanted.any(0)[:, None].expand(value.shape)
        elif isinstance(value, Tensor):
            yield value, before[..., None].expand(x.shape) if value is x else torch.ones(value.shape, dtype=torch.bool)


def _attention(call: Call, masks: Masks) -> Reads:
    """A query reads itself, and the keys and values that it may see."""
    q, k, v = (call[name] for name in ("query", "key", "value"))
    mask, allow = masks[0], call.given.get("attn_mask", call.given.get("attn_bias"))
    rows = mask.any(-1)
    for other in masks[1:]:
        if other.shape == rows.shape and other.any():  # a normaliser for each query
            rows, mask = rows | other, mask | other[..., None]
    seen = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool)
    if call.given.get("is_causal"):
        seen = seen.tril()
    if isinstance(allow, Tensor):
        if call.depends(allow):
            yield allow, _narrowed(rows[..., None].expand(*rows.shape, k.shape[-2]), allow.shape)
        else:
            seen = seen & (allow if allow.dtype == torch.bool else allow > -torch.inf).cpu()
    yield q, _narrowed(rows[..., None].expand(*rows.shape, q.shape[-1]), q.shape)
    of_values = seen.mT.double() @ mask.double() > 0
    of_keys = of_values.any(-1, keepdim=True).expand(*of_values.shape[:-1], k.shape[-1])
    for x, wanted in ((k, of_keys), (v, of_values)):
        if x.ndim > 2 and x.shape[-3] not in (1, q.shape[-3]):  # heads that several queries share
            wanted = wanted.unflatten(-3, (x.shape[-3], -1)).any(-3)
        yield x, _narrowed(wanted, x.shape)


_NOTHING = """zeros ones full empty empty_strided zeros_like ones_like full_like empty_like rand rand_like randn
randn_like randint randint_like new_zeros new_ones new_full new_empty new_empty_strided zero"""
_DRAWN = "normal uniform random exponential cauchy log_normal geometric bernoulli poisson"
_ENTRIES = """clone _to_copy native_dropout _prelu_kernel prelu complex polar rrelu_with_noise hardswish isclose
floor_divide log_sigmoid_forward __and__ __or__ __xor__ __iand__ __ior__ __ixor__ __lshift__ __rshift__ frexp
lift_fresh_copy"""
_MOVES = """flip roll repeat constant_pad_nd reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d
replication_pad2d replication_pad3d im2col pixel_shuffle pixel_unshuffle channel_shuffle native_channel_shuffle take
tril triu rot90 diag_embed masked_select upsample_nearest1d upsample_nearest2d upsample_nearest3d
_upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d"""
_REDUCTIONS = """sum nansum mean amax amin max min argmax argmin any all prod var std var_mean std_mean median
nanmedian mode kthvalue logsumexp norm linalg_vector_norm count_nonzero aminmax"""
_LINES = "sort topk _softmax _log_softmax _safe_softmax _fft_r2c _fft_c2r _fft_c2c multinomial"
_RUNNING = "cumsum cumprod cummax cummin logcumsumexp"
_ALL = """nonzero nonzero_static unique_dim unique_consecutive _unique _unique2 unique_dim_consecutive histc bincount
masked_scatter repeat_interleave"""
_PRODUCTS = "mm bmm addmm baddbmm addbmm mv addmv dot vdot ger addr _cdist_forward _addmm_activation"
_RESIZED = """col2im trace upsample_linear1d upsample_bilinear2d upsample_bicubic2d upsample_trilinear3d
_upsample_bilinear2d_aa _upsample_bicubic2d_aa avg_pool1d avg_pool2d avg_pool3d"""


def _table() -> dict[str, Rule]:
    """Rules by the names of operations below autograd, in place or not."""
    families: list[tuple[str, Rule]] = [
        (_NOTHING, _nothing),
        (_DRAWN, _drawn),
        (_ENTRIES, _entry_by_entry),
        (_MOVES, _moved("self")),
        ("cat stack", _moved("tensors")),
        ("slice_scatter select_scatter diagonal_scatter as_strided_scatter", _moved("self", "src")),
        (_REDUCTIONS, _over_axes),
        (_LINES, _lines()),
        (_RUNNING, _running),
        (_ALL, read_everything),
        (_PRODUCTS, _product),
        (_RESIZED, _true_weights),
        ("copy", _source("src")),
        ("fill", _source("value")),
        ("where masked_fill", _where),
        ("index _unsafe_index", _chosen),
        ("index_select", _index_select),
        ("gather", _gather),
        ("scatter scatter_add scatter_reduce index_add index_copy index_reduce index_fill", _scatter),
        ("index_put _index_put_impl", _index_put),
        ("linear", _linear),
        ("convolution", _convolution),
        ("native_layer_norm _fused_rms_norm", _last_axes),
        ("native_group_norm", _group_norm),
        (
            "native_batch_norm _native_batch_norm_legit _native_batch_norm_legit_no_training cudnn_batch_norm "
            "_batch_norm_with_update _batch_norm_no_update",
            _batch_norm,
        ),
        ("glu", _glu),
        ("embedding", _embedding),
        ("bucketize", _bucketize),
        ("searchsorted", _searchsorted),
        (
            "_scaled_dot_product_flash_attention_for_cpu _scaled_dot_product_flash_attention "
            "_scaled_dot_product_efficient_attention _scaled_dot_product_cudnn_attention",
            _attention,
        ),
        ("cutaway::rnn cutaway::lstm cutaway::gru", _recurrence),
        *((f"max_pool{n}d max_pool{n}d_with_indices", _pool(n)) for n in (1, 2, 3)),
        *((f"adaptive_max_pool{n}d adaptive_avg_pool{n}d _adaptive_avg_pool{n}d", _adaptive(n)) for n in (1, 2, 3)),
    ]
    return {name: rule for names, rule in families for name in names.split()}


RULES = _table()

# Functions that are understood better whole than by their operations, and the names of what they are given.
WHOLE: dict[Any, tuple[tuple[str, ...], Rule]] = {
    F.scaled_dot_product_attention: (
        ("query", "key", "value", "attn_mask", "dropout_p", "is_causal", "scale", "enable_gqa"),
        _attention,
    ),
}
