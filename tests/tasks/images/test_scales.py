"""What a model takes from its training images: statistics, squares, stages, patches."""

import numpy as np
import pytest
import torch

from cutaway.data.images.image_data import ImageRows
from cutaway.models import CNN
from cutaway.tasks.images.scales import (
    channel_statistics,
    expect_patch,
    expect_room,
    fitting_patch,
    fitting_squares,
    fitting_stages,
    last_places,
)


def test_statistics_are_numpys_over_all_pixels():
    pixels = np.random.default_rng(0).integers(0, 256, (7, 3, 4, 5), np.uint8)
    rows = ImageRows(pixels, np.arange(7), np.zeros(7, np.int64), np.array([""] * 7, object))
    mean, spread = channel_statistics(rows)
    torch.testing.assert_close(mean, torch.from_numpy(pixels.mean((0, 2, 3)) / 255))
    torch.testing.assert_close(spread, torch.from_numpy(pixels.std((0, 2, 3)) / 255))


@pytest.mark.parametrize(("height", "width", "squares", "stages"), [(28, 28, 2, 2), (31, 17, 2, 2), (9, 64, 1, 3)])
def test_places_are_those_of_the_last_maps(height, width, squares, stages):
    model = CNN(classes=2, width=2, depth=1, stages=stages, squares=squares)
    shape = model.features(torch.rand(1, 1, height, width)).shape
    assert last_places(height, width, squares, stages) == tuple(shape[2:])


def test_stages_bring_the_maps_below_eight_pixels():
    for side in range(4, 200):
        squares = fitting_squares(side)
        stages = fitting_stages(side, squares)
        last = side / squares / 2 ** (stages - 1)
        assert last < 8
        assert stages == 1 or last >= 4


def test_patches_divide_both_sides():
    for height in range(4, 100):
        for width in (height, 2 * height):
            try:
                side = fitting_patch(height, width)
            except ValueError:
                continue
            assert height % side == 0 == width % side


def test_room_and_patches():
    expect_room(8, 1, 4)
    with pytest.raises(ValueError, match=r"squares=1, stages=5 for a side of 8; try squares=1, stages=2"):
        expect_room(8, 1, 5)
    with pytest.raises(ValueError, match=r"squares=20, stages=0 for a side of 8"):
        expect_room(8, 20, 0)
    expect_patch(4, 8, 12)
    with pytest.raises(ValueError, match=r"got patch=5 for 8 × 12; try patch=2 or patch=4"):
        expect_patch(5, 8, 12)


def test_sizes_without_a_fitting_patch():
    with pytest.raises(ValueError, match=r"divide the sides of the images, got 29 × 29; try size=28 with fit=pad"):
        fitting_patch(29, 29)
