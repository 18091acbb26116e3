r"""Checks of the arguments of blocks. Each error states the rule, what came, and what to do instead."""

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

Lengths = Any  # a tensor, a list or an array of whole numbers, one for each sequence of a batch
_TRIES = 10_000  # numbers tried on either side, a few milliseconds


def expect_float(name: str, x: Tensor) -> None:
    """Blocks compute with real numbers: integers and booleans are a mistake."""
    if not x.is_floating_point():
        raise ValueError(f"{name} must be a float tensor, got {x.dtype}; convert it with {name}.float()")


def as_lengths(
    lengths: Any, batch: Sequence[int] | None = None, steps: int | None = None, least: int = 0
) -> Int[Tensor, "*b"]:
    """The lengths of the sequences of a batch as a tensor; a list or an array of whole numbers will do.

    They must lie between ``least`` and ``steps``. That is read on the CPU alone, where it costs next to nothing.

    >>> as_lengths([3, 1], (2,))
    tensor([3, 1])
    """
    shape = None if batch is None else tuple(batch)
    came = ""
    if not isinstance(lengths, Tensor):
        try:
            if isinstance(lengths, (str, int, float)):
                raise TypeError
            if isinstance(lengths, Sequence):
                lengths = list(lengths)
            elif not torch.compiler.is_compiling():  # NumPy's, of any size and order of bytes
                lengths = getattr(lengths, "tolist", lambda given=lengths: list(given))()
            lengths = torch.as_tensor(lengths)
        except (TypeError, ValueError, RuntimeError, KeyError):  # a text, a number, rows of different length
            came = repr(lengths)[:60] if isinstance(lengths, (str, int, float)) else f"type {type(lengths).__name__}"
        else:
            lengths = lengths if lengths.numel() else lengths.long()  # an empty list would be one of floats
    if not came:
        dtype = lengths.dtype
        whole = not (dtype.is_floating_point or dtype.is_complex or dtype == torch.bool)
        if not whole or (shape is not None and tuple(lengths.shape) != shape):
            came = f"{dtype} of shape {tuple(lengths.shape)}"
    if came:
        form = "" if shape is None else f" of shape {shape}"
        raise ValueError(
            f"lengths must be whole numbers{form}, one for each sequence, got {came}; for a mask use mask.sum(-1)"
        )
    lengths = lengths.long()
    if torch.compiler.is_compiling() or lengths.device.type != "cpu" or not lengths.numel():
        return lengths
    if torch._C._functorch.is_functorch_wrapped_tensor(lengths):
        return lengths
    low, high = (int(bound) for bound in lengths.aminmax())
    if low < least:
        rule = "a sequence must have at least one step" if least else "lengths must be at least 0"
        raise ValueError(f"{rule}, got a length of {low}; leave empty ones out")
    if steps is not None and high > steps:
        raise ValueError(f"lengths must be at most the number of steps, {steps}, got {high}; pad x, or mend the length")
    return lengths


def expect_width(name: str, x: Tensor, width: int) -> None:
    """The last axis of ``x`` must be ``width`` long."""
    if x.ndim == 0 or x.shape[-1] != width:
        raise ValueError(
            f"the last axis of {name} must have width {width}, got shape {tuple(x.shape)}; "
            f"give it shape (..., {width}) or build the block for its width"
        )


def expect_positive(**numbers: float) -> None:
    """Sizes and scales must be above zero."""
    for name, value in numbers.items():
        if not value > 0:
            raise ValueError(f"{name} must be above 0, got {value}; try {name}=1")


def expect_count(**numbers: int) -> None:
    """Sizes must be whole numbers above zero."""
    for name, value in numbers.items():
        if not isinstance(value, int) or isinstance(value, bool):
            raise ValueError(f"{name} must be a whole number, got {value!r}; try {name}=8")
    expect_positive(**numbers)


