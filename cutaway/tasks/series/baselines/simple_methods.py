r"""The simple methods that every forecast is measured by, each fitted to what was known before the test.

random walk · seasonal naive · exponential smoothing · linear model on lags
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from cutaway.data.series.series_table import SeriesTable
from cutaway.tasks.series.backtesting import LEVELS, measure
from cutaway.tasks.series.baselines.autoregression import RIDGES, autoregression, own_lags
from cutaway.tasks.series.baselines.exponential_smoothing import exponential_smoothing
from cutaway.tasks.series.baselines.lag_regression import fit_lag_regression
from cutaway.tasks.series.baselines.naive_forecasts import (
    Method,
    Quantiles,
    fitted_random_walk,
    fitted_seasonal_naive,
    random_walk,
    trial_loss,
)
from cutaway.tasks.series.histories import Histories, histories_before, with_values

_TRIALS = 4  # windows of the training part that settings are chosen on


class SimpleMethod(NamedTuple):
    """A method that is fitted: its name, its rule in words, and the quantiles that it gives for histories."""

    name: str
    rule: str
    quantiles: Method


def fit_simple_methods(train: SeriesTable, horizon: int) -> list[SimpleMethod]:
    """All simple methods, their settings chosen on the last windows of ``train``."""
    trials = _trials(train, horizon)
    walk, rule = fitted_random_walk(trials, horizon, LEVELS)
    found = [SimpleMethod("random walk", rule, walk)]
    seasons = [season for season in train.seasons if season > 1 and 2 * season < int(train.lengths.max())]
    if seasons:
        naive, rule = fitted_seasonal_naive(trials, horizon, LEVELS, seasons)
        found.append(SimpleMethod("seasonal naive", rule, naive))
    found.append(_smoothing(trials, horizon, [1, *seasons[:1]]))
    found.append(_linear(train, trials, horizon))
    return found


def _linear(train: SeriesTable, trials: Histories, horizon: int) -> SimpleMethod:
    """The linear model on lags that was better on the trials: one for all series, or each series its own."""
    lags, ridge, loss = _choose_own(train, trials)
    shared = fit_lag_regression(train, trials, horizon, LEVELS)
    if shared.trial < loss:
        rule = f"a weighted sum of the last {len(shared.weights)} values, one for all series, ridge {shared.ridge:g}"
        return SimpleMethod("linear on lags", rule, shared.quantiles)
    return SimpleMethod(
        "linear on lags",
        f"a weighted sum of lags {', '.join(map(str, lags))}, fitted to each series alone, ridge {ridge:g}",
        lambda histories, steps, levels: autoregression(histories, steps, levels, lags, ridge),
    )


def choose_own_lags(train: SeriesTable, horizon: int) -> tuple[int, ...]:
    """The lags with which an autoregression of each series alone was best on the last windows of ``train``."""
    return _choose_own(train, _trials(train, horizon))[0]


def _choose_own(train: SeriesTable, trials: Histories) -> tuple[tuple[int, ...], float, float]:
    """Lags and ridge of the autoregressions that were best on the trials, and their loss."""
    steps = trials.truth.shape[1]
    losses = {
        (lags, ridge): trial_loss(autoregression(trials, steps, LEVELS, lags, ridge), trials.truth, LEVELS)
        for lags in own_lags(train.seasons)
        for ridge in RIDGES
    }
    best = min(losses, key=losses.__getitem__)
    return *best, losses[best]


def _smoothing(trials: Histories, horizon: int, seasons: Sequence[int]) -> SimpleMethod:
    """Exponential smoothing, with a season if that was better on the trials."""
    losses = {m: trial_loss(exponential_smoothing(trials, horizon, LEVELS, m), trials.truth, LEVELS) for m in seasons}
    season = min(losses, key=losses.__getitem__)
    told = f"level, trend and a season of {season}" if season > 1 else "level and trend"
    return SimpleMethod(
        "exponential smoothing",
        f"{told}, by AIC for each series (ETS)",
        lambda histories, steps, levels: exponential_smoothing(histories, steps, levels, season),
    )


def _trials(train: SeriesTable, horizon: int) -> Histories:
    """The last windows of the training part: as many as half of the longest series has room for, at least one."""
    room = max(int(train.lengths.max()) // (2 * horizon), 1)
    steps = min(horizon, max(int(train.lengths.max()) // 2, 1))
    for windows in range(min(_TRIALS, room), 2 * room + 1):
        found = with_values(histories_before(train, steps, windows))
        if len(found.series):
            return found
    return histories_before(train, steps, min(_TRIALS, room))  # an outage as long as that: nothing to choose by


def measure_simple_methods(
    methods: Sequence[SimpleMethod], histories: Histories, horizon: int, season: int
) -> list[dict[str, Any]]:
    """The metrics of each method on some windows, the best first."""
    rows = [
        {
            "name": method.name,
            "rule": method.rule,
            "metrics": measure(histories, _certain(method, histories, horizon), season),
        }
        for method in methods
    ]
    return sorted(rows, key=lambda row: row["metrics"]["wql"])


def _certain(method: SimpleMethod, histories: Histories, horizon: int) -> Quantiles:
    """The quantiles of a method; those of the random walk where it has none, after an outage for one."""
    found = method.quantiles(histories, horizon, LEVELS)
    absent = np.isnan(found).any((1, 2))
    if absent.any():
        found[absent] = random_walk(histories, horizon, LEVELS)[absent]
    return found


__all__ = ["SimpleMethod", "choose_own_lags", "fit_simple_methods", "measure_simple_methods"]
