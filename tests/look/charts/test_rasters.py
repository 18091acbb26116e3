"""Matrices as images, read back by an imaging library."""

import base64

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from look.rendered import image_of

from cutaway.look.charts.rasters import image_url, levels_of, png_bytes, strongest
from cutaway.look.style.colours import MAGNITUDE, SIGNED, channels, table


def test_pixels_are_the_colours_of_the_values():
    matrix = np.array([[0.0, 1.0, 2.0], [4.0, np.nan, np.inf]])
    pixels = np.asarray(image_of(png_bytes(levels_of(matrix, 0, 4))))
    colours = table(MAGNITUDE, 255)
    assert pixels.shape == (2, 3, 4)
    assert tuple(pixels[0, 0, :3]) == channels(MAGNITUDE[0])
    assert np.array_equal(pixels[0, 2, :3], colours[127])  # half of 254
    assert tuple(pixels[1, 0, :3]) == channels(MAGNITUDE[-1])
    assert pixels[..., 3].tolist() == [[255, 255, 255], [255, 0, 0]]  # what is no number cannot be seen


def test_signed_values_meet_at_the_lightest():
    pixels = np.asarray(image_of(png_bytes(levels_of(np.array([[-3.0, 0.0, 3.0]]), -3, 3), SIGNED)))
    assert [tuple(p[:3]) for p in pixels[0]] == [channels(c) for c in (SIGNED[0], SIGNED[5], SIGNED[-1])]


def test_square_root_levels_by_hand():
    # 1 + 254 · √(share) for shares 0, 1/4, 1
    assert levels_of(np.array([[0.0, 0.25, 1.0]]), 0, 1, root=True).tolist() == [[1, 128, 255]]
    assert levels_of(np.array([[2.0, 2.0]]), 2, 2).tolist() == [[1, 1]]  # no range at all


def test_beyond_the_range_is_its_end():
    assert levels_of(np.array([[-9.0, 9.0]]), 0, 1).tolist() == [[1, 255]]


def test_url_holds_the_file():
    levels = levels_of(np.eye(3), 0, 1)
    assert base64.b64decode(image_url(levels).removeprefix("data:image/png;base64,")) == png_bytes(levels)


@given(
    arrays(np.float64, st.tuples(st.integers(1, 9), st.integers(1, 9)), elements=st.floats(-5, 5)),
    st.integers(1, 4),
    st.integers(1, 4),
)
def test_strongest_of_blocks(matrix: np.ndarray, rows: int, columns: int):
    found = strongest(matrix, rows, columns)
    for i in range(found.shape[0]):
        for j in range(found.shape[1]):
            block = matrix[i * rows : (i + 1) * rows, j * columns : (j + 1) * columns]
            assert found[i, j] in block
            assert abs(found[i, j]) == np.abs(block).max()
    assert found.shape == tuple(-(-n // b) for n, b in zip(matrix.shape, (rows, columns)))


def test_blocks_of_nothing_stay_nothing():
    matrix = np.array([[np.nan, np.nan, 1.0], [np.nan, np.nan, np.nan]])
    assert np.isnan(strongest(matrix, 2, 2)[0, 0])
    assert strongest(matrix, 2, 2)[0, 1] == 1
