"""The targets of denoising: each follows from each other, and a level's weight of an error is what it says."""

import itertools

import pytest
import torch

from cutaway.blocks import convert_prediction, denoise, denoising_target, noise_schedule, squared_error_weight
from cutaway.blocks.generative.targets import TARGETS


def example() -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    return torch.randn(3, 2, 5, 7).double(), torch.randn(3, 2, 5, 7).double()


def test_targets_by_hand():
    x0, noise = torch.tensor([2.0]), torch.tensor([3.0])
    found = {name: denoising_target(name, x0, noise, 0.8, 0.6).item() for name in TARGETS}
    assert found == pytest.approx({"noise": 3, "image": 2, "velocity": 0.8 * 3 - 0.6 * 2, "flow": 1})


@pytest.mark.parametrize("schedule", ["linear", "cosine", "straight"])
@pytest.mark.parametrize("target", TARGETS)
def test_image_and_noise_come_back_from_any_target(schedule: str, target: str):
    x0, noise = example()
    signal, scale = (float(part[37]) for part in noise_schedule(schedule, 100))
    x_t = signal * x0 + scale * noise
    found = denoise(target, denoising_target(target, x0, noise, signal, scale), x_t, signal, scale)
    torch.testing.assert_close(found.image, x0, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(found.noise, noise, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("source", "target"), [*itertools.permutations(TARGETS, 2)])
def test_each_target_is_an_equation_of_each_other(source: str, target: str):
    """There and back again, also for a prediction that is no true target of any image."""
    prediction, x_t = example()
    there = convert_prediction(prediction, source, target, x_t, 0.75, 0.4)
    torch.testing.assert_close(convert_prediction(there, target, source, x_t, 0.75, 0.4), prediction)


def test_the_usual_formulas():
    """ε → x₀ as in DDPM's eq. 15, v → x₀ and ε as Salimans and Ho's, u → x₀ = x_t − t u."""
    y, x_t = example()
    signal, scale = 0.8, 0.6
    torch.testing.assert_close(denoise("noise", y, x_t, signal, scale).image, (x_t - scale * y) / signal)
    torch.testing.assert_close(denoise("velocity", y, x_t, signal, scale).image, signal * x_t - scale * y)
    torch.testing.assert_close(denoise("velocity", y, x_t, signal, scale).noise, scale * x_t + signal * y)
    torch.testing.assert_close(denoise("flow", y, x_t, 0.7, 0.3).image, x_t - 0.3 * y)


@pytest.mark.parametrize("target", ["velocity", "flow"])
def test_velocity_and_flow_tell_both_parts_at_the_ends(target: str):
    x0, noise = example()
    for signal, scale, x_t in ((1.0, 0.0, x0), (0.0, 1.0, noise)):
        found = denoise(target, denoising_target(target, x0, noise, signal, scale), x_t, signal, scale)
        torch.testing.assert_close(found.image, x0)
        torch.testing.assert_close(found.noise, noise)


@pytest.mark.parametrize("target", TARGETS)
def test_the_weight_of_a_targets_error(target: str):
    x_t, first = example()
    other = first + torch.randn_like(first)
    a, b = (denoise(target, y, x_t, 0.8, 0.6).image for y in (first, other))
    weight = squared_error_weight(target, 0.8, 0.6)
    torch.testing.assert_close((first - other).square().sum(), weight * (a - b).square().sum())


def test_a_level_for_each_image():
    x0, noise = example()
    shares = torch.tensor([0.9, 0.5, 0.2]).double().view(3, 1, 1, 1)
    y = denoising_target("velocity", x0, noise, shares, 1 - shares)
    x_t = shares * x0 + (1 - shares) * noise
    torch.testing.assert_close(denoise("velocity", y, x_t, shares, 1 - shares).image, x0)


@pytest.mark.untyped
def test_wrong_inputs_are_named():
    x0, noise = example()
    with pytest.raises(ValueError, match="target must be one of noise, image, velocity, flow, got 'score'"):
        denoising_target("score", x0, noise, 0.8, 0.6)
    with pytest.raises(ValueError, match=r"prediction and x_t must have one shape, got \(2, 5, 7\) and \(3, 2, 5, 7\)"):
        denoise("noise", x0[0], noise, 0.8, 0.6)
