r"""The support of series: the values that they can take, and paths within it.

    real           any number
    nonnegative    from 0 up: a value below it becomes 0
    counts         whole numbers from 0 up: paths are rounded, and so are their quantiles
    unit           from 0 to 1: shares
    own            each series by its own values: those never below 0 stay there, counts stay counts

A series that stood still all the time that is known goes on standing still.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float

from cutaway.data.series.series_table import SeriesTable
from cutaway.tasks.series.prepared_series import without_freaks

_STILL = 12  # values, at least, and a season and one more, that a series that stands still has

Paths = Float[np.ndarray, "series samples steps"]
SUPPORTS = {  # in words
    "real": "any number, as there are values below 0",
    "nonnegative": "no value below 0, as there is none",
    "counts": "whole numbers from 0 up, as all values are",
    "unit": "numbers from 0 to 1",
    "own": "each series by its own values: those never below 0 stay there, counts stay counts",
}


def find_support(table: SeriesTable) -> str:
    """The support of all series of a table: counts, nonnegative, real, or own if they differ in it."""
    if table.is_count:
        return "counts"
    low = [float(np.nanmin(values)) for values in table.values if not np.isnan(values).all()]
    if all(each >= 0 for each in low):
        return "nonnegative" if not any(_are_counts(values) for values in table.values) else "own"
    return "own" if any(each >= 0 for each in low) else "real"


def expect_support(table: SeriesTable, support: str) -> None:
    """Series must have the support that was asked for."""
    rules = {
        "nonnegative": ("numbers from 0 up", lambda v: v < 0),
        "counts": ("whole numbers from 0 up", lambda v: (v < 0) | (v % 1 > 0)),
        "unit": ("numbers from 0 to 1", lambda v: (v < 0) | (v > 1)),
    }
    if support not in rules:
        return
    words, outside = rules[support]
    for name, values in zip(table.names, table.values):
        wrong = values[outside(values)]  # NaN is not outside
        if len(wrong):
            raise ValueError(
                f"support={support} is for {words}, got {wrong[0]:g} in series {name!r}; use support=auto or "
                "support=real"
            )


def whole_series(table: SeriesTable, support: str) -> Bool[np.ndarray, "series"]:
    """Which series are counts."""
    if support not in ("counts", "own"):
        return np.zeros(len(table), bool)
    return np.array([_are_counts(values) for values in without_freaks(table).values], bool)


def within_support(paths: Paths, table: SeriesTable, support: str) -> Paths:
    """Paths of series as values that they can take.

    A history that left the support itself, not by a freak alone, is an exception from it: its paths stay as they are.
    """
    if not support:
        return paths
    found, table = paths.copy(), without_freaks(table)
    whole = whole_series(table, support)
    found[whole] = np.round(found[whole])
    for i, values in enumerate(table.values):
        seen = values[~np.isnan(values)]
        if support != "real" and not (seen < 0).any():
            found[i] = np.maximum(found[i], 0.0)
        if support == "unit" and not (seen > 1).any():
            found[i] = np.minimum(found[i], 1.0)
        if stands_still(seen, table.season):
            found[i] = seen[0]
    return found


def stands_still(values: Float[np.ndarray, "n"], season: int) -> bool:
    """Whether a series had one value alone, for longer than a season.

    >>> stands_still(np.full(24, 5.0), 12), stands_still(np.full(10, 5.0), 12), stands_still(np.arange(24.0), 12)
    (True, False, False)
    """
    return len(values) >= max(_STILL, season + 1) and bool((values == values[0]).all())


def path_quantiles(
    paths: Paths, levels: Sequence[float], whole: Bool[np.ndarray, "series"] | None = None
) -> Float[np.ndarray, "series steps levels"]:
    """Quantiles of paths at every step; where ``whole``, values that paths have, not between them."""
    found = np.quantile(paths, levels, axis=1)
    if whole is not None and whole.any():
        found[:, whole] = np.quantile(paths[whole], levels, axis=1, method="inverted_cdf")
    return np.moveaxis(found, 0, -1)


def _are_counts(values: Float[np.ndarray, "n"]) -> bool:
    seen = values[~np.isnan(values)]
    return bool(len(seen)) and bool(((seen >= 0) & (seen % 1 == 0)).all())


__all__ = ["expect_support", "find_support", "path_quantiles", "stands_still", "whole_series", "within_support"]
