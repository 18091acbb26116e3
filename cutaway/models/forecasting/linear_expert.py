r"""The linear expert: the least-squares line of one series on its own lags, the statistician's forecast.

    z_t = y_t / ν,  ν = mean |y|                                               the series in its own scale
    e_t = z_{t−1} + Σ_l a_l (z_{t−l} − z_{t−1}) + a₀ (z_{t−1} − z̄)             a random walk, pulled by lags and mean
    a = argmin Σ_t (z_t − e_t)² + λ ‖a‖²                                       of one series alone, in closed form

With a = 0 it is the random walk. A network that is given e_t begins where linear models end, and e_t's mean error is
the unit in which it measures everything else. Box, Jenkins 1970 (autoregression); Hoerl, Kennard 1970 (λ).
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

_SPARE = 30  # steps that a lag must leave for the fit
_RIDGE = 1e-3  # λ, in mean squared differences a step
_FITTED = 5000  # newest steps that the fit is made on: enough for a dozen coefficients


class Local(NamedTuple):
    """The constants of each series: its scale, and in that scale all that its linear expert needs."""

    scale: Float[Tensor, "*b"]  # ν
    mean: Float[Tensor, "*b"]  # z̄
    spread: Float[Tensor, "*b"]  # mean |z − z̄|
    unit: Float[Tensor, "*b"]  # mean |z_t − e_t|
    low: Float[Tensor, "*b"]
    high: Float[Tensor, "*b"]
    pull: Float[Tensor, "*b"]  # a₀
    coefficients: Float[Tensor, "*b l"]  # a_l; 0 for lag 1

    @classmethod
    def of(cls, packed: Float[Tensor, "*b p"]) -> "Local":
        """The constants of each row of a matrix (see `fit_local`)."""
        scale, mean, spread, unit, low, high, pull = packed[..., :7].unbind(-1)
        return cls(scale, mean, spread, unit, low, high, pull, packed[..., 7:])


def local_width(lags: Sequence[int]) -> int:
    """How many constants a series has."""
    return 7 + len(lags)


def fit_local(
    values: Float[Tensor, "n"], lags: Sequence[int], fitted: Sequence[int] | None = None
) -> Float[Tensor, "p"]:
    """The constants of one series, in one row; NaN values are missing. A series without any has scale 1 and z = 0.

    ``fitted`` are the lags that get a coefficient, by default all.
    """
    y = values[-_FITTED:].double()
    there = ~y.isnan()
    scale = y[there].abs().mean() if there.any() else y.new_ones(())
    scale = torch.where(scale > 0, scale, 1.0)
    z = carry_forward(y / scale)
    seen = z[there] if there.any() else z.new_zeros(1)
    mean = seen.mean()
    differences = torch.diff(z)
    step = differences.abs().mean() if len(differences) else z.new_zeros(())
    pull, coefficients, errors = _fit(z, there, mean, lags, lags if fitted is None else fitted)
    unit = errors.abs().mean() if len(errors) else step
    least = 1e-6 + 1e-4 * (step + (seen - mean).abs().mean())
    spread = (seen - mean).abs().mean().clamp(min=least)
    numbers = (scale, mean, spread, unit.clamp(min=least), seen.min(), seen.max(), pull)
    return torch.cat([torch.stack(numbers), coefficients])


def _fit(
    z: Tensor, there: Tensor, mean: Tensor, lags: Sequence[int], fitted: Sequence[int]
) -> tuple[Tensor, Tensor, Tensor]:
    """a₀, the a_l and the errors of the fit; zeros and the random walk's where the series is too short for one."""
    used = [lag for lag in fitted if 1 < lag < len(z) - _SPARE]
    coefficients = z.new_zeros(len(lags))
    start = max(used, default=1)
    if len(z) <= max(start + len(used) + 2, 8):
        return z.new_zeros(()), coefficients, torch.diff(z)[there[1:]]
    before = z[start - 1 : -1]
    columns = [z[start - lag : len(z) - lag] - before for lag in used] + [before - mean]
    x, y = torch.stack(columns, 1)[there[start:]], (z[start:] - before)[there[start:]]
    ridge = (_RIDGE * len(z) * torch.diff(z).square().mean()).clamp(min=1e-12)
    gram = x.T @ x + ridge * torch.eye(x.shape[1], dtype=x.dtype)
    a = torch.linalg.solve(gram, x.T @ y)
    for lag, value in zip(used, a[:-1], strict=True):
        coefficients[list(lags).index(lag)] = value
    return a[-1], coefficients, y - x @ a


def expert_forecast(
    lagged: Float[Tensor, "l *b"], available: Bool[Tensor, "l *b"], local: Local
) -> Float[Tensor, "*b"]:
    """e_t from the values at the lags, of which the first is lag 1; a lag from before the series began pulls nowhere.

    >>> local = Local(*torch.zeros(7), torch.tensor([0.0, 0.5]))
    >>> expert_forecast(torch.tensor([2.0, 4.0]), torch.tensor([True, True]), local)  # halfway to the other lag
    tensor(3.)
    """
    before = lagged[0]
    pulls = torch.where(available, lagged - before, 0.0) * local.coefficients.movedim(-1, 0)
    return before + pulls.sum(0) + local.pull * (before - local.mean)


def carry_forward(x: Float[Tensor, "*b n"]) -> Float[Tensor, "*b n"]:
    """Missing values (NaN) replaced by the last one before them; those before the first by the first.

    >>> carry_forward(torch.tensor([float("nan"), 1.0, float("nan"), 3.0]))
    tensor([1., 1., 1., 3.])
    """
    if not x.shape[-1]:
        return x
    places = torch.arange(x.shape[-1], device=x.device).expand(x.shape)
    last = torch.where(x.isnan(), -1, places).cummax(-1).values
    first = torch.where(x.isnan(), x.shape[-1], places).amin(-1, keepdim=True).clamp(max=x.shape[-1] - 1)
    return x.gather(-1, torch.where(last < 0, first, last)).nan_to_num(0.0)
