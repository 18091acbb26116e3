r"""A backtest: forecasts from origins in the past, compared with what came.

origin 1   |—— history ——|·· horizon ··|
origin 2   |—— history ————————————————|·· horizon ··|
origin 3   |—— history —————————————————————————————————|·· horizon ··|

wQL = mean over q of 2 Σ ρ_q(y, ŷ_q) / Σ |y|          q = .1, .2 … .9: GluonTS's mean weighted quantile loss
the unweighted one is the mean over series of their own wQL: large series weigh no more than small ones
windows of zeros alone have no size: the loss is then a share of the size of their histories, and of 1 if that is 0 too
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float

from cutaway.blocks.losses.quantiles import coverage, crps_from_samples, quantile_loss
from cutaway.extras import need
from cutaway.overriding import override
from cutaway.tasks.series.histories import Histories, tails

if TYPE_CHECKING:
    import pandas

LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
Quantiles = Float[np.ndarray, "rows horizon levels"]


@dataclass(frozen=True)
class Backtest:
    """Forecasts of past windows beside what came: quantiles at `LEVELS`, and the paths that they are from, if any."""

    histories: Histories
    quantiles: Quantiles
    season: int = 1
    paths: Float[np.ndarray, "rows samples horizon"] | None = None

    @property
    def truth(self) -> Float[np.ndarray, "rows horizon"]:
        """What came."""
        return self.histories.truth

    @property
    def metrics(self) -> dict[str, float]:
        """The mean weighted quantile loss and its like; see `measure`."""
        return measure(self.histories, self.quantiles, self.season, self.paths)

    def losses(self) -> Float[np.ndarray, "rows horizon"]:
        """The quantile loss of every step of every window, twice and in the mean over levels: about its CRPS."""
        q, y = torch.from_numpy(self.quantiles), torch.from_numpy(self.truth)
        return 2 * quantile_loss(q, y, torch.tensor(LEVELS, dtype=q.dtype)).mean(-1).numpy()

    def ranks(self) -> Float[np.ndarray, "rows horizon"]:
        """Where the truth lies in its forecast, from 0 to 1: even if the forecast is calibrated; NaN if missing."""
        if self.paths is not None:
            below = (self.paths < self.truth[:, None]).mean(1)
            equal = (self.paths == self.truth[:, None]).mean(1)
            found = below + equal / 2
        else:
            found = _rank_between(self.quantiles, self.truth)
        return np.where(np.isnan(self.truth), np.nan, found)

    def to_pandas(self) -> "pandas.DataFrame":
        """unique_id, the last time known (cutoff), ds, y, and a column for each level."""
        pd = need("pandas", "series", "a table of a backtest")
        table, parts = self.histories.table, []
        for row, name in enumerate(table.names):
            end, steps = len(table.values[row]), self.truth.shape[1]
            times = table.zoned_times(row, end - 1, end + steps)
            columns = {"unique_id": name, "cutoff": times[0], "ds": times[1:], "y": self.truth[row]}
            columns |= {f"{level:g}": self.quantiles[row, :, j] for j, level in enumerate(LEVELS)}
            parts.append(pd.DataFrame(columns))
        return pd.concat(parts, ignore_index=True)

    @override
    def __repr__(self) -> str:
        told = ", ".join(f"{name} {value:.4g}" for name, value in self.metrics.items())
        return f"Backtest({len(self.truth):,} windows of {self.truth.shape[1]} steps: {told})"


def _rank_between(quantiles: Quantiles, truth: Float[np.ndarray, "rows horizon"]) -> Float[np.ndarray, "rows horizon"]:
    """The level at which a truth lies, by straight lines between the quantiles."""
    found = np.empty_like(truth)
    for at in np.ndindex(*truth.shape):
        found[at] = np.interp(truth[at], quantiles[at], LEVELS, left=LEVELS[0] / 2, right=1 - LEVELS[0] / 2)
    return found


def measure(
    histories: Histories,
    quantiles: Quantiles,
    season: int = 1,
    paths: Float[np.ndarray, "rows samples horizon"] | None = None,
) -> dict[str, float]:
    """Metrics of forecasts: ``quantiles`` at `LEVELS`; CRPS too if there are sample paths."""
    if np.isnan(histories.truth).all():
        raise ValueError(
            f"forecasts are measured by what came, got only missing values in {len(histories.series):,} windows of "
            f"{histories.table.name}; measure other windows, or fill them: --missing interpolate"
        )
    levels = torch.tensor(LEVELS, dtype=torch.float64)
    q = torch.from_numpy(np.asarray(quantiles, np.float64))
    y = torch.from_numpy(np.asarray(histories.truth, np.float64))
    found = {"wql": _weighted(histories, q, y, levels)}
    found["unweighted_wql"] = _unweighted(histories, q, y, levels, found["wql"])
    if paths is not None:
        scores = crps_from_samples(torch.from_numpy(np.asarray(paths, np.float64)).transpose(0, 1), y)
        found["crps"] = scores.nanmean().item()
    else:
        found["crps"] = 2 * quantile_loss(q, y, levels).nanmean().item()
    found["mase"] = _mase(histories, np.asarray(quantiles)[..., LEVELS.index(0.5)], season)
    found["coverage_80"] = coverage(q[..., 0], q[..., -1], y).item()
    return {name: value for name, value in found.items() if not np.isnan(value)}  # no MASE where nothing ever changed


def _weighted(histories: Histories, q: torch.Tensor, y: torch.Tensor, levels: torch.Tensor) -> float:
    """The mean weighted quantile loss, of windows of zeros alone too."""
    there = ~y.isnan()
    loss = 2 * torch.where(there, quantile_loss(q, y, levels).mean(-1), 0.0).sum().item()
    size = torch.where(there, y.abs(), 0.0).sum().item()
    if size == 0:
        past = np.abs(np.concatenate([np.zeros(0), *histories.table.values]))
        size = float(np.nanmean(past)) * int(there.sum()) if np.nansum(past) > 0 else float(there.sum())
    return loss / max(size, 1e-300)


def _unweighted(
    histories: Histories, q: torch.Tensor, y: torch.Tensor, levels: torch.Tensor, otherwise: float
) -> float:
    """The mean over series of their own weighted quantile loss; series that were 0 all the time have none."""
    there = ~y.isnan()
    losses = torch.where(there, quantile_loss(q, y, levels).mean(-1), 0.0).sum(1).numpy()
    sizes = torch.where(there, y.abs(), 0.0).sum(1).numpy()
    loss, size = (np.bincount(histories.series, weights=part) for part in (losses, sizes))
    return float((2 * loss[size > 0] / size[size > 0]).mean()) if (size > 0).any() else otherwise


def _mase(histories: Histories, median: Float[np.ndarray, "rows horizon"], season: int) -> float:
    """The mean over windows of the absolute error of the median beside the seasonal naive's in the history.

    The season is 1 where a history is no longer than a season; histories that repeat themselves exactly are left out.
    """
    x = tails(histories.table.values, int(max(histories.table.lengths)))
    with np.errstate(invalid="ignore", divide="ignore"):
        scale = _mean_apart(x, season) if x.shape[1] > season else np.full(len(x), np.nan)
        scale = np.where(np.isnan(scale), _mean_apart(x, 1), scale)
        errors = mean_of_known(np.abs(histories.truth - median))
        found = errors / scale
    found = found[np.isfinite(found)]
    return float(found.mean()) if len(found) else float("nan")


def _mean_apart(x: Float[np.ndarray, "rows steps"], season: int) -> Float[np.ndarray, "rows"]:
    return mean_of_known(np.abs(x[:, season:] - x[:, :-season]))


def mean_of_known(x: Float[np.ndarray, "rows n"], axis: int = 1) -> Float[np.ndarray, "_"]:
    """The mean of the numbers of each row (or column: axis 0); NaN for one without any."""
    there = ~np.isnan(x)
    return np.where(there, x, 0.0).sum(axis) / np.where(there.any(axis), there.sum(axis), np.nan)


__all__ = ["LEVELS", "Backtest", "mean_of_known", "measure"]
