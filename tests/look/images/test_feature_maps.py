"""Filters and feature maps as pictures."""

import numpy as np
import pytest

from cutaway.look.images.feature_maps import filter_picture, map_picture


def test_filters_the_strongest_first():
    filters = np.zeros((70, 1, 3, 3))
    filters[:, 0, 1, 1] = np.arange(70)
    picture = filter_picture(filters)
    assert len(picture.spec()["datasets"]["rows"]) == 64
    assert picture.note == "The 64 strongest of 70."
    assert "3×3 pixels: red is a positive weight" in picture.caption
    assert "grey is 0" in filter_picture(filters[:5].repeat(3, 1)).caption


def test_a_row_of_maps_for_each_layer():
    random = np.random.default_rng(0).random
    maps = {"stages.0.0.output": random((3, 8, 8)), "stages.1.0.output": random((9, 4, 4))}
    picture = map_picture(random((8, 8)), maps)
    sets = picture.spec()["datasets"]
    assert len(sets["rows"]) == 1 + 3 + 8
    words = [row["text"] for row in sets["words"]]
    assert "the image" in words
    assert "stages.0.0 8×8" in words
    with pytest.raises(ValueError, match=r"feature maps of a layer are needed, got none"):
        map_picture(random((8, 8)), {})
