r"""Functions of two numbers evaluated on a grid, the borders between areas, and both as images for a chart.

A grid has its first axis downwards, as images have: row 0 is the top of the window.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from cutaway.look.charts.rasters import image_url

_AT_ONCE = 8192  # points given to a function together: a wide network must not fill the memory
Window = tuple[tuple[float, float], tuple[float, float]]  # (left, right), (bottom, top)


def expect_window(window: Window) -> Window:
    """The window as floats; its ends must be finite and in order."""
    (left, right), (bottom, top) = ((float(a), float(b)) for a, b in window)
    if not (-np.inf < left < right < np.inf and -np.inf < bottom < top < np.inf):
        raise ValueError(
            f"a window is ((left, right), (bottom, top)), each rising and finite, got {(left, right)}, "
            f"{(bottom, top)}; swap or change them"
        )
    return (left, right), (bottom, top)


def window_around(points: np.ndarray, margin: float = 0.12) -> Window:
    """A window that holds all points (points, 2), with a share of their spread as margin."""
    low, high = points.min(0).astype(np.float64), points.max(0).astype(np.float64)
    room = np.where(high > low, margin * (high - low), 0.5)
    (left, bottom), (right, top) = (low - room).tolist(), (high + room).tolist()
    return (left, right), (bottom, top)


def grid_values(function: Callable[[Tensor], Any], window: Window, rows: int, columns: int) -> np.ndarray:
    """The function at the middle of every cell of a grid: (rows, columns), or (rows, columns, k) for k values.

    ``function`` takes points (points, 2) as a tensor of torch's default type.
    """
    (left, right), (bottom, top) = window
    x = left + (np.arange(columns) + 0.5) * (right - left) / columns
    y = top - (np.arange(rows) + 0.5) * (top - bottom) / rows
    points = torch.from_numpy(np.stack(np.meshgrid(x, y), -1).reshape(-1, 2)).to(torch.get_default_dtype())
    values = evaluated(function, points)
    return values.reshape(rows, columns, *values.shape[1:])


def evaluated(function: Callable[[Tensor], Any], points: Tensor) -> np.ndarray:
    """The function at points, as an array, without gradients."""
    parts = []
    with torch.no_grad():
        for part in points.split(_AT_ONCE):
            result = function(part)
            parts.append(result.detach().cpu().numpy() if isinstance(result, Tensor) else np.asarray(result))
    values = np.concatenate(parts) if all(part.ndim for part in parts) else parts[0]
    if values.dtype.kind not in "biuf" or values.shape[:1] != points.shape[:1] or values.ndim > 2:
        raise ValueError(
            f"the function must give a number, or a row of them, for each of the {len(points)} points, got "
            f"{values.dtype} of shape {values.shape}; let it take points of shape {tuple(points.shape)}"
        )
    return values.astype(np.float64)


def finer(values: np.ndarray, factor: int) -> np.ndarray:
    """Linear interpolation of a grid (rows, columns, …), to ``factor`` times as many values along both axes.

    >>> finer(np.array([[0.0, 2.0]]), 2)[0].tolist()  # at -1/4, 1/4, 3/4 and 5/4 of the way, held at the ends
    [0.0, 0.5, 1.5, 2.0]
    """
    for axis in (0, 1):
        n = values.shape[axis]
        at = np.clip((np.arange(n * factor) + 0.5) / factor - 0.5, 0, n - 1)
        first = np.minimum(at.astype(int), max(n - 2, 0))
        share = (at - first).reshape([-1 if i == axis else 1 for i in range(values.ndim)])
        one, other = (np.take(values, np.minimum(first + i, n - 1), axis) for i in (0, 1))
        values = (1 - share) * one + share * other
    return values


def borders(labels: np.ndarray) -> np.ndarray:
    """True where a cell has another label than the one to its right or below: the lines between areas."""
    lines = np.zeros(labels.shape, dtype=bool)
    lines[:, :-1] = labels[:, :-1] != labels[:, 1:]
    lines[:-1] |= labels[:-1] != labels[1:]
    return lines


def line_url(cells: np.ndarray, colour: str) -> str:
    """An image of the cells that are True, the others clear."""
    return image_url(np.where(cells, 255, 0).astype(np.uint8), (colour, colour))


def image_layer(rows: Any, window: Window, width: int, height: int, **look: Any) -> Any:
    """A layer of a chart that fills the window with the images of its rows' ``url``."""
    import altair as alt

    (left, right), (bottom, top) = window
    return (
        alt.Chart(rows)
        .mark_image(width=width, height=height, align="left", baseline="top", aspect=False, aria=False, **look)
        .encode(
            x=alt.X("left:Q").scale(domain=[left, right], nice=False),
            y=alt.Y("top:Q").scale(domain=[bottom, top], nice=False),
            url="url:N",
        )
    )