def expect_even(**numbers: int) -> None:
    """Entries that work in pairs need an even count."""
    for name, value in numbers.items():
        if value % 2:
            raise ValueError(f"{name} must be even, got {value}; try {name}={value + 1}")


def near_divisors(number: int, near: int, count: int = 2) -> list[int]:
    """Up to ``count`` divisors of ``number``, those nearest to ``near``, for a hint.

    Few numbers are tried, so that a hint about a huge size takes no time; where none of them divides, 1 does.

    >>> near_divisors(12, 5), near_divisors(2**31 - 1, 3)
    ([4, 6], [1])
    """
    near = min(near, number)
    found: list[int] = []
    for distance in range(_TRIES):
        at_distance = dict.fromkeys((near - distance, near + distance))
        found += [n for n in at_distance if 0 < n <= number and number % n == 0]
        if len(found) >= count or distance > max(near, number - near):
            break
    return sorted(found[:count]) or [1]


def expect_probability(**numbers: float) -> None:
    """Rates must lie in [0, 1]."""
    for name, value in numbers.items():
        if not 0 <= value <= 1:
            raise ValueError(f"{name} must be a probability from 0 to 1, got {value}; for a percentage divide by 100")


def expect_choice(name: str, value: str, known: Iterable[str]) -> None:
    """A name must be one of those known."""
    known = list(known)
    if value not in known:
        raise ValueError(f"{name} must be one of {', '.join(known)}, got {value!r}; pick one of these")


def expect_items(name: str, x: Tensor) -> None:
    """A mean over nothing is no number: at least one element is needed."""
    if x.numel() == 0:
        raise ValueError(f"{name} must hold at least one element, got shape {tuple(x.shape)}; skip empty batches")


def expect_axis(name: str, x: Tensor, axis: int) -> None:
    """An axis must exist and have entries to choose from."""
    ndim = max(x.ndim, 1)  # torch takes a single number for a vector of one
    if not -ndim <= axis < ndim:
        raise ValueError(f"axis must be from {-ndim} to {ndim - 1} for {name}, got axis={axis}; try axis=-1")
    if x.ndim and x.shape[axis] == 0:
        raise ValueError(
            f"axis {axis} of {name} must hold at least one entry, got shape {tuple(x.shape)}; choose another axis"
        )


def expect_same_shape(name: str, x: Tensor, other: str, y: Tensor) -> None:
    """Two tensors are compared entry by entry."""
    if x.shape != y.shape:
        raise ValueError(
            f"{name} and {other} must have one shape, got {tuple(x.shape)} and {tuple(y.shape)}; "
            "reshape one of them, broadcasting here is nearly always a mistake"
        )


__all__ = [
    "expect_axis",
    "expect_choice",
    "expect_even",
    "expect_float",
    "expect_items",
    "expect_positive",
    "expect_probability",
    "expect_same_shape",
    "expect_width",
    "near_divisors",
]


def flat_targets(z: Tensor, targets: Tensor, classes: int) -> Tensor:
    """The class numbers as one axis of int64, one for each vector of ``z``, each from 0 to ``classes`` − 1."""
    if targets.is_floating_point() or targets.is_complex() or targets.dtype == torch.bool:
        raise ValueError(f"targets must be class numbers, got {targets.dtype}; convert them with targets.long()")
    if targets.shape != z.shape[:-1]:
        raise ValueError(
            f"targets must be one class number for each vector of z, got shapes {tuple(targets.shape)} and "
            f"{tuple(z.shape)}; targets of shape {tuple(z.shape[:-1])} fit"
        )
    y = targets.reshape(-1).long()
    if not torch.compiler.is_compiling() and y.device.type == "cpu" and y.numel():
        low, high = (int(end) for end in y.aminmax())  # reading costs nothing here; elsewhere the kernel complains
        if low < 0 or high >= classes:
            raise ValueError(
                f"targets must lie from 0 to {classes - 1}, got {low if low < 0 else high}; "
                "leave padding out, or build the layer for more classes"
            )
    return y
