"""Steps of samplers: the posterior by Bayes' rule, what deterministic steps keep, and numbers of another library."""

from itertools import pairwise

import pytest
import torch

from cutaway.blocks import Level, ddim_step, ddpm_posterior, ddpm_step, denoise, euler_step, noise_schedule


def level(schedule: str, t: int, levels: int = 1000) -> Level:
    signal, noise = noise_schedule(schedule, levels)
    return Level(float(signal[t]), float(noise[t]))


def test_the_posterior_of_neighbours_is_that_of_the_paper():
    """DDPM's eq. 7: m = √ᾱ_{t−1} β_t / (1 − ᾱ_t) x₀ + √α_t (1 − ᾱ_{t−1}) / (1 − ᾱ_t) x_t, and β̃_t."""
    torch.manual_seed(0)
    x_t, x0 = torch.randn(5).double(), torch.randn(5).double()
    now, then = level("linear", 500), level("linear", 499)
    before, after = then.signal**2, now.signal**2
    beta = 1 - after / before
    mean = before**0.5 * beta / (1 - after) * x0 + (1 - beta) ** 0.5 * (1 - before) / (1 - after) * x_t
    found, variance = ddpm_posterior(x_t, x0, now, then)
    torch.testing.assert_close(found, mean, rtol=1e-5, atol=1e-6)
    assert variance == pytest.approx((1 - before) / (1 - after) * beta, rel=1e-3)


@pytest.mark.parametrize("schedule", ["cosine", "straight"])
def test_the_posterior_of_any_two_levels_is_bayes_rule(schedule: str):
    """x_s ~ N(α_s x₀, σ_s²) and x_t | x_s ~ N(ratio x_s, between): precisions add."""
    now, then, x_t, x0 = level(schedule, 700), level(schedule, 300), 0.3, -1.2
    ratio = now.signal / then.signal
    between = now.noise**2 - ratio**2 * then.noise**2
    precision = 1 / then.noise**2 + ratio**2 / between
    mean = (then.signal * x0 / then.noise**2 + ratio * x_t / between) / precision
    found, variance = ddpm_posterior(torch.tensor([x_t]), torch.tensor([x0]), now, then)
    assert found.item() == pytest.approx(mean, rel=1e-5)
    assert variance == pytest.approx(1 / precision, rel=1e-5)


def test_draws_by_posteriors_keep_the_distribution_of_every_level():
    """A known image: after two jumps x_s has the mean α_s x₀ and the spread σ_s."""
    torch.manual_seed(0)
    x0 = torch.full((200_000,), 2.0)
    stops = [level("cosine", t) for t in (900, 500, 200)]
    x = stops[0].signal * x0 + stops[0].noise * torch.randn_like(x0)
    for now, then in pairwise(stops):
        x = ddpm_step(x, x0, now, then, torch.randn_like(x))
    assert x.mean().item() == pytest.approx(stops[-1].signal * 2, abs=0.01)
    assert x.std().item() == pytest.approx(stops[-1].noise, abs=0.01)


def test_deterministic_steps_come_to_the_image_that_is_predicted():
    torch.manual_seed(0)
    x0, noise = torch.randn(7).double(), torch.randn(7).double()
    now, then, end = level("linear", 800), level("linear", 300), level("linear", 0)
    x = now.signal * x0 + now.noise * noise
    for here, next_level in ((now, then), (then, end)):
        image, epsilon = denoise("noise", noise, x, here.signal, here.noise)
        x = ddim_step(image, epsilon, next_level)
    torch.testing.assert_close(x, x0)


def test_on_the_straight_path_euler_and_ddim_are_one():
    torch.manual_seed(0)
    x_t, flow = torch.randn(7).double(), torch.randn(7).double()
    now, then = Level(0.25, 0.75), Level(0.5, 0.5)
    image, noise = denoise("flow", flow, x_t, now.signal, now.noise)
    torch.testing.assert_close(euler_step(x_t, flow, now, then), ddim_step(image, noise, then))


def test_the_last_step_is_the_image():
    torch.manual_seed(0)
    x_t, image, noise = torch.randn(3, 5)
    end = level("cosine", 0)
    torch.testing.assert_close(ddpm_step(x_t, image, level("cosine", 40), end, noise), image)
    torch.testing.assert_close(ddim_step(image, noise, end), image)


@pytest.mark.untyped
def test_wrong_inputs_are_named():
    with pytest.raises(ValueError, match=r"noise and image must have one shape, got \(2,\) and \(3,\)"):
        ddim_step(torch.zeros(3), torch.zeros(2), Level(0.8, 0.6))
    with pytest.raises(ValueError, match=r"flow and x_t must have one shape, got \(2,\) and \(3,\)"):
        euler_step(torch.zeros(3), torch.zeros(2), Level(0.8, 0.2), Level(1.0, 0.0))
