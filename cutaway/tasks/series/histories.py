r"""Parts of series in time, and histories at the origins of forecasts: what was known when a forecast was made.

    |———————— train ————————|·· validation ··|·· test ··|        windows of one horizon each, at the end of every series

    row 0    series 0 up to step 100          row 2    series 1 up to step 90
    row 1    series 0 up to step 130          …

All origins of a backtest are forecast side by side, so a row is a series cut at an origin.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from cutaway.data.fingerprints import Fingerprint
from cutaway.data.series.series_table import SeriesTable

_VALUES_NEEDED = 0.25  # share of the values of validation windows that must be there


class Histories(NamedTuple):
    """``table`` has a row for every forecast; ``series`` says which series of the whole table a row is a part of.

    ``truth`` is what came in the steps after each row: NaN where it is missing or not known.
    """

    table: SeriesTable
    series: Int[np.ndarray, "rows"]
    truth: Float[np.ndarray, "rows horizon"]


class SeriesParts(NamedTuple):
    """Series with the windows at their ends that are kept for validation and test."""

    table: SeriesTable
    horizon: int
    validation_windows: int
    test_windows: int

    @property
    def fingerprint(self) -> Fingerprint:
        """What the series were when they were read."""
        return self.table.fingerprint

    def summary(self) -> str:
        """The series in words."""
        return self.table.summary()

    def _without(self, windows: int) -> SeriesTable:
        return self.table.cut(-windows * self.horizon) if windows else self.table

    @property
    def train(self) -> SeriesTable:
        """The series without the windows of validation and test."""
        return self._without(self.validation_windows + self.test_windows)

    @property
    def before_test(self) -> SeriesTable:
        """The series without the windows of the test."""
        return self._without(self.test_windows)

    def validation(self) -> Histories:
        """The validation windows that have values, each with its history and what came."""
        return with_values(histories_before(self.before_test, self.horizon, self.validation_windows))

    def test(self) -> Histories:
        """The test windows that have values, each with its history and what came."""
        return with_values(histories_before(self.table, self.horizon, self.test_windows))

    def before_outage(self) -> "SeriesParts":
        """More validation windows, where most values of those are missing: enough to reach back before the outage.

        A choice of weights and a calibration need values to measure by.
        """
        before, count = self.before_test, self.validation_windows
        for windows in range(count, int(before.lengths.max()) // self.horizon):
            truth = histories_before(before, self.horizon, windows).truth
            if not truth.size:
                break
            if (truth == truth).sum() >= _VALUES_NEEDED * count * self.horizon * len(before):
                return self if windows == count else self._replace(validation_windows=windows)._noting_outage(count)
        end = f"the {count * self.horizon:,} steps before the test"
        raise ValueError(
            f"validation windows must hold values, got too few of them in {end} of {before.name}, and no room before "
            "them; fill them with --missing interpolate, lower horizon, or train without: --validation 0"
        )

    def _noting_outage(self, count: int) -> "SeriesParts":
        missing = (
            f"most values of the {count:,} validation window{'s' * (count > 1)} of {self.horizon} steps are missing"
        )
        note = f"{missing}: {self.validation_windows:,} are kept for validation, which reach back before that"
        return self._replace(table=replace(self.table, notes=(*self.table.notes, note)))


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
