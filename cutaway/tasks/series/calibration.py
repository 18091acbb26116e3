r"""Calibration of forecasts: how much wider or narrower the paths of each step should be, from validation windows.

    s_h = argmin_s Σ_rows Σ_q ρ_q(y_h, m_h + s (ŷ_{h,q} − m_h)) / width            m: median, ŷ: quantiles of the paths
    w_h = √s_h                                                                    half of the way, on a log scale

A model of one step ahead may have the right spread for the next step and a wrong one for the twentieth. Steps near each
other are fitted together, every window counts alike (in units of its own width), and only half of the way is taken:
validation windows are few, and half a step in the right direction is three quarters of the gain. Gneiting et al. 2007.

A series changes: what is forecast may be wilder or calmer than the validation windows were. So the last windows of the
history itself are forecast too, and their errors widen its paths:

    r = |y − m| / (half of the 80 % interval on the side of y)        of all steps of the last K windows
    s = (the .8 (1 + 1 / 6K)-quantile of r)^(K / (K + 1))             80 % of them lie within; nearer 1 for few windows

That is split conformal prediction (Papadopoulos et al. 2002; Romano et al. 2019), with the newest past to calibrate on;
1/6K is its correction for few cases, of which the steps of one window, that err together, are about six. A window with
less than half of the history before it says nothing about how narrow paths may be: it was forecast from too little.
"""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Bool, Float, Int

from cutaway.blocks.losses.quantiles import quantile_loss

_FACTORS = 2.0 ** (np.arange(-20, 41) / 20)  # s, from a half to four times
_CASES = 6  # independent errors in a window, about
_PRIOR = 1  # windows that 1 counts for, among a series' own
_OWN = 0.5, 4.0  # least and greatest factor of a series' own
_NEAR = 8  # steps within an eighth of the horizon are fitted together


def widening(
    quantiles: Float[np.ndarray, "rows horizon levels"],
    truth: Float[np.ndarray, "rows horizon"],
    levels: Sequence[float],
) -> Float[np.ndarray, "horizon"]:
    """The factor w_h of every step; 1 where nothing is known. ``levels`` rise, and their middle one is .5."""
    q, horizon = np.asarray(levels, truth.dtype), truth.shape[1]
    middle = quantiles[..., len(q) // 2, None]
    width = (quantiles[..., -1] - quantiles[..., 0]).mean(1)
    moves = width > 0
    losses = np.empty((len(_FACTORS), horizon))
    for i, factor in enumerate(_FACTORS):
        stretched = torch.from_numpy(middle + factor * (quantiles - middle))
        loss = quantile_loss(stretched, torch.from_numpy(truth), torch.from_numpy(q)).numpy().sum(-1)
        losses[i] = np.nansum(loss[moves] / width[moves, None], 0)
    apart = np.abs(np.subtract.outer(np.arange(horizon), np.arange(horizon)))
    near = np.maximum(1 - apart / (max(horizon // _NEAR, 1) + 1), 0.0)
    together = losses @ near
    flat = np.ptp(together, axis=0) == 0
    return np.where(flat, 1.0, np.sqrt(_FACTORS[together.argmin(0)]))


def own_factors(
    quantiles: Float[np.ndarray, "windows steps levels"],
    truth: Float[np.ndarray, "windows steps"],
    series: Int[np.ndarray, "windows"],
    count: int,
    alike: Bool[np.ndarray, "windows"] | None = None,
) -> Float[np.ndarray, "series"]:
    """How much the paths of each of ``count`` series are widened, by what came in windows of its own; 1 without any.

    The first and last of the levels are .1 and .9, their middle one is .5. ``series`` says whose window each is.
    Windows that are ``alike`` had a history about as long as that of the forecast: only these make paths narrower.
    """
    middle = quantiles[..., quantiles.shape[-1] // 2]
    above = truth > middle
    half = np.where(above, quantiles[..., -1] - middle, middle - quantiles[..., 0])
    there = ~np.isnan(truth) & (half > 0)
    r = np.abs(truth - middle) / np.where(half > 0, half, 1.0)
    found = np.ones(count)
    for i in np.unique(series):
        rows = series == i
        found[i] = _own_factor(r[rows], there[rows])
        if found[i] < 1 and alike is not None:
            found[i] = min(_own_factor(r[rows & alike], there[rows & alike]), 1.0)
    return found


def _own_factor(r: Float[np.ndarray, "windows steps"], there: Bool[np.ndarray, "windows steps"]) -> float:
    """The factor of one series by the errors of its windows, where there are any."""
    windows = int(there.any(1).sum())
    if not windows:
        return 1.0
    level = min(0.8 * (1 + 1 / (_CASES * windows)), 1.0)
    factor = np.quantile(r[there], level, method="higher") ** (windows / (windows + _PRIOR))
    return float(np.clip(factor, *_OWN))


__all__ = ["own_factors", "widening"]
