r"""The linear expert: the least-squares line of one series on its own lags, the statistician's forecast.

    z_t = y_t / ν,  ν = mean |y|                                               the series in its own scale
    e_t = z_{t−1} + Σ_l a_l (z_{t−l} − z_{t−1}) + a₀ (z_{t−1} − z̄)             a random walk, pulled by lags and mean
    a = argmin Σ_t (z_t − e_t)² + λ ‖a‖²                                       of one series alone, in closed form

With a = 0 it is the random walk. A network that is given e_t begins where linear models end, and e_t's mean error is
the unit in which it measures everything else. The coefficients a are of the whole history, since more of it fits them
better; the scale, the mean and the unit are of the window that the network reads (`window_constants`), so that they
do not change with how much more history there is. Box, Jenkins 1970 (autoregression); Hoerl, Kennard 1970 (λ).
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

_SPARE = 30  # steps that a lag must leave for the fit
_RIDGE = 1e-3  # λ, in mean squared differences a step
_FEW = 16  # values that show their own unit
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


class Coefficients(NamedTuple):
    """What the history of each series says of its linear expert, and between which values it lay."""

    pull: Float[Tensor, "b"]  # a₀
    lags: Float[Tensor, "b l"]  # a_l; 0 for lag 1
    low: Float[Tensor, "b"]  # in the units of the values
    high: Float[Tensor, "b"]

    def where(self, chosen: Bool[Tensor, "b"], other: "Coefficients") -> "Coefficients":
        """These where ``chosen``, and the others elsewhere."""
        pairs = zip(self, other, strict=True)
        return Coefficients(*(torch.where(chosen.view(-1, *[1] * (x.ndim - 1)), x, y) for x, y in pairs))


def fit_coefficients(
    values: Float[Tensor, "b n"], lags: Sequence[int], fitted: Sequence[int] | None = None
) -> Coefficients:
    """The least-squares coefficients of each row of values; NaN where missing, and before a series begins.

    As `fit_local` for each row, all at once: a lag must leave enough steps of its row for the fit, else it gets 0.
    """
    there = ~values.isnan()
    low = torch.where(there, values, torch.inf).amin(1)
    high = torch.where(there, values, -torch.inf).amax(1)
    none = ~there.any(1)
    low, high = low.masked_fill(none, 0.0), high.masked_fill(none, 0.0)
    z, mean, _ = _scaled_rows(values, there)
    n = z.shape[1]
    begin = n - there.cummax(1).values.sum(1)
    used = _used_lags(n - begin, lags, lags if fitted is None else fitted)
    reach = (used * torch.tensor(lags)).amax(1).clamp(min=1)
    count = used.sum(1)
    most = int(reach.max()) if len(reach) else 1
    if n <= most:
        return Coefficients(low.new_zeros(len(low)), low.new_zeros(len(low), len(lags)), low, high)
    before = z[:, most - 1 : -1]
    columns = [
        (z[:, most - lag : n - lag] - before) * used[:, j, None] if lag <= most else torch.zeros_like(before)
        for j, lag in enumerate(lags)
    ]
    x = torch.stack([*columns, before - mean[:, None]], 2)
    counts = there[:, most:] & (torch.arange(most, n) >= (begin + reach)[:, None])
    x = x * counts[..., None]
    y = torch.where(counts, z[:, most:] - before, 0.0)
    steps = torch.where(torch.arange(1, n) > begin[:, None], torch.diff(z), 0.0)
    squares = steps.square().sum(1) / (n - begin - 1).clamp(min=1)
    ridge = (_RIDGE * (n - begin) * squares).clamp(min=1e-12)
    gram = x.mT @ x + ridge[:, None, None] * torch.eye(x.shape[2], dtype=x.dtype)
    a = torch.linalg.solve(gram, (x.mT @ y[..., None]))[..., 0]
    enough = n - begin > torch.maximum(reach + count + 2, torch.tensor(8))
    a = torch.where(enough[:, None], a, 0.0)
    return Coefficients(a[:, -1], a[:, :-1] * used, low, high)


def window_constants(
    values: Float[Tensor, "b n"], lags: Sequence[int], known: Coefficients, typical: float = 0.0
) -> Float[Tensor, "b p"]:
    """The constants of each series (see `Local`), from the window of values that a network reads before it forecasts.

    ``known`` are the expert's coefficients, of this window or of more history. A few values do not show how far the
    next ones lie from them: their unit and spread are partly the ``typical`` unit.
    """
    there = ~values.isnan()
    begun = there.cummax(1).values
    z, mean, scale = _scaled_rows(values, there)
    n, most = z.shape[1], max(lags)
    seen = there & begun
    count = seen.sum(1).clamp(min=1)
    spread = torch.where(seen, (z - mean[:, None]).abs(), 0.0).sum(1) / count
    moved = begun[:, :-1]
    step = torch.where(moved, torch.diff(z).abs(), 0.0).sum(1) / moved.sum(1).clamp(min=1)
    padded = torch.nn.functional.pad(z, (most, 0))
    began = torch.nn.functional.pad(begun, (most, 0))
    lagged, available = (torch.stack([x[:, most - lag : most - lag + n] for lag in lags]) for x in (padded, began))
    local = Local(scale, mean, scale, scale, scale, scale, known.pull, known.lags)
    rows = Local(*(part[:, None] for part in local))
    errors = (z - expert_forecast(lagged, available, rows)).abs()
    needed = available | (known.lags.T[:, :, None] == 0)
    whole = there & available[0] & needed.all(0)
    whole = torch.where(whole.any(1, keepdim=True), whole, there & available[0])
    unit = torch.where(whole, errors, 0.0).sum(1) / whole.sum(1).clamp(min=1)
    unit = torch.where(whole.any(1), unit, step)
    if typical:
        share = (seen.sum(1) / _FEW).clamp(max=1.0)
        unit, spread = (share * x + (1 - share) * x.clamp(min=typical) for x in (unit, spread))
    least = 1e-6 + 1e-4 * (step + spread)
    numbers = (scale, mean, spread.maximum(least), unit.maximum(least), known.low / scale, known.high / scale)
    return torch.cat([torch.stack([*numbers, known.pull], 1), known.lags], 1)


def _scaled_rows(values: Tensor, there: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """z, its mean and the scale of each row."""
    count = there.sum(1).clamp(min=1)
    scale = torch.where(there, values.abs(), 0.0).sum(1) / count
    scale = torch.where(scale > 0, scale, 1.0)
    z = carry_forward(values / scale[:, None])
    return z, torch.where(there, z, 0.0).sum(1) / count, scale


def _used_lags(lengths: Tensor, lags: Sequence[int], fitted: Sequence[int]) -> Tensor:
    """Which lags have a coefficient, for each row."""
    chosen = torch.tensor([lag > 1 and lag in fitted for lag in lags])
    return chosen & (torch.tensor(lags) < lengths[:, None] - _SPARE)


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
