r"""Series as a forecaster reads them, and its paths as they were: logarithms, and large values moved to 0.

    y_t ← log y_t           if asked for: steps are then log returns, as those of prices
    y_t ← y_t − c           c ≈ mean y, if mean |y_t − y_{t−1}| < 10⁻⁴ mean |y|, while it is still float64

A float32 has seven digits: of a meter that stands at 1,000,000,000 and counts up by ones nothing would be left. What a
forecaster reads are differences, so it sees no other change. Both are undone in its paths, in float64.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from cutaway.data.series.series_table import SeriesTable

_SMALL = 1e-4  # a step, as a share of the values


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
    offsets = np.zeros(len(table))
    if likelihood != "negative-binomial":
        offsets = np.array([_offset(values) for values in table.values], np.float64)
    if offsets.any():
        table = replace(table, values=[values - offset for values, offset in zip(table.values, offsets)])
    return PreparedSeries(table, offsets, logarithm)


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


__all__ = ["PreparedSeries", "prepare"]
