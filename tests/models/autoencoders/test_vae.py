"""The VAE: likelihoods of torch.distributions, bounds in their order, and a model whose log p(x) is known."""

import math

import pytest
import torch

from cutaway.models import VAE, VAESpec, Varied


def test_likelihoods_are_those_of_torch():
    torch.manual_seed(0)
    x, output = torch.rand(3, 1, 4, 5).double(), torch.randn(3, 1, 4, 5).double()
    bernoulli = VAE(image=(4, 5), width=4).double()
    peer = torch.distributions.Bernoulli(logits=output)
    torch.testing.assert_close(bernoulli.log_likelihood(x.round(), output), peer.log_prob(x.round()).sum((1, 2, 3)))
    gaussian = VAE(image=(4, 5), width=4, likelihood="gaussian").double()
    peer = torch.distributions.Normal(output, math.exp(-1))
    torch.testing.assert_close(gaussian.log_likelihood(x, output), peer.log_prob(x).sum((1, 2, 3)))


def linear_gaussian() -> tuple[VAE, torch.Tensor]:
    """x = W z + b + τ noise: the one VAE whose log p(x) has a closed form."""
    torch.manual_seed(0)
    model = VAE(image=(1, 3), design="linear", latents=2, likelihood="gaussian").double()
    torch.nn.init.constant_(model.latent.to_log_scale.bias, 1.3)  # wide enough to meet the true codes
    return model, torch.rand(4, 1, 1, 3).double()


def test_the_importance_bound_comes_to_the_evidence():
    """With many draws it is log p(x) of probabilistic PCA, N(b, W Wᵀ + τ²)."""
    model, x = linear_gaussian()
    W, b = model.decoder.out.weight.detach(), model.decoder.out.bias.detach()
    tau = model.log_pixel_scale.detach().exp()
    exact = torch.distributions.MultivariateNormal(b, W.T @ W + tau**2 * torch.eye(3)).log_prob(x.flatten(1))
    found = model.importance_bound(x, 20_000, torch.Generator().manual_seed(0)).detach()
    torch.testing.assert_close(found, exact, atol=0.05, rtol=0)


def test_bounds_are_in_their_order():
    model, x = linear_gaussian()
    generator = torch.Generator().manual_seed(0)
    many = x.repeat(2000, 1, 1, 1)
    likelihood, kl = model.elbo_parts(many, generator)
    elbo = (likelihood - kl).view(2000, 4).mean(0)
    one = model.importance_bound(many, 1, generator).view(2000, 4).mean(0)
    ten = model.importance_bound(many, 10, generator).view(2000, 4).mean(0)
    torch.testing.assert_close(elbo, one, atol=0.7, rtol=0)  # one draw is the ELBO, but for chance
    assert (ten > elbo).all()


def test_what_comes_back():
    torch.manual_seed(0)
    model = VAE(image=(6, 5), channels=3, design="conv", width=4, latents=3)
    x = torch.rand(2, 3, 6, 5)
    found = model(x, torch.Generator().manual_seed(1))
    assert isinstance(found, Varied)
    assert found.output.shape == x.shape
    assert found.z.shape == found.mean.shape == found.log_scale.shape == (2, 3)
    torch.testing.assert_close(model.encode(x), found.mean)
    torch.testing.assert_close(model.decode(found.z), found.output.sigmoid())


def test_samples_are_images_and_follow_their_generator():
    model = VAE(image=(6, 5), width=4, likelihood="gaussian")
    images = [model.sample(4, torch.Generator().manual_seed(seed)) for seed in (1, 1, 2)]
    assert images[0].shape == (4, 1, 6, 5)
    assert images[0].min() >= 0
    assert images[0].max() <= 1
    assert torch.equal(images[0], images[1])
    assert not torch.equal(images[0], images[2])


@pytest.mark.untyped
def test_wrong_inputs_are_named():
    with pytest.raises(ValueError, match="likelihood must be one of bernoulli, gaussian, got 'poisson'"):
        VAESpec(image=(4, 4), likelihood="poisson")
    with pytest.raises(ValueError, match="draws must be above 0, got 0"):
        VAE(image=(4, 4), width=4).importance_bound(torch.rand(1, 1, 4, 4), 0)
