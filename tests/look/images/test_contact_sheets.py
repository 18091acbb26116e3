"""Contact sheets: every pixel a square, images in their places."""

import numpy as np
import pytest

from cutaway.look.images.contact_sheets import contact_sheet


def test_images_lie_in_their_places():
    images = np.arange(4, dtype=np.uint8)[:, None, None, None] * np.ones((1, 1, 2, 3), np.uint8) * 20
    sheet = contact_sheet([*images], columns=3, wide=12)  # one pixel each, one between
    assert sheet.shape == (2 * 3 + 1, 3 * 4 + 1, 1)
    assert sheet[1, [1, 5, 9], 0].tolist() == [0, 20, 40]
    assert sheet[4, 1, 0] == 60
    assert sheet[4, 5, 0] == 255  # no fifth image


def test_pixels_are_enlarged_by_whole_numbers():
    image = np.array([[[0, 100], [200, 50]]], np.uint8)
    sheet = contact_sheet([image], wide=30)
    inner = sheet[5:-5, 5:-5, 0]
    assert inner.shape == (20, 20)
    assert [np.unique(inner[a : a + 10, b : b + 10]).tolist() for a in (0, 10) for b in (0, 10)] == [
        [0],
        [100],
        [200],
        [50],
    ]


def test_no_image_is_refused():
    with pytest.raises(ValueError, match="a sheet needs an image, got none"):
        contact_sheet([])
