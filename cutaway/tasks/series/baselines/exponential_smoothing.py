r"""Exponential smoothing with additive errors (ETS), for all series and a grid of settings at once.

    ŷ_t = ℓ + φ b + s_{t−m}                e_t = y_t − ŷ_t
    ℓ ← ℓ + φ b + α e_t                    level
    b ← φ b + β e_t                        trend, damped by φ
    s_t = s_{t−m} + γ e_t                  season of m steps

    y_{t+h} ~ N(ℓ + (φ + … + φʰ) b + s,  σ² (1 + Σ_{j<h} c_j²)),     c_j = α + β (φ + … + φʲ) + γ [m divides j]

Each history takes the settings with the least AIC = n log(Σ e² / n) + 2 k, on the values as they are or on their
logarithms (a season that grows with the level). Hyndman et al. 2008, ch. 3, 5 and 6. Against statsmodels: the same
equations, with parameters from a grid and not from an optimizer: 414 series of 700 hours in seconds, not minutes.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from cutaway.tasks.series.baselines.naive_forecasts import Quantiles, gaussian_quantiles, random_walk
from cutaway.tasks.series.histories import Histories, tails

_ALPHAS = (0.02, 0.1, 0.25, 0.5, 0.75, 0.98)
_TRENDS = ((0.0, 0.0), (0.05, 0.9), (0.2, 0.9), (0.01, 1.0))  # β / α and φ; the first is no trend
_GAMMAS = (0.0, 0.05, 0.2, 0.5)  # γ / (1 − α); the first is no season
_LONGEST = 1000  # steps that are smoothed
_CELLS = 200_000  # histories times settings at once


class Smoothing(NamedTuple):
    """Settings side by side."""

    alpha: Float[np.ndarray, "g"]
    beta: Float[np.ndarray, "g"]
    phi: Float[np.ndarray, "g"]
    gamma: Float[np.ndarray, "g"]


class Smoothed(NamedTuple):
    """The state after the last value, and the squared errors of one step ahead on the way: their sum and count."""

    level: Float[np.ndarray, "rows g"]
    trend: Float[np.ndarray, "rows g"]
    season: Float[np.ndarray, "m rows g"]
    squares: Float[np.ndarray, "rows g"]
    steps: Int[np.ndarray, "rows"]


def settings(season: int) -> Smoothing:
    """The grid; without a season, that of level and trend alone."""
    found = [
        (alpha, share * alpha, phi, gamma * (1 - alpha))
        for alpha in _ALPHAS
        for share, phi in _TRENDS
        for gamma in (_GAMMAS if season > 1 else _GAMMAS[:1])
    ]
    return Smoothing(*np.array(found).T)


def smooth(x: Float[np.ndarray, "rows steps"], choices: Smoothing, season: int) -> Smoothed:
    """Every history smoothed with every setting; a missing value changes nothing but the level's course.

    Histories are aligned at their ends, NaN before their beginning. The first two seasons start the states: errors
    count after them.
    """
    rows, steps = x.shape
    start = _start(steps, season)
    level, profile = _initial(x, season, start)
    shape = (rows, len(choices.alpha))
    level = np.broadcast_to(level[:, None], shape).copy()
    trend = np.where(choices.beta > 0, _slope(x)[:, None], 0.0)
    squares, count = np.zeros(shape), np.zeros(rows, np.int64)
    seasonal = choices.gamma > 0
    s = np.where(seasonal, profile.T[:, :, None], 0.0) if season > 1 else np.zeros((1, *shape))
    born = np.isnan(x).argmin(1)
    for t in range(steps):
        y, there = x[:, t], ~np.isnan(x[:, t])
        ahead = level + choices.phi * trend
        old = s[t % len(s)]
        error = np.where(there[:, None], y[:, None] - ahead - old, 0.0)
        level = ahead + choices.alpha * error
        trend = choices.phi * trend + choices.beta * error
        if season > 1:
            s[t % season] = old + choices.gamma * error
        counts = there & (t >= born + start)
        squares += np.where(counts[:, None], error**2, 0.0)
        count += counts
    return Smoothed(level, trend, np.roll(s, -(steps % len(s)), 0), squares, count)


def _start(steps: int, season: int) -> int:
    """How many values start the states; errors count after them."""
    return min(2 * season if season > 1 else 10, max(steps // 2, 1))


def _initial(
    x: Float[np.ndarray, "rows steps"], season: int, start: int
) -> tuple[Float[np.ndarray, "rows"], Float[np.ndarray, "rows m"]]:
    """The mean of the first values, and what each place of a season is above or below its season, over all of them."""
    rows, steps = x.shape
    born = np.isnan(x).argmin(1)
    first = np.take_along_axis(x, np.minimum(born[:, None] + np.arange(start), steps - 1), 1)
    profile = np.zeros((rows, max(season, 1)))
    if season > 1 and steps >= season:
        whole = x[:, steps % season :].reshape(rows, -1, season)
        apart = whole - whole.mean(2, keepdims=True)  # NaN for a season with a gap
        there = ~np.isnan(apart)
        means = np.where(there, apart, 0.0).sum(1) / np.maximum(there.sum(1), 1)
        means = means - _slope(x)[:, None] * (np.arange(season) - (season - 1) / 2)  # what the trend does in a season
        profile = np.roll(means, steps % season, 1)
    return _mean(first), profile


def _slope(x: Float[np.ndarray, "rows steps"]) -> Float[np.ndarray, "rows"]:
    """The slope of a straight line through a history: that of its means in the first and the second half."""
    half = x.shape[1] // 2
    rise = _mean(x[:, -half:]) - _mean(x[:, :half]) if half else np.zeros(len(x))
    return np.nan_to_num(rise / max(half, 1))


def _mean(x: Float[np.ndarray, "rows n"]) -> Float[np.ndarray, "rows"]:
    there = ~np.isnan(x)
    return np.where(there, x, 0.0).sum(1) / np.where(there.any(1), there.sum(1), np.nan)


def _criterion(found: Smoothed, choices: Smoothing, season: int) -> Float[np.ndarray, "rows g"]:
    """AIC of each history and setting."""
    n = np.maximum(found.steps, 1)[:, None]
    parameters = 2 + 2 * (choices.beta > 0) + np.where(choices.gamma > 0, min(season, 12), 0)
    return n * np.log(np.maximum(found.squares / n, 1e-300)) + 2 * parameters


def _predict(
    found: Smoothed, choices: Smoothing, best: Int[np.ndarray, "rows"], season: int, horizon: int
) -> tuple[Float[np.ndarray, "rows horizon"], Float[np.ndarray, "rows horizon"]]:
    """Mean and standard deviation of every step, with each history's best settings."""
    rows = np.arange(len(best))
    alpha, beta, phi, gamma = (part[best][:, None] for part in choices)
    damped = np.cumsum(phi ** np.arange(1, horizon + 1), 1) * (beta > 0)
    level, trend = found.level[rows, best][:, None], found.trend[rows, best][:, None]
    steps = np.arange(horizon)
    s = found.season[steps % len(found.season)][:, rows, best].T
    mean = level + damped * trend + s
    c = alpha + beta * damped + gamma * ((steps + 1) % max(season, 1) == 0)
    growth = 1 + np.concatenate([np.zeros((len(rows), 1)), np.cumsum(c**2, 1)[:, :-1]], 1)
    variance = found.squares[rows, best] / np.maximum(found.steps, 1)
    return mean, np.sqrt(variance[:, None] * growth)


