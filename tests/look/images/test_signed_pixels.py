"""Signed values as colours: blue, white, red; to the largest; means over channels."""

import numpy as np
import pytest
import torch

from cutaway.look.images.signed_pixels import signed_pixels


def test_the_largest_decides_unless_given():
    x = torch.tensor([[-0.5, 0.0], [0.25, 0.5]])
    assert np.array_equal(signed_pixels(x), signed_pixels(2 * x))
    assert np.array_equal(signed_pixels(x, most=1.0), signed_pixels(2 * x, most=2.0))
    assert not np.array_equal(signed_pixels(x, most=1.0), signed_pixels(x))
    assert np.array_equal(signed_pixels(-x)[:, ::-1, ::-1][:, 0, 0], signed_pixels([[-0.5]])[:, 0, 0])


def test_channels_are_averaged_and_zeros_are_white():
    x = torch.rand(3, 4, 5) - 0.5
    assert np.array_equal(signed_pixels(x), signed_pixels(x.mean(0)))
    assert (signed_pixels(torch.zeros(2, 2)) == 247).all()
    assert np.isfinite(signed_pixels([[float("nan"), 1.0]])).all()


def test_mistakes():
    with pytest.raises(ValueError, match=r"got \(1, 1, 2, 2\); pick one"):
        signed_pixels(torch.zeros(1, 1, 2, 2))
