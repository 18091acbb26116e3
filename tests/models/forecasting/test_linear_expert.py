"""The linear expert: it finds an autoregression, it is the random walk without one, and constants of odd series."""

import pytest
import torch

from cutaway.models.forecasting.linear_expert import Local, carry_forward, expert_forecast, fit_local, local_width

LAGS = (1, 2, 4)


def autoregression(steps: int = 3000) -> torch.Tensor:
    """y_t = 0.5 y_{t−1} + 0.3 y_{t−4} + 2 + noise, in float64."""
    noise = torch.randn(steps, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    y = torch.full((steps,), 10.0, dtype=torch.float64)
    for t in range(4, steps):
        y[t] = 0.5 * y[t - 1] + 0.3 * y[t - 4] + 2 + 0.1 * noise[t]
    return y


def test_it_finds_the_autoregression_that_made_a_series():
    y = autoregression()
    local = Local.of(fit_local(y, LAGS))
    assert local.coefficients[0] == 0
    assert local.coefficients[2].item() == pytest.approx(0.3, abs=0.05)
    # the coefficient of lag 1: 1 − Σ a_l + a₀
    assert (1 - local.coefficients.sum() + local.pull).item() == pytest.approx(0.5, abs=0.05)
    assert (local.unit * local.scale).item() == pytest.approx(0.1 * (2 / torch.pi) ** 0.5, rel=0.05)


def test_its_errors_are_those_of_least_squares():
    y = autoregression(200)
    local = Local.of(fit_local(y, LAGS))
    z = y / y.abs().mean()
    before = z[3:-1]
    columns = torch.stack([z[2:-2] - before, z[:-4] - before, before - z.mean()], 1)
    a = torch.linalg.lstsq(columns, z[4:] - before).solution
    torch.testing.assert_close(torch.stack([*local.coefficients[1:], local.pull]), a, atol=0.02, rtol=0.02)


def test_without_coefficients_it_is_a_random_walk():
    local = Local.of(fit_local(torch.tensor([1.0, 3.0, 2.0]), LAGS))
    assert local.coefficients.abs().sum() == 0
    lagged = torch.tensor([5.0, 1.0, 2.0]).double()
    assert expert_forecast(lagged, torch.ones(3, dtype=torch.bool), local).item() == pytest.approx(5.0)


def test_a_lag_from_before_the_beginning_pulls_nowhere():
    local = Local(*torch.zeros(7), torch.tensor([0.0, 0.5, 0.5]))
    lagged = torch.tensor([1.0, 3.0, 100.0])
    assert expert_forecast(lagged, torch.tensor([True, True, False]), local).item() == 2.0


@pytest.mark.parametrize("values", [[], [5.0], [0.0] * 50, [float("nan")] * 20, [7.0] * 60, [1.0, float("nan")] * 40])
def test_constants_of_odd_series_are_finite_and_above_zero(values: list[float]):
    found = fit_local(torch.tensor(values, dtype=torch.float64), LAGS)
    assert found.shape == (local_width(LAGS),)
    assert found.isfinite().all()
    local = Local.of(found)
    assert local.scale > 0
    assert local.unit > 0
    assert local.spread > 0


def test_missing_values_are_carried_forward():
    nan = float("nan")
    rows = torch.tensor([[nan, 2.0, nan, nan, 5.0], [nan] * 5])
    assert carry_forward(rows).tolist() == [[2.0, 2.0, 2.0, 2.0, 5.0], [0.0] * 5]


def test_only_some_lags_are_fitted():
    few = Local.of(fit_local(autoregression(400), LAGS, fitted=(1, 4)))
    assert few.coefficients[1] == 0
    assert few.coefficients[2].item() == pytest.approx(0.3, abs=0.1)
