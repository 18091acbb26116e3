"""Filling hidden patches without learning: the blur by hand and its laws, and the better of two naive ways."""

import numpy as np
import pytest
import torch

from cutaway.data.images.image_data import ImageRows
from cutaway.tasks.images.masked_patches import blurred, filling_baseline


def rows(images: np.ndarray) -> ImageRows:
    n = len(images)
    return ImageRows(images[:, None], np.arange(n), np.full(n, -1), np.array([str(i) for i in range(n)]))


def test_a_blur_is_a_weighted_mean_of_what_is_visible():
    x = torch.tensor([[[[1.0, 3.0, 0.0, 9.0]]]]).repeat(1, 1, 2, 1)  # two columns of patches of side 2
    filled = blurred(x, torch.tensor([[0]]), 2, 1.0)
    assert torch.equal(filled[..., :2], x[..., :2])
    # the column at place 2 is 2 and 1 away from the visible ones, that at 3 is 3 and 2 away
    w = lambda d: float(np.exp(-(d**2) / 2))
    expected = [(1 * w(2) + 3 * w(1)) / (w(2) + w(1)), (1 * w(3) + 3 * w(2)) / (w(3) + w(2))]
    torch.testing.assert_close(filled[0, 0, 0, 2:], torch.tensor(expected))


def test_hidden_pixels_play_no_part():
    x = torch.rand(2, 3, 4, 6)
    visible = torch.tensor([[0, 4], [2, 3]])
    other = torch.where(blurred(x, visible, 2, 1.0) == x, x, torch.rand_like(x))
    torch.testing.assert_close(blurred(x, visible, 2, 1.0), blurred(other, visible, 2, 1.0))


def test_the_baseline_is_what_suits_the_images():
    rng = np.random.default_rng(0)
    flat = np.repeat(rng.integers(0, 255, (40, 1, 1)), 64, axis=1).reshape(40, 8, 8).astype(np.uint8)
    found = filling_baseline(rows(flat), rows(flat), 2, 0.5, False)
    assert "a blur of" in found["rule"]  # one colour an image: the neighbours tell it
    assert found["metrics"]["loss"] < 1e-6
    same = np.repeat(rng.integers(0, 255, (1, 8, 8)), 40, axis=0).astype(np.uint8)
    found = filling_baseline(rows(same), rows(same), 2, 0.5, False)
    assert "mean image" in found["rule"]  # one image always: its mean is itself
    assert found["metrics"]["loss"] == pytest.approx(0, abs=1e-6)


def test_standardised_patches_have_a_variance_of_one():
    noise = np.random.default_rng(0).integers(0, 255, (4, 8, 8)).astype(np.uint8)
    assert filling_baseline(rows(noise), rows(noise), 2, 0.5, True)["metrics"] == {"loss": 1.0}
