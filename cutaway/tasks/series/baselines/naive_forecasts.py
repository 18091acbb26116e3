r"""Forecasts that take no training: a random walk, and the season before, each with Gaussian errors.

    random walk       y_{t+h} ~ N(y_t, h σ²)                σ² = mean (y_s − y_{s−1})² over the last w steps
    seasonal naive    y_{t+h} ~ N(y_{t+h−km}, k σ²)    k = ⌈h/m⌉ seasons of m steps back, σ² = mean (y_s − y_{s−m})²

w and m are chosen on windows before the test. What a model is worth is what it adds to these.
Hyndman, Athanasopoulos 2021, §5.2 and §5.5.
"""

from collections.abc import Callable, Sequence
from statistics import NormalDist

import numpy as np
import torch
from jaxtyping import Float

from cutaway.blocks.losses.quantiles import quantile_loss
from cutaway.tasks.series.histories import Histories, carried_forward, histories_before, tails

WINDOWS = (10, 20, 50, 100, 250, 1000)  # steps that σ is taken from
_TRIALS = 4  # horizons before the test that settings are chosen on
Quantiles = Float[np.ndarray, "rows horizon levels"]
Method = Callable[[Histories, int, Sequence[float]], Quantiles]


def gaussian_quantiles(
    mean: Float[np.ndarray, "rows horizon"], std: Float[np.ndarray, "rows horizon"], levels: Sequence[float]
) -> Quantiles:
    """Quantiles of Gaussians: μ + σ Φ⁻¹(q)."""
    z = np.array([NormalDist().inv_cdf(level) for level in levels])
    return mean[..., None] + std[..., None] * z


def random_walk(histories: Histories, horizon: int, levels: Sequence[float], window: int = 100) -> Quantiles:
    """The last value goes on; its spread grows with the square root of the steps."""
    whole = carried_forward(
        tails(histories.table.values, max(int(max(histories.table.lengths, default=0)), window + 1))
    )
    x = whole[:, -window - 1 :]
    std = _root_mean_square(np.diff(x, axis=1))
    still = std == 0  # nothing but an outage in the window, for one: by the whole history
    std[still] = _root_mean_square(np.diff(whole[still], axis=1))
    steps = np.sqrt(np.arange(1, horizon + 1))
    return gaussian_quantiles(np.repeat(x[:, -1:], horizon, 1), std[:, None] * steps, levels)


def seasonal_naive(histories: Histories, horizon: int, levels: Sequence[float], season: int) -> Quantiles:
    """The season before comes again; series shorter than two seasons are random walks."""
    longest = int(max(histories.table.lengths, default=0))
    x = carried_forward(tails(histories.table.values, max(longest, 2 * season)))
    std = _root_mean_square(x[:, season:] - x[:, :-season])
    back = np.ceil(np.arange(1, horizon + 1) / season).astype(int)
    mean = x[:, np.arange(horizon) - back * season + x.shape[1]]
    quantiles = gaussian_quantiles(mean, std[:, None] * np.sqrt(back), levels)
    short = np.isnan(quantiles).any((1, 2))
    if short.any():
        quantiles[short] = random_walk(histories, horizon, levels)[short]
    return quantiles


def _root_mean_square(x: Float[np.ndarray, "rows n"]) -> Float[np.ndarray, "rows"]:
    there = ~np.isnan(x)
    total = np.where(there, x, 0.0)
    return np.sqrt((total**2).sum(1) / np.maximum(there.sum(1), 1))


def trial_loss(quantiles: Quantiles, truth: Float[np.ndarray, "rows horizon"], levels: Sequence[float]) -> float:
    """The mean weighted quantile loss, for choosing between settings; infinite where there is no forecast for some."""
    q = torch.tensor(levels, dtype=torch.float64)
    losses = quantile_loss(torch.from_numpy(quantiles), torch.from_numpy(truth), q).numpy()
    if np.isnan(losses[~np.isnan(truth)]).any():
        return float("inf")
    return float(2 * np.nansum(losses) / len(q) / max(np.nansum(np.abs(truth)), 1e-300))


def fitted_random_walk(train: Histories, horizon: int, levels: Sequence[float]) -> tuple[Method, str]:
    """The random walk with the σ window that was best on the last windows of the training part, and its rule."""
    losses = {w: trial_loss(random_walk(train, horizon, levels, w), train.truth, levels) for w in WINDOWS}
    window = min(losses, key=losses.__getitem__)
    rule = f"the last value, σ from the last {window} differences"
    return (lambda histories, steps, q: random_walk(histories, steps, q, window)), rule


def fitted_seasonal_naive(
    train: Histories, horizon: int, levels: Sequence[float], seasons: Sequence[int]
) -> tuple[Method, str]:
    """The seasonal naive with the season that was best on the last windows of the training part, and its rule."""
    losses = {m: trial_loss(seasonal_naive(train, horizon, levels, m), train.truth, levels) for m in seasons}
    season = min(losses, key=losses.__getitem__)
    rule = f"the value of {season} steps before, with Gaussian residuals"
    return (lambda histories, steps, q: seasonal_naive(histories, steps, q, season)), rule


__all__ = [
    "Method",
    "Quantiles",
    "fitted_random_walk",
    "fitted_seasonal_naive",
    "gaussian_quantiles",
    "histories_before",
    "random_walk",
    "seasonal_naive",
    "trial_loss",
]
