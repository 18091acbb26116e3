r"""Losses of probabilistic forecasts: how far predicted quantiles or samples are from what came.

    ρ_q(y, ŷ) = max(q (y − ŷ), (q − 1) (y − ŷ))            quantile (pinball) loss: least in the mean at the q-quantile
    wQL = 2 Σ_t ρ_q(y_t, ŷ_t) / Σ_t |y_t|                  weighted, as GluonTS reports it
    CRPS(F, y) = ∫ (F(z) − 1[y ≤ z])² dz                   of a whole distribution F
               = E |X − y| − ½ E |X − X′|                  X, X′ ~ F independent: from samples
               = 2 ∫ ρ_q(y, F⁻¹(q)) dq                     from quantiles
    MASE = mean |y − ŷ| / mean |y_t − y_{t−m}|             error beside that of the seasonal naive in the past

All but MASE are proper: their mean is least for the true distribution. Koenker, Bassett 1978; Gneiting, Raftery 2007;
Hyndman, Koehler 2006 (MASE).
"""

import torch
from jaxtyping import Float
from torch import Tensor

from cutaway.blocks.checks import expect_same_shape


def quantile_loss(
    predictions: Float[Tensor, "*b q"], targets: Float[Tensor, "*b"], levels: Float[Tensor, "q"]
) -> Float[Tensor, "*b q"]:
    r"""The pinball loss of predicted quantiles, one for each level.

        ρ_q(y, ŷ) = max(q (y − ŷ), (q − 1) (y − ŷ))

    Too low a prediction costs q for each unit, too high a one 1 − q. Koenker, Bassett 1978.

    >>> quantile_loss(torch.tensor([[2.0, 2.0]]), torch.tensor([3.0]), torch.tensor([0.1, 0.9]))
    tensor([[0.1000, 0.9000]])
    """
    _expect_levels(levels)
    over = targets.unsqueeze(-1) - predictions
    return torch.maximum(levels * over, (levels - 1) * over)


def weighted_quantile_loss(
    predictions: Float[Tensor, "*b q"], targets: Float[Tensor, "*b"], levels: Float[Tensor, "q"]
) -> Float[Tensor, "q"]:
    r"""The quantile loss of each level as a share of the size of all targets.

        wQL(q) = 2 Σ ρ_q(y, ŷ) / Σ |y|

    Its mean over the levels .1 … .9 is GluonTS's mean weighted quantile loss. Targets that are NaN do not count.
    Large series carry most of the weight. Salinas et al. 2020, §4.1.
    """
    there = ~targets.isnan()
    y = torch.where(there, targets, 0.0)
    losses = torch.where(there.unsqueeze(-1), quantile_loss(predictions, y, levels), 0.0)
    return 2 * losses.flatten(end_dim=-2).sum(0) / _above_zero(y.abs().sum())


def crps_from_samples(samples: Float[Tensor, "n *b"], targets: Float[Tensor, "*b"]) -> Float[Tensor, "*b"]:
    r"""The continuous ranked probability score of samples, drawn along the first axis.

        CRPS = 1/n Σ_i |x_i − y| − 1/n² Σ_i (2 i − n − 1) x_(i)       x_(1) ≤ … ≤ x_(n)

    The second term is ½ of the mean distance of two samples, by one sort. That of the empirical distribution: with few
    samples it is above the score of the distribution that they are from. Gneiting, Raftery 2007, eq. 20.

    >>> crps_from_samples(torch.tensor([0.0, 2.0]), torch.tensor(1.0))  # 1 − ½ · mean(0, 2, 2, 0)
    tensor(0.5000)
    """
    n = len(samples)
    if n < 1:
        raise ValueError("CRPS needs at least one sample, got none; draw some along the first axis")
    expect_same_shape("samples[0]", samples[0], "targets", targets)
    ordered = samples.sort(0).values
    ranks = torch.arange(1, n + 1, dtype=samples.dtype, device=samples.device).view(-1, *[1] * targets.ndim)
    apart = ((2 * ranks - n - 1) * ordered).sum(0) / n**2
    return (samples - targets).abs().mean(0) - apart


def crps_from_quantiles(
    predictions: Float[Tensor, "*b q"], targets: Float[Tensor, "*b"], levels: Float[Tensor, "q"]
) -> Float[Tensor, "*b"]:
    r"""The continuous ranked probability score, approximated by quantiles at evenly spaced levels.

        CRPS ≈ 2/K Σ_k ρ_{q_k}(y, ŷ_k)

    Exact as the levels (k − ½)/K grow dense. Gneiting, Ranjan 2011.
    """
    return 2 * quantile_loss(predictions, targets, levels).mean(-1)


def mase(
    predictions: Float[Tensor, "*b h"], targets: Float[Tensor, "*b h"], history: Float[Tensor, "*b t"], season: int = 1
) -> Float[Tensor, "*b"]:
    r"""The mean absolute error, in units of what the seasonal naive forecast missed by in the past.

        MASE = mean_h |y_h − ŷ_h| / mean_t |x_t − x_{t−m}|

    NaN in targets or history does not count. Below 1 is better than the seasonal naive was, one step (m = 1) or one
    season ahead. A history that repeats itself exactly gives a huge number. Hyndman, Koehler 2006.

    >>> mase(torch.tensor([3.0, 3.0]), torch.tensor([4.0, 5.0]), torch.tensor([1.0, 2.0, 3.0]))  # 1.5 / 1
    tensor(1.5000)
    """
    expect_same_shape("predictions", predictions, "targets", targets)
    if not 1 <= season < history.shape[-1]:
        raise ValueError(
            f"season must be from 1 to below the length of the history, got season={season} for "
            f"{history.shape[-1]} values; try season=1"
        )
    naive = (history[..., season:] - history[..., :-season]).abs().nanmean(-1)
    return (targets - predictions).abs().nanmean(-1) / _above_zero(naive)


def coverage(low: Float[Tensor, "*b"], high: Float[Tensor, "*b"], targets: Float[Tensor, "*b"]) -> Float[Tensor, ""]:
    r"""The share of targets inside their interval; NaN targets do not count.

        1/n Σ 1[l ≤ y ≤ u]

    The interval from the .1- to the .9-quantile should cover 0.8. Gneiting, Balabdaoui, Raftery 2007.

    >>> coverage(torch.zeros(4), torch.ones(4), torch.tensor([0.5, 2.0, 1.0, -1.0]))
    tensor(0.5000)
    """
    there = ~targets.isnan()
    inside = (targets >= low) & (targets <= high) & there
    return inside.sum() / there.sum().to(targets.dtype)


def _above_zero(x: Tensor) -> Tensor:
    """At least the smallest number there is, so that no error is worth 0 and not 0/0 where there is no scale."""
    return x.clamp(min=torch.finfo(x.dtype).tiny)


def _expect_levels(levels: Tensor) -> None:
    if levels.ndim != 1 or not len(levels):
        raise ValueError(
            f"levels must be numbers between 0 and 1 on one axis, got the shape {tuple(levels.shape)}; "
            "try torch.tensor([0.1, 0.5, 0.9])"
        )


__all__ = [
    "coverage",
    "crps_from_quantiles",
    "crps_from_samples",
    "mase",
    "quantile_loss",
    "weighted_quantile_loss",
]
