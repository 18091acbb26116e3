r"""Helpers that the norms share: numbering axes, widening the precision, and broadcasting a gain along its axes.

places((b, c, h, w), 1) = (1,)
"""

from collections.abc import Sequence

import torch
from torch import Tensor

Axes = int | Sequence[int]


def sizes(numbers: int | Sequence[int]) -> tuple[int, ...]:
    """One number or several, as a tuple.

    >>> sizes(3), sizes([5, 3])
    ((3,), (5, 3))
    """
    return (numbers,) if isinstance(numbers, int) else tuple(numbers)


def places(x: Tensor, axes: Axes) -> tuple[int, ...]:
    """The axes counted from the front, each once, within ``x``.

    >>> places(torch.zeros(2, 5, 3), (-2, -1))
    (1, 2)
    """
    asked, ndim = sizes(axes), x.ndim
    front = tuple([axis + ndim if axis < 0 else axis for axis in asked])
    if not front or min(front) < 0 or max(front) >= ndim or len(set(front)) < len(front):
        raise ValueError(
            f"axes must name axes of x, each once, got {asked} for shape {tuple(x.shape)}; "
            f"use numbers from {-ndim} to {ndim - 1}"
        )
    return front


def expect_sizes(name: str, part: Tensor, x: Tensor, where: tuple[int, ...]) -> None:
    """A gain, a bias or a statistic has one entry for each entry of the axes that it belongs to."""
    wanted = tuple([x.shape[axis] for axis in where])
    if part.shape != wanted:
        raise ValueError(
            f"{name} must have the shape of axes {where} of x, {wanted}, got {tuple(part.shape)} for x of shape "
            f"{tuple(x.shape)}; give x the size that the norm was built for, or choose other axes"
        )


def spread(part: Tensor, x: Tensor, where: tuple[int, ...]) -> Tensor:
    """A view of ``part`` that broadcasts against ``x``: its axes at the places ``where``, ones elsewhere."""
    order = sorted(range(len(where)), key=where.__getitem__)
    return part.permute(order).reshape([x.shape[axis] if axis in where else 1 for axis in range(x.ndim)])


def shift(normalised: Tensor, gain: Tensor | None, bias: Tensor | None, where: tuple[int, ...]) -> Tensor:
    """γ ⊙ x̂ + β."""
    if gain is not None:
        normalised = normalised * spread(gain, normalised, where)
    return normalised if bias is None else normalised + spread(bias, normalised, where)


def widen(x: Tensor) -> Tensor:
    """Half precision becomes float32: sums of squares overflow float16 at 65,504 and lose bfloat16's 8 bits."""
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
