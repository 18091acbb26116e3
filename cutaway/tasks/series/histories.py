r"""Histories at the origins of forecasts: what was known of a series when a forecast of it was made.

    row 0    series 0 up to step 100          row 2    series 1 up to step 90
    row 1    series 0 up to step 130          …

All origins of a backtest are forecast side by side, so a row is a series cut at an origin.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from cutaway.data.series.series_table import SeriesTable


class Histories(NamedTuple):
    """``table`` has a row for every forecast; ``series`` says which series of the whole table a row is a part of.

    ``truth`` is what came in the steps after each row: NaN where it is missing or not known.
    """

    table: SeriesTable
    series: Int[np.ndarray, "rows"]
    truth: Float[np.ndarray, "rows horizon"]


def histories_before(table: SeriesTable, horizon: int, windows: int, stride: int | None = None) -> Histories:
    """The last ``windows`` origins of every series that leave ``horizon`` steps after them, the oldest first.

    They lie ``stride`` steps apart, by default a horizon, so that every value is forecast once.
    """
    stride = horizon if stride is None else stride
    first = horizon + (windows - 1) * stride
    rows = [
        (i, length - first + w * stride)
        for w in range(windows)
        for i, length in enumerate(table.lengths.tolist())
        if length > first
    ]
    return histories_at(table, rows, horizon)


def histories_at(table: SeriesTable, origins: Sequence[tuple[int, int]], horizon: int) -> Histories:
    """Histories that end before the given (series, step)."""
    chosen = [i for i, _ in origins]
    truth = np.full((len(origins), horizon), np.nan)
    for row, (i, end) in enumerate(origins):
        came = table.values[i][end : end + horizon]
        truth[row, : len(came)] = came
    return Histories(table.select(chosen).cut([end for _, end in origins]), np.array(chosen, np.int64), truth)


def with_values(histories: Histories) -> Histories:
    """Those after which a value came: an outage over a whole window has nothing to measure by."""
    there = ~np.isnan(histories.truth).all(1)
    if there.all():
        return histories
    chosen = np.flatnonzero(there)
    return Histories(histories.table.select(chosen.tolist()), histories.series[chosen], histories.truth[chosen])


def shortened(histories: Histories, steps: int) -> Histories:
    """The same histories with their last ``steps`` values alone, as if nothing before them were known."""
    table = histories.table
    first = [max(len(values) - steps, 0) for values in table.values]
    if table.has_dates or table.grid is None:  # else all begin at one time
        starts = [table.times(i, skip, skip + 1)[0] if skip else table.starts[i] for i, skip in enumerate(first)]
    else:
        starts = table.starts
    values = [each[skip:] for each, skip in zip(table.values, first, strict=True)]
    known = [each[skip:] for each, skip in zip(table.known, first)]
    return histories._replace(table=replace(table, values=values, starts=starts, known=known))


def tails(values: Sequence[Float[np.ndarray, "_"]], steps: int) -> Float[np.ndarray, "rows steps"]:
    """The last ``steps`` values of each history, side by side; NaN before the beginning of shorter ones."""
    found = np.full((len(values), steps), np.nan)
    for row, each in enumerate(values):
        last = each[-steps:]
        found[row, steps - len(last) :] = last
    return found


def carried_forward(x: Float[np.ndarray, "rows steps"]) -> Float[np.ndarray, "rows steps"]:
    """Missing values replaced by the last one before them; NaN before the first stays."""
    places = np.where(np.isnan(x), 0, np.arange(x.shape[1]))
    return np.take_along_axis(x, np.maximum.accumulate(places, 1), 1)


__all__ = ["Histories", "carried_forward", "histories_at", "histories_before", "shortened", "tails", "with_values"]
