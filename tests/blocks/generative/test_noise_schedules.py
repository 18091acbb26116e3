"""Noise schedules: their papers' numbers, their ends, and what is kept between."""

import math

import pytest
import torch

from cutaway.blocks import NoiseSchedule, cosine_betas, from_betas, linear_betas, noise_schedule, straight_path

NAMES = ("linear", "cosine", "straight")


def test_linear_by_hand():
    """Three levels of variances 0.1, 0.2, 0.3 leave 0.9, 0.72 and 0.504 of the variance of the image."""
    schedule = from_betas(torch.tensor([0.1, 0.2, 0.3]).double())
    torch.testing.assert_close(schedule.signal.square(), torch.tensor([1, 0.9, 0.72, 0.504]).double())
    torch.testing.assert_close(schedule.noise.square(), torch.tensor([0, 0.1, 0.28, 0.496]).double())


def test_linear_of_a_thousand_levels_is_that_of_the_paper():
    betas = linear_betas()
    torch.testing.assert_close(betas, torch.linspace(1e-4, 0.02, 1000))
    left = math.prod(1 - beta for beta in betas.double().tolist())
    schedule = noise_schedule("linear")
    assert schedule.signal[-1].item() ** 2 == pytest.approx(left, rel=1e-4)
    assert left == pytest.approx(4.04e-5, rel=0.01)


def test_cosine_is_the_square_of_a_cosine_until_it_is_clipped():
    schedule = noise_schedule("cosine", 1000)
    t = torch.arange(1000).double() / 1000  # all levels but the last, which is clipped
    f = torch.cos(math.pi / 2 * (t + 0.008) / 1.008).square()
    torch.testing.assert_close(schedule.signal[:-1].double().square(), f / f[0], rtol=1e-3, atol=1e-6)
    assert cosine_betas(1000)[-1] == pytest.approx(0.999)


@pytest.mark.parametrize("name", NAMES)
def test_an_image_fades_from_whole_to_noise(name: str):
    schedule = noise_schedule(name, 50)
    assert schedule.levels == 50
    assert (schedule.signal[0].item(), schedule.noise[0].item()) == (1.0, 0.0)
    assert (schedule.signal.diff() < 0).all()
    assert (schedule.noise.diff() >= 0).all()
    assert schedule.signal[-1] < 0.08
    assert schedule.snr()[0] == math.inf
    assert (schedule.snr().diff()[1:] < 0).all()


@pytest.mark.parametrize("name", NAMES)
def test_variances_or_shares_add_up_to_one(name: str):
    signal, noise = noise_schedule(name, 100)
    both = signal + noise if name == "straight" else signal**2 + noise**2
    torch.testing.assert_close(both, torch.ones(101))


def test_noise_is_added_at_a_level_for_each_image():
    schedule = straight_path(4)
    x0, noise = torch.ones(3, 1, 2, 2), torch.full((3, 1, 2, 2), 5.0)
    found = schedule.add_noise(x0, noise, torch.tensor([0, 1, 4]))
    assert found[:, 0, 0, 0].tolist() == [1, 2, 5]


def test_stops_of_a_sampler_go_from_all_noise_to_none():
    assert straight_path(10).timesteps(5) == [10, 8, 6, 4, 2, 0]
    assert straight_path(1000).timesteps(3) == [1000, 667, 333, 0]
    assert noise_schedule("linear", 7).timesteps(7) == [7, 6, 5, 4, 3, 2, 1, 0]


def test_wrong_inputs_are_named():
    with pytest.raises(ValueError, match="schedule must be one of linear, cosine, straight, got 'sigmoid'"):
        noise_schedule("sigmoid")
    with pytest.raises(ValueError, match="got steps=11 and 10 levels; try steps=10"):
        straight_path(10).timesteps(11)
    with pytest.raises(ValueError, match="steps must be above 0, got 0"):
        straight_path(10).timesteps(0)
    assert isinstance(straight_path(1), NoiseSchedule)
