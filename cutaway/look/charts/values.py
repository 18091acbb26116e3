r"""Draws any value inside a model; its shape decides on the picture.

    attention weights or scores (heads, queries, keys)      a map for every head
    a matrix                                                a heat map
    a vector                                                bars, or a histogram if it is long
    more axes                                               a heat map for each of the first, and a histogram

A batch of one is taken as its example.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from cutaway.look.attention.maps import attention_grid
from cutaway.look.charts.arrays import Values, as_array
from cutaway.look.charts.bars import bar_chart
from cutaway.look.charts.heatmaps import heatmap
from cutaway.look.charts.histograms import histogram
from cutaway.look.pages.picture import Picture
from cutaway.look.style.wording import number

_BARS = 64  # entries of a vector that are drawn as bars
_MAPS = 16  # maps of one value, at most
_ATTENTION = ("weights", "scores")


def value_statistics(value: Values) -> dict[str, Any]:
    """Statistics of a value: its shape, its spread, and how many of its numbers are zero or not finite.

    >>> value_statistics([[0.0, 2.0], [4.0, 2.0]])
    {'shape': '2 × 2', 'mean': 2.0, 'deviation': 1.4142135623730951, 'least': 0.0, 'greatest': 4.0, 'exactly zero': 1}
    """
    x = as_array("value", value)
    finite = x[np.isfinite(x)].astype(np.float64)
    statistics: dict[str, Any] = {"shape": " × ".join(map(str, x.shape)) or "a number"}
    if finite.size:
        statistics |= {"mean": float(finite.mean()), "deviation": float(finite.std())}
        statistics |= {"least": float(finite.min()), "greatest": float(finite.max())}
    if zeros := int((x == 0).sum()):
        statistics["exactly zero"] = zeros
    if finite.size < x.size:
        statistics["not finite"] = int(x.size - finite.size)
    return statistics


def value_pictures(
    address: str, value: Values, tokens: Sequence[str] = (), written: Sequence[str] = ()
) -> list[Picture]:
    """Pictures of the value at an address. ``tokens`` name positions, ``written`` those of a decoder."""
    x = as_array(address, value)
    names = address.split(".")
    own = written if "decoder" in names else tokens
    if names[-1] in _ATTENTION and (x.ndim == 3 or (x.ndim == 4 and len(x) == 1)):
        heads = x if x.ndim == 3 else x[0]
        read = tokens if "cross" in names else own
        return _attention(address, heads, _fitting(own, heads.shape[1]), _fitting(read, heads.shape[2]))
    while x.ndim > 1 and x.shape[0] == 1:
        x = x[0]
    if x.ndim > 1 and x.shape[-1] == 1:  # a single unit: one number for each row
        x = x[..., 0]
    if x.ndim <= 1:
        return [_vector(address, np.atleast_1d(x))]
    rows = _fitting(own, x.shape[-2])
    if x.ndim == 2:
        return [_matrix(address, x, rows)]
    spread = histogram(x, title=f"{address}: all its values")
    stack = x.reshape(-1, *x.shape[-2:])
    if len(stack) > _MAPS:
        spread.note += f" Maps of the first {_MAPS} of {len(stack)} matrices follow."
    return [spread, *(_matrix(f"{address} [{i}]", part, rows) for i, part in enumerate(stack[:_MAPS]))]


def _fitting(names: Sequence[str], count: int) -> list[str] | None:
    """The names, if they are as many as the axis is long."""
    return list(names) if names and len(names) == count else None


def _attention(address: str, x: np.ndarray, queries: list[str] | None, keys: list[str] | None) -> list[Picture]:
    shares = bool((x >= 0).all())  # weights; scores may have any sign, and none where a mask is
    grid = [attention_grid({address: x}, keys, title=f"{address}: every head")] if shares else []
    if len(x) > _MAPS and grid:
        grid[0].note += f" Maps of the first {_MAPS} of {len(x)} heads follow."
    maps = [
        heatmap(
            entries,
            queries,
            keys,
            title=f"{address}, head {head}",
            value=address.rsplit(".", 1)[-1].removesuffix("s"),
            axes=("query", "key"),
            root=shares,
        )
        for head, entries in enumerate(x[:_MAPS])
    ]
    return [*grid, *maps]


def _matrix(address: str, x: np.ndarray, rows: list[str] | None) -> Picture:
    return heatmap(x, rows, title=address, axes=("row" if rows is None else "token", "unit"))


def _vector(address: str, x: np.ndarray) -> Picture:
    if len(x) > _BARS:
        return histogram(x, title=address)
    chart, rows = bar_chart({str(i): float(v) for i, v in enumerate(x)}, "value", of="entry")
    largest = int(np.nanargmax(np.abs(x))) if np.isfinite(x).any() else 0
    words = f"Bars of {len(x)} entries; the strongest is {largest}, {number(float(x[largest]), 3)}."
    return Picture(chart, address, words, "", rows)
