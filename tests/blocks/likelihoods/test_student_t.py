"""Student's t against torch.distributions and scipy, its Gaussian limit, and Bailey's sampling."""

import pytest
import torch
from scipy import stats

from cutaway.blocks.likelihoods.gaussian import gaussian_log_density
from cutaway.blocks.likelihoods.student_t import StudentT, student_t_log_density


def example() -> tuple[torch.Tensor, ...]:
    torch.manual_seed(0)
    return (
        3 * torch.randn(5, 7).double(),
        torch.randn(5, 7).double(),
        torch.rand(5, 7).double() + 0.1,
        10 * torch.rand(5, 7).double() + 0.5,
    )


def test_density_is_that_of_torch():
    y, location, scale, freedom = example()
    peer = torch.distributions.StudentT(freedom, location, scale)
    torch.testing.assert_close(student_t_log_density(y, location, scale, freedom), peer.log_prob(y))


def test_cdf_is_that_of_scipy():
    y, location, scale, freedom = example()
    peer = stats.t.cdf(y.numpy(), freedom.numpy(), location.numpy(), scale.numpy())
    torch.testing.assert_close(StudentT(location, scale, freedom).cdf(y), torch.from_numpy(peer), atol=1e-10, rtol=0)


def test_many_degrees_of_freedom_are_a_gaussian():
    y, location, scale, _ = example()
    found = student_t_log_density(y, location, scale, torch.full_like(y, 1e7))
    torch.testing.assert_close(found, gaussian_log_density(y, location, scale), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("freedom", [2.5, 4.0, 1e6])
def test_samples_have_the_distribution_of_the_density(freedom: float):
    one = torch.ones(100_000).double()
    drawn = StudentT(one, 2 * one, freedom * one).sample(torch.Generator().manual_seed(0))
    assert stats.kstest(drawn.numpy(), stats.t(freedom, 1, 2).cdf).pvalue > 0.01


def test_a_generator_gives_the_same_samples_again():
    found = StudentT(torch.zeros(9), torch.ones(9), 3 * torch.ones(9))
    draws = [found.sample(torch.Generator().manual_seed(seed)) for seed in (1, 1, 2)]
    assert torch.equal(draws[0], draws[1])
    assert not torch.equal(draws[0], draws[2])


def test_unconstrained_outputs_have_a_finite_variance():
    found = StudentT.from_unconstrained(torch.tensor([[0.5, 0.0, -100.0]]))
    assert found.freedom.item() >= 2
    assert found.mean.item() == 0.5


@pytest.mark.untyped
def test_outputs_of_another_width_are_named():
    with pytest.raises(ValueError, match=r"the last axis of raw must have width 3, got shape \(2,\)"):
        StudentT.from_unconstrained(torch.zeros(2))


def test_scaling_and_gradients():
    y, location, scale, freedom = example()
    factor = torch.tensor(5.0).double()
    small = StudentT(location, scale, freedom)
    torch.testing.assert_close(small.scaled(factor).log_density(5 * y), small.log_density(y) - factor.log())
    assert torch.autograd.gradcheck(student_t_log_density, tuple(x.requires_grad_() for x in example()))
