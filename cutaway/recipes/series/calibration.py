r"""Calibration of forecasts: how much wider or narrower the paths of each step should be, from validation windows.

    s_h = argmin_s Σ_rows Σ_q ρ_q(y_h, m_h + s (ŷ_{h,q} − m_h)) / width            m: median, ŷ: quantiles of the paths
    w_h = √s_h                                                                    half of the way, on a log scale

A model of one step ahead may have the right spread for the next step and a wrong one for the twentieth. Steps near each
other are fitted together, every window counts alike (in units of its own width), and only half of the way is taken:
validation windows are few, and half a step in the right direction is three quarters of the gain. Gneiting et al. 2007.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

_FACTORS = 2.0 ** (np.arange(-20, 41) / 20)  # s, from a half to four times
_NEAR = 8  # steps within an eighth of the horizon are fitted together


def widening(
    quantiles: Float[np.ndarray, "rows horizon levels"],
    truth: Float[np.ndarray, "rows horizon"],
    levels: Sequence[float],
) -> Float[np.ndarray, "horizon"]:
    """The factor w_h of every step; 1 where nothing is known. ``levels`` rise, and their middle one is .5."""
    q, horizon = np.asarray(levels), truth.shape[1]
    middle = quantiles[..., len(q) // 2, None]
    width = (quantiles[..., -1] - quantiles[..., 0]).mean(1)
    moves = width > 0
    losses = np.empty((len(_FACTORS), horizon))
    for i, factor in enumerate(_FACTORS):
        over = truth[..., None] - (middle + factor * (quantiles - middle))
        loss = np.maximum(q * over, (q - 1) * over).sum(-1)
        losses[i] = np.nansum(loss[moves] / width[moves, None], 0)
    apart = np.abs(np.subtract.outer(np.arange(horizon), np.arange(horizon)))
    near = np.maximum(1 - apart / (max(horizon // _NEAR, 1) + 1), 0.0)
    together = losses @ near
    flat = np.ptp(together, axis=0) == 0
    return np.where(flat, 1.0, np.sqrt(_FACTORS[together.argmin(0)]))


__all__ = ["widening"]
