r"""What goes into `SeriesDensity`: each series in units of its own spread, its lags, and waves of the calendar.

z = (y − median) / spread,   x_t = [z_{t−1}, z_{t−2}, …, sin and cos of the place in the day, week and year]
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from cutaway.data.series.missing_values import filled
from cutaway.data.series.series_table import SeriesTable

_HARMONICS = 2
_FARTHEST = 1e6  # spreads from the median: no value counts as farther, so that its square is a number too
_LARGEST = 20.0  # spreads from the median: beyond, a lag is cut, so that one error does not spoil what follows


class Scale(NamedTuple):
    """The middle and the spread of a series."""

    middle: float
    spread: float


def scale_of(values: Float[np.ndarray, "n"]) -> Scale:
    """Median and half the distance of quartiles, as a standard deviation; 1 for a constant series."""
    there = values[~np.isnan(values)]
    low, middle, high = np.quantile(there, (0.25, 0.5, 0.75))
    spread = (high - low) / 1.349 or float(there.std()) or 1.0
    return Scale(float(middle), float(spread))


def lags_of(table: SeriesTable) -> tuple[int, ...]:
    """The last values, those of a season before, and of two short seasons. Steps before the longest have no input."""
    found = {1, 2, 3, 2 * table.season}
    for season in table.seasons:
        found |= {season - 1, season, season + 1}
    shortest = int(table.lengths.min())
    return tuple(sorted(lag for lag in found if 0 < lag < max(shortest // 3, 2)))


def waves_of(table: SeriesTable, i: int, start: int, stop: int) -> Float[np.ndarray, "steps waves"]:
    """Sine and cosine, once and twice a cycle, of every place in the calendar; without dates, of the season."""
    places = table.calendar(i, start, stop).astype(np.float64)
    if places.shape[1] == 0 and table.season > 1:
        places = (np.arange(start, stop) % table.season)[:, None] / table.season - 0.5
    angles = [2 * np.pi * k * places for k in range(1, _HARMONICS + 1)]
    return np.concatenate([wave(angle) for angle in angles for wave in (np.sin, np.cos)], 1).astype(np.float32)


def count_waves(table: SeriesTable) -> int:
    """How many waves there are."""
    return waves_of(table, 0, 0, 1).shape[1]


class Inputs(NamedTuple):
    """Inputs and targets of steps of a table: which series and step each is of."""

    x: Float[np.ndarray, "n inputs"]
    y: Float[np.ndarray, "n"]
    series: Int[np.ndarray, "n"]
    step: Int[np.ndarray, "n"]


def inputs_of(table: SeriesTable, lags: tuple[int, ...], scales: list[Scale]) -> Inputs:
    """The inputs of every step that has its lags, in the units of ``scales``; targets may be NaN.

    Lags that are missing are carried forward.
    """
    parts = []
    longest = max(lags)
    for i, values in enumerate(table.values):
        z = np.clip((values - scales[i].middle) / scales[i].spread, -_FARTHEST, _FARTHEST)
        steps = np.arange(min(longest, len(z)), len(z))
        past = np.clip(filled(z, "forward"), -_LARGEST, _LARGEST)
        x = np.concatenate(
            [np.stack([past[steps - lag] for lag in lags], 1), waves_of(table, i, 0, len(z))[steps]], 1
        ).astype(np.float32)
        parts.append((x, z[steps].astype(np.float32), np.full(len(steps), i), steps))
    return Inputs(*(np.concatenate(column) for column in zip(*parts)))


__all__ = ["Inputs", "Scale", "count_waves", "inputs_of", "lags_of", "scale_of", "waves_of"]
