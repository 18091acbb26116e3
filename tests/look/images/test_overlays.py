"""Tints and frames over images."""

import numpy as np

from cutaway.look.images.overlays import enlarged, framed, tinted


def test_a_tint_is_strongest_where_the_heat_is():
    image = np.full((4, 4), 255, np.uint8)
    found = tinted(image, np.array([[0.0, 1.0]]))
    assert found.shape == (3, 4, 4)
    assert (found[:, :, 0] == 166).all()  # grey, 0.65 of white
    assert (found[0, :, 3] > 200).all()  # orange: red is high,
    assert (found[2, :, 3] < 50).all()  # and blue low


def test_outside_is_dimmed_and_inside_has_a_line_around():
    image = np.full((3, 3), 100, np.uint8)
    inside = np.zeros((3, 3), bool)
    inside[1, 1] = True
    found = framed(image, inside)
    assert found.shape == (3, 12, 12)
    assert (found[:, 0, 0] == 35).all()
    assert (found[:, 5, 5] == 100).all()
    assert found[0, 4, 4] > 200


def test_cells_become_squares():
    assert enlarged(np.arange(4).reshape(2, 2), (4, 2)).tolist() == [[0, 1], [0, 1], [2, 3], [2, 3]]
