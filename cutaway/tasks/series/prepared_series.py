r"""Series as a forecaster reads them, and its paths as they were: logarithms, large values moved to 0, no freaks.

    y_t ← log y_t           if asked for: steps are then log returns, as those of prices
    y_t ← missing           a freak: 100 times as far from the median as 19 of 20 values are, before the usual ones come
                            back (or one or two at the end: more may be a new level)
    y_t ← y_t − c           c ≈ mean y, if mean |y_t − y_{t−1}| < 10⁻⁴ mean |y|, while it is still float64

A float32 has seven digits: of a meter that stands at 1,000,000,000 and counts up by ones nothing would be left. What a
forecaster reads are differences, so it sees no other change. Logarithm and offset are undone in its paths, in float64.
A freak such as a sensor's 10⁹ would be the scale of everything else.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from cutaway.data.series.series_table import SeriesTable

_SMALL = 1e-4  # a step, as a share of the values
_FAR = 100.0  # how far a freak is from the median, in the distance that 19 of 20 keep within
_HUGE = 1e6  # from here on a value is a freak, where all others are 0
_ALONE = 2  # values at the end that may be freaks; more are a new level
_ENOUGH = 10  # values that show what is usual
_SOME = 20  # values that move, where most stand still


class PreparedSeries(NamedTuple):
    """Series for a forecaster, how far each was moved, and whether these are logarithms."""

    table: SeriesTable
    offsets: Float[np.ndarray, "series"]
    logarithm: bool

    def apply(self, values: Float[np.ndarray, "series *n"]) -> Float[np.ndarray, "series *n"]:
        """More values of the same series, one row each, as the forecaster reads them."""
        found = _logarithm(values) if self.logarithm else values
        return found - self.offsets.reshape(-1, *[1] * (values.ndim - 1))

    def restore(self, paths: Float[np.ndarray, "series *n"]) -> Float[np.ndarray, "series *n"]:
        """Paths of a forecaster as values of the series."""
        found = paths + self.offsets.reshape(-1, *[1] * (paths.ndim - 1))
        return np.exp(found) if self.logarithm else found


def prepare(table: SeriesTable, likelihood: str, logarithm: bool = False) -> PreparedSeries:
    """The series of a table for a forecaster; counts stay as they are."""
    if logarithm:
        _expect_positive(table)
        table = replace(table, values=[np.log(values) for values in table.values])
    table = without_freaks(table)
    offsets = np.zeros(len(table))
    if likelihood != "negative-binomial":
        offsets = np.array([_offset(values) for values in table.values], np.float64)
    if offsets.any():
        table = replace(table, values=[values - offset for values, offset in zip(table.values, offsets)])
    return PreparedSeries(table, offsets, logarithm)


def without_freaks(table: SeriesTable) -> SeriesTable:
    """The series with their freaks missing."""
    found = [find_freaks(values) for values in table.values]
    if not any(each.any() for each in found):
        return table
    return replace(table, values=[np.where(bad, np.nan, v) for bad, v in zip(found, table.values, strict=True)])


def find_freaks(values: Float[np.ndarray, "n"]) -> Bool[np.ndarray, "n"]:
    """Which values are freaks.

    >>> np.flatnonzero(find_freaks(np.r_[np.arange(30.0), 1e9, np.arange(30.0)]))
    array([30])
    """
    there = ~np.isnan(values)
    none = np.zeros(len(values), bool)
    if there.sum() < _ENOUGH:
        return none
    seen = values[there]
    middle = np.median(seen)
    apart = np.abs(seen - middle)
    usual = np.quantile(apart, 0.95, method="lower")
    if usual == 0:  # most stand still: by those that do not, else by how large the values are
        moving = apart[apart > 0]
        usual = np.quantile(moving, 0.9, method="lower") if len(moving) >= _SOME else abs(middle)
        if usual == 0 and len(moving):  # zeros and a few others: by those, a lone one by what is huge in most units
            usual = np.quantile(moving, 0.5, method="lower") if len(moving) > 1 else _HUGE / _FAR
    if usual == 0:
        return none
    far = none.copy()
    far[there] = apart > _FAR * usual
    usual_after = np.flatnonzero(there & ~far)
    last = int(usual_after[-1]) + 1 if len(usual_after) else 0
    if far[last:].sum() > _ALONE:
        far[last:] = False
    return far


def freak_note(table: SeriesTable) -> str:
    """What to say of freaks in some series: how many, and the first; "" if there are none."""
    found = [find_freaks(values) for values in table.values]
    count = sum(int(each.sum()) for each in found)
    if not count:
        return ""
    i = next(i for i, each in enumerate(found) if each.any())
    at = int(found[i].argmax())
    middle = np.nanmedian(table.values[i])
    when = table.clock_times(i, at, at + 1)[0]
    counts = "counts" if count == 1 else "count"
    return (
        f"{count:,} value{'s' * (count > 1)} far from all others (the first: {table.values[i][at]:g} in series "
        f"{table.names[i]!r} at {when}, where the median is {middle:g}) {counts} as missing when series are read"
    )


def _offset(values: Float[np.ndarray, "n"]) -> float:
    found = values[~np.isnan(values)]
    if len(found) < 2:
        return 0.0
    step, size = np.abs(np.diff(found)).mean(), np.abs(found).mean()
    return float(np.round(found.mean())) if 0 < step < _SMALL * size else 0.0


def _logarithm(values: np.ndarray) -> np.ndarray:
    """log y; what is not above 0 has none, and counts as missing."""
    return np.log(np.where(values > 0, values, np.nan))


def _expect_positive(table: SeriesTable) -> None:
    for name, values in zip(table.names, table.values):
        wrong = values[values <= 0]
        if len(wrong):
            raise ValueError(
                f"logarithms are of values above 0, got {wrong[0]:g} in series {name!r}; forecast the values themselves"
            )


__all__ = ["PreparedSeries", "find_freaks", "freak_note", "prepare", "without_freaks"]
