"""The Gaussian latent code against torch.distributions, and draws that gradients pass through."""

import pytest
import torch

from cutaway.blocks import GaussianLatent, kl_to_standard_normal, reparameterise


def test_the_divergence_worked_by_hand():
    """μ = 1, σ = 2: ½ (1 + 4 − log 4 − 1)."""
    found = kl_to_standard_normal(torch.tensor([1.0]), torch.tensor([2.0]).log())
    assert found.item() == pytest.approx(0.5 * (4 - 1.3862943611))
    assert kl_to_standard_normal(torch.zeros(3), torch.zeros(3)).item() == 0.0


def test_the_divergence_is_that_of_torch():
    torch.manual_seed(0)
    mean, log_scale = torch.randn(5, 3).double(), torch.randn(5, 3).double()
    peer = torch.distributions.kl_divergence(
        torch.distributions.Normal(mean, log_scale.exp()), torch.distributions.Normal(0.0, 1.0)
    ).sum(-1)
    torch.testing.assert_close(kl_to_standard_normal(mean, log_scale), peer)


def test_a_draw_has_the_mean_and_the_spread_of_its_distribution():
    torch.manual_seed(0)
    mean, scale = torch.full((100_000, 1), 3.0), torch.full((100_000, 1), 0.5)
    z = reparameterise(mean, scale.log(), torch.randn(100_000, 1))
    assert z.mean().item() == pytest.approx(3, abs=0.01)
    assert z.std().item() == pytest.approx(0.5, abs=0.01)


def test_gradients_pass_through_the_draw():
    """∂z/∂μ = 1 and ∂z/∂log σ = σ ε."""
    mean, log_scale = torch.zeros(2, requires_grad=True), torch.tensor([0.0, 1.0], requires_grad=True)
    noise = torch.tensor([2.0, -3.0])
    reparameterise(mean, log_scale, noise).sum().backward()
    torch.testing.assert_close(mean.grad, torch.ones(2))
    torch.testing.assert_close(log_scale.grad, log_scale.detach().exp() * noise)


def test_noise_has_the_shape_of_the_code():
    """One number for all entries would make codes lie on a line (N4's slip)."""
    latent = GaussianLatent(7, 5)
    z, mean, log_scale = latent(torch.randn(3, 7))
    noise = (z - mean) / log_scale.exp()
    assert noise.flatten().unique().numel() == 15


def test_a_generator_makes_one_code_in_both_precisions():
    torch.manual_seed(0)
    latent, x = GaussianLatent(7, 5), torch.randn(3, 7)
    single = latent(x, torch.Generator().manual_seed(3)).z
    double = latent.double()(x.double(), torch.Generator().manual_seed(3)).z
    torch.testing.assert_close(single.double(), double, rtol=1e-5, atol=1e-5)


def test_one_scale_for_all_is_one_scale_for_all():
    latent = GaussianLatent(7, 5, shared_scale=True, start=-1.0)
    _, _, log_scale = latent(torch.randn(3, 7))
    torch.testing.assert_close(log_scale, torch.full((3, 5), -1.0))
    assert [name for name, _ in latent.named_parameters()] == ["shared_log_scale", "to_mean.weight", "to_mean.bias"]


def test_spreads_stay_in_range():
    latent = GaussianLatent(1, 1)
    torch.nn.init.constant_(latent.to_log_scale.weight, 1e3)
    z, _, log_scale = latent(torch.tensor([[1.0], [-1.0]]))
    assert log_scale.flatten().tolist() == [10.0, -10.0]
    assert z.isfinite().all()


@pytest.mark.untyped
def test_wrong_inputs_are_named():
    with pytest.raises(ValueError, match=r"noise and mean must have one shape, got \(\) and \(2,\)"):
        reparameterise(torch.zeros(2), torch.zeros(2), torch.tensor(0.5))
    with pytest.raises(ValueError, match=r"the last axis of x must have width 7, got shape \(3, 6\)"):
        GaussianLatent(7, 5)(torch.zeros(3, 6))
    with pytest.raises(ValueError, match="latents must be above 0, got 0"):
        GaussianLatent(7, 0)
