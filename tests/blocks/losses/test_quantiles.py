"""Losses of probabilistic forecasts: by hand, against independent code, and their laws."""

import numpy as np
import pytest
import sklearn.metrics
import torch
from scipy import integrate, stats

from cutaway.blocks import (
    coverage,
    crps_from_quantiles,
    crps_from_samples,
    mase,
    quantile_loss,
    weighted_quantile_loss,
)

nan = float("nan")


def test_quantile_loss_same_as_scikit_learn(float64):
    y, x, levels = torch.randn(53), torch.randn(53, 3), torch.tensor([0.1, 0.5, 0.9])
    got = quantile_loss(x, y, levels).mean(0)
    for j, level in enumerate(levels.tolist()):
        assert got[j].item() == pytest.approx(sklearn.metrics.mean_pinball_loss(y, x[:, j], alpha=level), rel=1e-12)


def test_the_quantile_has_the_least_quantile_loss(float64):
    y = torch.randn(4001)
    grid = torch.linspace(-2, 2, 401)
    for level in (0.1, 0.5, 0.8):
        losses = quantile_loss(grid[:, None].expand(-1, len(y)).unsqueeze(-1), y.expand(401, -1), torch.tensor([level]))
        assert grid[losses.mean((1, 2)).argmin()].item() == pytest.approx(y.quantile(level).item(), abs=0.02)


def test_weighted_quantile_loss_worked_by_hand(float64):
    # ρ: 0.9 · 1 and 0.1 · 2; Σ|y| = 3 + 4
    got = weighted_quantile_loss(torch.tensor([[2.0], [6.0]]), torch.tensor([3.0, 4.0]), torch.tensor([0.9]))
    assert got.tolist() == pytest.approx([2 * (0.9 + 0.2) / 7])
    with_gap = weighted_quantile_loss(
        torch.tensor([[2.0], [6.0], [9.0]]), torch.tensor([3.0, 4.0, nan]), torch.tensor([0.9])
    )
    assert with_gap.tolist() == pytest.approx(got.tolist())


def test_crps_of_samples_is_the_integral(float64):
    x, y = torch.randn(7), torch.tensor(0.3)

    def gap(z: float) -> float:
        return float(((x <= z).double().mean() - float(y <= z)) ** 2)

    expected = integrate.quad(gap, -4, 4, points=sorted([*x.tolist(), 0.3]), limit=200)[0]
    assert crps_from_samples(x, y).item() == pytest.approx(expected, rel=1e-6)


def test_crps_of_samples_is_the_mean_of_distances(float64):
    x, y = torch.randn(11, 2, 3), torch.randn(2, 3)
    expected = (x - y).abs().mean(0) - (x[:, None] - x[None]).abs().mean((0, 1)) / 2
    torch.testing.assert_close(crps_from_samples(x, y), expected)


def test_crps_from_quantiles_tends_to_that_of_the_gaussian(float64):
    y = torch.tensor([-1.3, 0.0, 2.1])
    z = y.numpy()
    closed = z * (2 * stats.norm.cdf(z) - 1) + 2 * stats.norm.pdf(z) - 1 / np.sqrt(np.pi)
    levels = (torch.arange(2000) + 0.5) / 2000
    quantiles = torch.from_numpy(stats.norm.ppf(levels.numpy())).expand(3, -1)
    np.testing.assert_allclose(crps_from_quantiles(quantiles, y, levels), closed, rtol=2e-4)
    samples = torch.from_numpy(stats.norm.ppf(levels.numpy()))[:, None].expand(-1, 3)
    np.testing.assert_allclose(crps_from_samples(samples, y), closed, atol=1e-3)


def test_mase_worked_by_hand():
    history = torch.tensor([1.0, 5.0, 2.0, 7.0])  # season 2: |2 − 1|, |7 − 5|
    got = mase(torch.tensor([2.0, 7.0]), torch.tensor([5.0, nan]), history, season=2)
    assert got.item() == pytest.approx(3 / 1.5)
    with pytest.raises(ValueError, match="got season=4 for 4 values; try season=1"):
        mase(torch.zeros(1), torch.zeros(1), history, season=4)


def test_coverage_leaves_missing_targets_out():
    got = coverage(torch.zeros(3), torch.ones(3), torch.tensor([0.5, nan, 3.0]))
    assert got.item() == 0.5


def test_losses_have_gradients(float64):
    y, x, levels = torch.randn(3), torch.randn(3, 2, requires_grad=True), torch.tensor([0.1, 0.9])
    assert torch.autograd.gradcheck(lambda x: quantile_loss(x, y, levels), x)
    assert torch.autograd.gradcheck(lambda x: weighted_quantile_loss(x, y, levels), x)
    samples = torch.randn(5, 3, requires_grad=True)
    assert torch.autograd.gradcheck(lambda s: crps_from_samples(s, y), samples)


def test_bad_levels_and_samples_are_refused():
    with pytest.raises(ValueError, match=r"levels must be numbers between 0 and 1 on one axis, got the shape \(0,\)"):
        quantile_loss(torch.zeros(3, 0), torch.zeros(3), torch.zeros(0))
    with pytest.raises(ValueError, match="CRPS needs at least one sample, got none"):
        crps_from_samples(torch.zeros(0, 3), torch.zeros(3))
