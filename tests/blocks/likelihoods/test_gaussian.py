"""The Gaussian likelihood against torch.distributions, and what its scaling means."""

import pytest
import torch

from cutaway.blocks.likelihoods.gaussian import Gaussian, gaussian_log_density


def example() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    return torch.randn(5, 7).double(), torch.randn(5, 7).double(), torch.rand(5, 7).double() + 0.1


def test_density_and_cdf_are_those_of_torch():
    y, location, scale = example()
    peer = torch.distributions.Normal(location, scale)
    torch.testing.assert_close(gaussian_log_density(y, location, scale), peer.log_prob(y))
    torch.testing.assert_close(Gaussian(location, scale).cdf(y), peer.cdf(y))


def test_scaling_moves_the_density_by_the_log_of_the_factor():
    y, location, scale = example()
    small, factor = Gaussian(location, scale), torch.tensor(3.0).double()
    torch.testing.assert_close(small.scaled(factor).log_density(y * 3), small.log_density(y) - factor.log())


def test_samples_have_the_mean_and_spread_of_the_parameters():
    one = torch.ones(200_000).double()
    drawn = Gaussian(2 * one, 3 * one).sample(torch.Generator().manual_seed(0))
    assert drawn.mean().item() == pytest.approx(2, abs=0.03)
    assert drawn.std().item() == pytest.approx(3, abs=0.03)


def test_unconstrained_outputs_give_a_positive_scale():
    found = Gaussian.from_unconstrained(torch.tensor([[-1.0, 0.0], [1.0, -50.0]]))
    assert found.location.tolist() == [-1.0, 1.0]
    torch.testing.assert_close(found.scale[0], torch.tensor(2.0).log())
    assert found.scale[1] > 0
    assert found.mean is found.location


def test_gradients():
    y, location, scale = (x.requires_grad_() for x in example())
    assert torch.autograd.gradcheck(gaussian_log_density, (y, location, scale))


@pytest.mark.untyped
def test_wrong_inputs_are_named():
    with pytest.raises(ValueError, match=r"y must be a float tensor, got torch.int64; convert it with y.float\(\)"):
        gaussian_log_density(torch.tensor([1]), torch.zeros(1), torch.ones(1))
    with pytest.raises(ValueError, match=r"the last axis of raw must have width 2, got shape \(4, 3\)"):
        Gaussian.from_unconstrained(torch.zeros(4, 3))
