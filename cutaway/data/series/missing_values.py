r"""Missing values inside a series: kept as NaN for models that can, filled, or refused by name."""

from dataclasses import replace

import numpy as np
from jaxtyping import Float

from cutaway.data.series.series_table import SeriesTable

MISSING = ("keep", "zero", "forward", "interpolate", "refuse")


def fill_missing(table: SeriesTable, rule: str) -> SeriesTable:
    """The series with their missing values filled by a rule of `MISSING`."""
    if rule == "keep":
        return table
    if rule == "refuse":
        for i, values in enumerate(table.values):
            if np.isnan(values).any():
                at = int(np.argmax(np.isnan(values)))
                raise ValueError(
                    f"no value may be missing with missing=refuse, got {int(np.isnan(values).sum()):,} missing in "
                    f"series {table.names[i]!r}, the first at {table.clock_times(i, at, at + 1)[0]}; fill it, or say "
                    "--missing keep"
                )
        return table
    return replace(table, values=[filled(values, rule) for values in table.values])


def filled(values: Float[np.ndarray, "n"], rule: str) -> Float[np.ndarray, "n"]:
    """A series without gaps: 0, the value before, or the straight line between neighbours in their place.

    >>> filled(np.array([1.0, np.nan, 3.0]), "forward"), filled(np.array([1.0, np.nan, 3.0]), "interpolate")
    (array([1., 1., 3.]), array([1., 2., 3.]))
    """
    gaps = np.isnan(values)
    if not gaps.any():
        return values
    if gaps.all() or rule == "zero":
        return np.where(gaps, 0.0, values)
    there = np.flatnonzero(~gaps)
    if rule == "forward":
        before = np.maximum.accumulate(np.where(gaps, 0, np.arange(len(values))))
        new = values[before]
        return np.where(np.isnan(new), values[there[0]], new)
    return np.interp(np.arange(len(values)), there, values[there])


__all__ = ["MISSING", "fill_missing", "filled"]
