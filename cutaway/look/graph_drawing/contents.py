r"""The content of a value as a page shows it: its numbers if they are few, else a small picture of them.

    rows = all axes but the last, columns = the last;    cell = an entry, or the strongest of a block of them

Each cell is one byte of colour, so that the page of a large model stays small: where all values together would pass the
limit, the cells of every picture become coarser, and the page says so.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from cutaway.inside.tensor_layouts import dense
from cutaway.look.charts.arrays import as_array
from cutaway.look.charts.rasters import levels_of, strongest
from cutaway.look.graph_drawing.labels import numbers_of
from cutaway.look.graph_drawing.packing import Levels
from cutaway.look.graph_recording.statistics import Statistics

WRITTEN = 24  # numbers that are written out
SIDES = (64, 56, 48, 40, 32, 24, 16, 12, 8)  # cells a side, at most


class Extent(NamedTuple):
    """The memory that a tensor views, and its size as a matrix. Two views of one memory share one picture."""

    memory: int
    rows: int
    columns: int


def extent_of(tensor: Tensor) -> Extent:
    """The memory and the size of a tensor, both sides of a matrix in one order for it and its transpose."""
    rows, columns = as_rows(tuple(dense(tensor).shape if tensor.is_nested else tensor.shape))
    elsewhere = tensor.is_nested or tensor.layout is not torch.strided  # in several blocks
    return Extent(id(tensor) if elsewhere else tensor.data_ptr(), min(rows, columns), max(rows, columns))


def cells_a_side(extents: set[Extent], limit: float) -> int:
    """The finest of the sides with which pictures of these extents take at most ``limit`` megabytes.

    >>> squares = {Extent(i, 64, 64) for i in range(100)}
    >>> cells_a_side(squares, 1), cells_a_side(squares, 0.1)
    (64, 24)
    """

    def cost(side: int) -> float:
        return sum(_cells(rows, side) * _cells(columns, side) for _, rows, columns in extents) * 4 / 3 / 1e6

    return next((side for side in SIDES if cost(side) <= limit), SIDES[-1])


def as_rows(shape: tuple[int, ...]) -> tuple[int, int]:
    """The size of a tensor laid out flat: the last axis to the right, all others downwards."""
    columns = shape[-1] if shape else 1
    return (math.prod(shape[:-1]), columns)


def content_of(tensor: Tensor, side: int, levels: Levels, known: Statistics | None = None) -> dict[str, Any] | None:
    """The content of a tensor for the page; None if the tensor is empty. Its colours are added to ``levels``."""
    if tensor.numel() == 0 or tensor.is_complex():
        return None
    if tensor.numel() <= WRITTEN:
        return {"numbers": numbers_of(tensor).replace("], [", "],\n [")}
    known = known or Statistics.of(tensor)
    block_of = dense(tensor.detach())
    matrix = block_of.reshape(as_rows(tuple(block_of.shape)))
    block = [-(-n // side) for n in matrix.shape]
    cells = strongest_cells(matrix, *block)
    low, high = (known.min or 0.0, known.max or 0.0)
    signed = low < 0
    low, high = (-max(-low, high), max(-low, high)) if signed else (0.0, high)
    words = f"{matrix.shape[0]} × {matrix.shape[1]}"
    if tensor.is_nested:
        words += ", the parts below each other"
    elif tensor.ndim > 2:
        words += ", all axes but the last downwards"
    if max(block) > 1:
        words += f"; each cell is the strongest of {block[0]} × {block[1]}"
    start, transposed = levels.add(levels_of(cells, low, high))
    return {
        "rows": cells.shape[0],
        "columns": cells.shape[1],
        "block": block,
        "low": _short(low),
        "high": _short(high),
        "signed": signed,
        "start": start,
        "transposed": transposed,
        "words": f"{words}.",
    }


def strongest_cells(matrix: Tensor, rows: int, columns: int) -> np.ndarray:
    """The entry of largest magnitude in each block: `rasters.strongest`, by two reductions that copy nothing.

    >>> strongest_cells(torch.tensor([[1.0, -5.0, 2.0], [0.0, 3.0, 0.0]]), 2, 2).tolist()
    [[-5.0, 2.0]]
    """
    if matrix.stride(0) < matrix.stride(1):  # a transposed matrix is read as it lies in memory
        return strongest_cells(matrix.T, columns, rows).T
    if matrix.dtype == torch.bool:
        matrix = matrix.byte()
    high = _reduced(_reduced(matrix, 0, rows, torch.amax), 1, columns, torch.amax).double()
    low = _reduced(_reduced(matrix, 0, rows, torch.amin), 1, columns, torch.amin).double()
    found = torch.where(high >= -low, high, low)
    if not bool(found.isfinite().all()):  # one entry that is not a number hides the others of its block
        return strongest(as_array("value", matrix), rows, columns)
    return found.cpu().numpy()


def _reduced(x: Tensor, axis: int, by: int, reduce: Callable[..., Tensor]) -> Tensor:
    """Every ``by`` entries along an axis reduced to one; the last of them may be fewer."""
    if by == 1:
        return x
    whole = x.shape[axis] // by * by
    parts = []
    if whole:
        parts.append(reduce(x.narrow(axis, 0, whole).unflatten(axis, (-1, by)), dim=axis + 1))
    if whole < x.shape[axis]:
        parts.append(reduce(x.narrow(axis, whole, x.shape[axis] - whole), dim=axis, keepdim=True))
    return torch.cat(parts, axis)


def _cells(entries: int, side: int) -> int:
    return -(-entries // -(-entries // side)) if entries else 0


def _short(value: float) -> float:
    return float(f"{value:.6g}")  # six digits are enough to read


__all__ = ["Extent", "as_rows", "cells_a_side", "content_of", "extent_of", "strongest_cells"]
