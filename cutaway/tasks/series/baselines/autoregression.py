r"""An autoregression of each series on a few of its own lags, by least squares, forecast step by step.

    x_t − x_{t−1} = Σ_l a_l (x_{t−l} − x_{t−1}) + a₀ (x_{t−1} − x̄) + e_t       l = m, m + 1; or also 2, 3, 2 m
    a = argmin Σ_t e_t² + λ n v ‖a‖²                                           v = mean (x_t − x_{t−1})²

    y_{t+h} ~ N(x̂_{t+h}, σ² Σ_{j<h} ψ_j²),     ψ_0 = 1,  ψ_j = Σ_l φ_l ψ_{j−l}     φ_l: what x_{t−l} weighs in x_t

With a = 0 it is the random walk. Fitted anew to every history, so nothing is shared between series.
Box, Jenkins 1970, ch. 5 (forecasts and their ψ weights); Hoerl, Kennard 1970 (λ).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from cutaway.tasks.series.baselines.naive_forecasts import Quantiles, gaussian_quantiles
from cutaway.tasks.series.histories import Histories

RIDGES = (1e-3, 1e-2)  # λ
_SPARE = 30  # steps that a lag must leave for the fit
_LONGEST = 5000  # newest steps that are fitted


class Autoregression(NamedTuple):
    """φ of each lag, the constant, and σ of one step, of one history."""

    weights: Float[np.ndarray, "lags"]
    constant: float
    std: float


def own_lags(seasons: Sequence[int]) -> list[tuple[int, ...]]:
    """Sets of lags to choose from: few of them, and more.

    >>> own_lags((12,))
    [(1, 12, 13), (1, 2, 3, 12, 13, 24)]
    """
    few = {1, *(lag for m in seasons for lag in (m, m + 1))} if seasons else {1, 2}
    return [tuple(sorted(found)) for found in (few, {1, 2, 3, *few, *(2 * m for m in seasons)})]


def fit_autoregression(values: Float[np.ndarray, "n"], lags: Sequence[int], ridge: float) -> Autoregression:
    """The autoregression of one history; a short one, or one that never moved, is a random walk."""
    there, x = ~np.isnan(values), _filled(values)
    steps = np.diff(x)[there[1:]]
    walk = Autoregression(np.array([1.0] + [0.0] * (len(lags) - 1)), 0.0, _root_mean_square(steps))
    used = [lag for lag in lags if 1 < lag < len(x) - _SPARE]
    start = max(used, default=1)
    if len(x) <= max(start + len(used) + 2, 8) or walk.std == 0:
        return walk
    before, mean = x[start - 1 : -1], float(x[there].mean())
    columns = [x[start - lag : len(x) - lag] - before for lag in used] + [before - mean]
    u, d = np.stack(columns, 1)[there[start:]], (x[start:] - before)[there[start:]]
    a = np.linalg.solve(u.T @ u + ridge * len(u) * walk.std**2 * np.eye(len(used) + 1), u.T @ d)
    weights = np.zeros(len(lags))
    weights[0] = 1 - a[:-1].sum() + a[-1]
    for lag, share in zip(used, a[:-1], strict=True):
        weights[list(lags).index(lag)] = share
    spare = max(len(d) - len(a), 1)  # degrees of freedom
    return Autoregression(weights, -a[-1] * mean, float(np.sqrt(np.square(d - u @ a).sum() / spare)))


def autoregression(
    histories: Histories, horizon: int, levels: Sequence[float], lags: Sequence[int], ridge: float
) -> Quantiles:
    """Quantiles of every step after each history; means stay within its range, widened by its width on both sides."""
    values = [each[-_LONGEST:] for each in histories.table.values]
    fits = [fit_autoregression(each, lags, ridge) for each in values]
    weights = np.stack([fit.weights for fit in fits])
    constant, std = (np.array([getattr(fit, name) for fit in fits]) for name in ("constant", "std"))
    filled = [_filled(each) for each in values]
    low, high = np.array([[x.min(), x.max()] for x in filled]).T
    room = high - low
    reach, back = lags[-1], np.array(lags)
    path = np.zeros((len(fits), reach + horizon))
    for row, x in enumerate(filled):
        path[row, max(reach - len(x), 0) : reach] = x[-reach:]
    psi = np.zeros_like(path)
    psi[:, reach] = 1.0
    for t in range(reach, reach + horizon):
        path[:, t] = np.clip((path[:, t - back] * weights).sum(1) + constant, low - room, high + room)
        if t > reach:
            psi[:, t] = (psi[:, t - back] * weights).sum(1)
    spread = np.minimum(np.sqrt(np.cumsum(psi[:, reach:] ** 2, 1)) * std[:, None], (room + std)[:, None])
    return gaussian_quantiles(path[:, reach:], spread, levels)


def _filled(values: Float[np.ndarray, "n"]) -> Float[np.ndarray, "n"]:
    """Missing values replaced by the last one before them, those at the beginning by the first; 0 if there are none."""
    there = ~np.isnan(values)
    if not there.any():
        return np.zeros(max(len(values), 1))
    last = np.maximum.accumulate(np.where(there, np.arange(len(values)), int(there.argmax())))
    return values[last]


def _root_mean_square(x: Float[np.ndarray, "n"]) -> float:
    return float(np.sqrt(np.square(x).mean())) if len(x) else 0.0


__all__ = ["RIDGES", "Autoregression", "autoregression", "fit_autoregression", "own_lags"]
