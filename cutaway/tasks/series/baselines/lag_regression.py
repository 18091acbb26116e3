r"""A linear model on lags: each step of the horizon is a weighted sum of the last L values, fitted to all series.

    u = (x_{t−L+1} … x_t − x_t) / s           the window, from its last value, in units of its spread s
    (y_{t+h} − x_t) / s = w_hᵀ u + e_h         ridge regression, λ chosen on the last windows of the training part
    quantiles: ŷ_{t+h} + s · quantile of e_h    of the errors on windows of training

One step of weights for each h: no errors are fed back. Zeng et al. 2023 (NLinear); Hoerl, Kennard 1970.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from cutaway.data.series.series_table import SeriesTable
from cutaway.tasks.series.baselines.naive_forecasts import Quantiles, trial_loss
from cutaway.tasks.series.histories import Histories, carried_forward, tails

_WINDOWS = 12_000  # at most, spread over all series
_RIDGES = (1e-4, 1e-2, 1.0)  # λ, in units of the mean square of an input


@dataclass(frozen=True)
class LagRegression:
    """Weights of each lag for each step, and the errors' quantiles at `levels` for each step."""

    weights: Float[np.ndarray, "lags horizon"]
    errors: Float[np.ndarray, "horizon levels"]
    levels: tuple[float, ...]
    ridge: float
    trial: float = float("inf")  # its loss on the windows that the ridge was chosen on

    def quantiles(self, histories: Histories, horizon: int, levels: Sequence[float]) -> Quantiles:
        """Quantiles of the steps after each history; levels between those fitted lie on straight lines."""
        lags = len(self.weights)
        u, last, spread = _scaled(carried_forward(tails(histories.table.values, lags)))
        errors = np.stack([np.interp(levels, self.levels, row) for row in self.errors[:horizon]])
        mean = (u @ self.weights)[:, :horizon]
        return last[:, None, None] + spread[:, None, None] * (mean[..., None] + errors)


def lags_for(table: SeriesTable, horizon: int) -> int:
    """How many lags: two seasons and a few steps, or 32, as far as half of the longest series allows."""
    wanted = 2 * table.season + 8 if table.season > 1 else 32
    if len(table.seasons) > 1 and 3 * table.seasons[1] < int(table.lengths.max()):
        wanted = max(wanted, table.seasons[1] + 8)
    return max(min(wanted, int(table.lengths.max()) // 2 - horizon), 2)


def fit_lag_regression(train: SeriesTable, trials: Histories, horizon: int, levels: Sequence[float]) -> LagRegression:
    """The model with the ridge that was best on ``trials``, whose values are then part of its training too."""
    lags = lags_for(train, horizon)
    held = trials.truth.shape[1] * max(len(trials.series) // max(len(set(trials.series.tolist())), 1), 1)
    earlier = train.cut([max(length - held, 0) for length in train.lengths.tolist()])
    x, y = _windows(earlier, lags, horizon)
    if len(x) < 8:
        x, y = _windows(train, lags, horizon)
        return _fit(x, y, levels, _RIDGES[-1])
    models = [_fit(x, y, levels, ridge) for ridge in _RIDGES]
    losses = [
        trial_loss(model.quantiles(trials, trials.truth.shape[1], levels), trials.truth, levels) for model in models
    ]
    chosen = _fit(*_windows(train, lags, horizon), levels, _RIDGES[int(np.argmin(losses))])
    return replace(chosen, trial=min(losses))


def _windows(
    table: SeriesTable, lags: int, horizon: int
) -> tuple[Float[np.ndarray, "n lags"], Float[np.ndarray, "n horizon"]]:
    """Windows of lags and what came after them, scaled, spread evenly over the series; those with gaps left out."""
    width = lags + horizon
    room = np.maximum(table.lengths - width + 1, 0)
    stride = max(int(np.ceil(room.sum() / _WINDOWS)), 1)
    parts = [
        np.lib.stride_tricks.sliding_window_view(values, width)[::-stride]
        for values in table.values
        if len(values) >= width
    ]
    found = np.concatenate(parts) if parts else np.zeros((0, width))
    found = found[~np.isnan(found).any(1)]
    u, last, spread = _scaled(found[:, :lags])
    moves = spread > 0
    y = (found[:, lags:] - last[:, None])[moves] / spread[moves, None]
    return u[moves], y


def _scaled(
    x: Float[np.ndarray, "n lags"],
) -> tuple[Float[np.ndarray, "n lags"], Float[np.ndarray, "n"], Float[np.ndarray, "n"]]:
    """Windows from their last value in units of their spread; 0 for values before the beginning of a series."""
    last = x[:, -1] if x.shape[1] else np.zeros(len(x))
    there = ~np.isnan(x)
    count = np.maximum(there.sum(1), 1)
    mean = np.where(there, x, 0.0).sum(1) / count
    spread = np.where(there, np.abs(x - mean[:, None]), 0.0).sum(1) / count
    u = np.where(there, x - last[:, None], 0.0) / np.where(spread > 0, spread, 1.0)[:, None]
    return u, last, spread


def _fit(
    x: Float[np.ndarray, "n lags"], y: Float[np.ndarray, "n horizon"], levels: Sequence[float], ridge: float
) -> LagRegression:
    n, lags = x.shape
    gram = x.T @ x
    scale = max(np.trace(gram) / lags, 1e-12)
    weights = np.linalg.solve(gram + ridge * scale / max(n, 1) * max(n, 1) ** 0.5 * np.eye(lags), x.T @ y)
    errors = y - x @ weights if n else np.zeros((1, y.shape[1]))
    return LagRegression(weights, np.quantile(errors, levels, axis=0).T, tuple(levels), ridge)


__all__ = ["LagRegression", "fit_lag_regression", "lags_for"]
