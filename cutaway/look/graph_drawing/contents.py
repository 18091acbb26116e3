r"""The content of a value as a page holds it: its numbers if they are few, else a small picture of them.

    rows = all axes but the last, columns = the last;    cell = an entry, or the strongest of a block of them

Each cell is one byte of colour (rasters.py), so that the page of a large model stays small: where all values together
would pass the limit, the cells of every picture become coarser, and the page says so.
"""

import base64
from typing import Any

import numpy as np
from torch import Tensor

from cutaway.look.charts.arrays import as_array
from cutaway.look.charts.rasters import levels_of, strongest
from cutaway.look.graph_drawing.labels import numbers_of

WRITTEN = 24  # numbers that are written out
SIDES = (64, 48, 32, 24, 16, 12, 8)  # cells a side, at most


def cells_a_side(entries: list[tuple[int, int]], limit: float) -> int:
    """The finest of the sides with which pictures of matrices of these sizes take at most ``limit`` megabytes.

    >>> cells_a_side([(64, 64)] * 100, 1), cells_a_side([(64, 64)] * 100, 0.1)
    (64, 24)
    """

    def cost(side: int) -> float:
        return sum(_cells(rows, side) * _cells(columns, side) for rows, columns in entries) * 4 / 3 / 1e6

    return next((side for side in SIDES if cost(side) <= limit), SIDES[-1])


def as_rows(shape: tuple[int, ...]) -> tuple[int, int]:
    """The size of a tensor laid out flat: the last axis to the right, all others downwards."""
    columns = shape[-1] if shape else 1
    return (int(np.prod(shape[:-1])) if len(shape) > 1 else 1, columns)


def content_of(tensor: Tensor, side: int) -> dict[str, Any] | None:
    """What the page shows of a tensor; None if there is nothing in it."""
    if tensor.numel() == 0 or tensor.is_complex():
        return None
    if tensor.numel() <= WRITTEN:
        return {"numbers": numbers_of(tensor).replace("], [", "],\n [")}
    shape = as_rows(tuple(tensor.shape))
    matrix = as_array("value", tensor).reshape(shape)
    block = [-(-n // side) for n in shape]
    cells = strongest(matrix, *block)
    finite = matrix[np.isfinite(matrix)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    signed = low < 0
    low, high = (-max(-low, high), max(-low, high)) if signed else (0.0, high)
    words = f"{shape[0]} × {shape[1]}"
    if tensor.ndim > 2:
        words += ", all axes but the last downwards"
    if max(block) > 1:
        words += f"; each cell is the strongest of {block[0]} × {block[1]}"
    return {
        "rows": cells.shape[0],
        "columns": cells.shape[1],
        "block": block,
        "low": low,
        "high": high,
        "signed": signed,
        "levels": base64.b64encode(levels_of(cells, low, high).tobytes()).decode(),
        "words": f"{words}.",
    }


def _cells(entries: int, side: int) -> int:
    return -(-entries // -(-entries // side)) if entries else 0
