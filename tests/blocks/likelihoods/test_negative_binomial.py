"""The negative binomial against scipy, its Poisson limit in single precision, and its samples."""

import numpy as np
import pytest
import torch
from scipy import stats

from cutaway.blocks.likelihoods.negative_binomial import NegativeBinomial, negative_binomial_log_density


def example() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    counts = torch.randint(0, 30, (5, 7)).double()
    return counts, 20 * torch.rand(5, 7).double() + 0.1, 3 * torch.rand(5, 7).double() + 0.01


def peer(mean: torch.Tensor, dispersion: torch.Tensor) -> object:
    n = 1 / dispersion.numpy()
    return stats.nbinom(n, n / (n + mean.numpy()))


def test_density_and_cdf_are_those_of_scipy():
    counts, mean, dispersion = example()
    known = peer(mean, dispersion)
    found = NegativeBinomial(mean, dispersion)
    torch.testing.assert_close(found.log_density(counts), torch.from_numpy(known.logpmf(counts.numpy())))
    torch.testing.assert_close(found.cdf(counts), torch.from_numpy(known.cdf(counts.numpy())), atol=1e-10, rtol=0)
    assert found.cdf(torch.full_like(counts, -1.0)).eq(0).all()


def test_probabilities_add_up_to_one():
    counts = torch.arange(2000).double()
    total = negative_binomial_log_density(counts, torch.full_like(counts, 5.0), torch.full_like(counts, 0.7)).exp()
    assert total.sum().item() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("dispersion", [1e-6, 1e-5, 9e-5, 1.1e-4])
def test_little_dispersion_is_a_poisson_in_single_precision(dispersion: float):
    counts = torch.tensor([0.0, 1.0, 7.0, 40.0])
    found = negative_binomial_log_density(counts, torch.full((4,), 9.0), torch.full((4,), dispersion))
    known = stats.nbinom(1 / dispersion, 1 / (1 + 9 * dispersion)).logpmf(counts.numpy())
    np.testing.assert_allclose(found.numpy(), known, rtol=1e-3, atol=2e-2)


def test_samples_have_the_mean_and_variance_of_the_parameters():
    one = torch.ones(200_000).double()
    drawn = NegativeBinomial(4 * one, 0.5 * one).sample(torch.Generator().manual_seed(0))
    assert drawn.mean().item() == pytest.approx(4, abs=0.05)
    assert drawn.var().item() == pytest.approx(4 + 0.5 * 16, rel=0.02)
    assert drawn.eq(drawn.round()).all()


def test_scaling_is_that_of_deepar():
    found = NegativeBinomial(torch.tensor(2.0), torch.tensor(0.6)).scaled(torch.tensor(9.0))
    assert found.mean.item() == pytest.approx(18)
    assert found.dispersion.item() == pytest.approx(0.2)


def test_unconstrained_outputs_and_gradients():
    raw = torch.tensor([[0.0, -30.0]], dtype=torch.float64, requires_grad=True)
    found = NegativeBinomial.from_unconstrained(raw)
    assert found.mean.item() == pytest.approx(np.log(2))
    found.log_density(torch.tensor([3.0]).double()).sum().backward()
    assert raw.grad.isfinite().all()
    counts, mean, dispersion = example()
    density = lambda m, a: negative_binomial_log_density(counts, m, a)
    assert torch.autograd.gradcheck(density, (mean.requires_grad_(), dispersion.requires_grad_()))


@pytest.mark.untyped
def test_whole_number_tensors_are_named():
    with pytest.raises(ValueError, match=r"counts must be a float tensor, got torch.int64"):
        negative_binomial_log_density(torch.tensor([1]), torch.ones(1), torch.ones(1))