def exponential_smoothing(histories: Histories, horizon: int, levels: Sequence[float], season: int = 1) -> Quantiles:
    """Quantiles of every step, by the settings that fit each history best; short ones are random walks."""
    longest = min(_LONGEST, int(max(histories.table.lengths)))
    x = tails(histories.table.values, longest)
    found = np.empty((len(x), horizon, len(levels)))
    each = max(_CELLS // len(settings(season).alpha), 1)
    for a in range(0, len(x), each):
        found[a : a + each] = _some(x[a : a + each], horizon, levels, season)
    short = (~np.isnan(x)).sum(1) < max(3 * season, 8)
    if short.any():
        found[short] = random_walk(histories, horizon, levels)[short]
    return found


def _some(x: Float[np.ndarray, "rows steps"], horizon: int, levels: Sequence[float], season: int) -> Quantiles:
    choices = settings(season)
    plain = smooth(x, choices, season)
    scores = _criterion(plain, choices, season)
    best = scores.argmin(1)
    quantiles = gaussian_quantiles(*_predict(plain, choices, best, season, horizon), levels)
    positive: Bool[np.ndarray, "rows"] = np.where(np.isnan(x), 1.0, x).min(1) > 0
    if positive.any():
        logs = np.log(x[positive])
        grown = smooth(logs, choices, season)
        later = np.arange(x.shape[1]) >= (np.isnan(logs).argmin(1) + _start(x.shape[1], season))[:, None]
        counted = np.where(later & ~np.isnan(logs), logs, 0.0).sum(1)  # the Jacobian: densities of y, not of log y
        log_scores = _criterion(grown, choices, season) + 2 * counted[:, None]
        log_best = log_scores.argmin(1)
        mean, std = _predict(grown, choices, log_best, season, horizon)
        wins = log_scores.min(1) < scores[positive].min(1)
        rows = np.flatnonzero(positive)[wins]
        quantiles[rows] = np.exp(gaussian_quantiles(mean[wins], std[wins], levels))
    return quantiles


__all__ = ["Smoothing", "exponential_smoothing", "settings", "smooth"]
