import numpy as np
import pytest
from PIL import Image

from cutaway.data.images.decoding import Look
from cutaway.data.images.image_sizes import choose_size, fit_to, size_notes


def test_one_shape_keeps_its_proportions():
    assert choose_size([(105, 105)] * 3) == (64, 64)
    assert choose_size([(30, 20)] * 3) == (30, 20)
    assert choose_size([(300, 200)] * 3, 150) == (150, 100)
    assert choose_size([(8, 8)] * 3, 32) == (32, 32)


def test_different_shapes_become_a_square():
    assert choose_size([(10, 20), (20, 10), (30, 31)]) == (20, 20)
    assert choose_size([(1000, 2000), (2000, 1000)]) == (64, 64)
    assert choose_size([(1, 2), (2, 1)]) == (4, 4)


def test_ways_of_fitting():
    image = Image.fromarray(np.array([[0, 100, 200, 50]] * 2, np.uint8))  # 2 high, 4 wide
    assert np.asarray(fit_to(image, (2, 2), "crop")).tolist() == [[100, 200]] * 2
    padded = np.asarray(fit_to(image, (4, 4), "pad"))
    assert padded[[0, 3]].max() == 0
    np.testing.assert_array_equal(padded[1:3], np.asarray(image))
    assert fit_to(image, (3, 5), "stretch").size == (5, 3)
    assert fit_to(image, (2, 4), "crop") is image


def test_notes_say_what_becomes_of_the_sizes():
    same, other = Look(9, 12, True), Look(20, 10, True)
    assert size_notes([same, same], (9, 12), "crop") == []
    assert size_notes([same], (5, 6), "crop") == ["all are 9×12 pixels and become 5×6; to choose: --size"]
    (note,) = size_notes([same, other], (12, 12), "pad")
    assert note == (
        "2 different sizes, from 9×10 to 20×12 (height × width), become 12×12: each whole, black around it; to choose: "
        "--size, --fit"
    )


@pytest.mark.parametrize("size", [-1, 3, 5000])
def test_sizes_that_no_image_has(size: int):
    with pytest.raises(ValueError, match=rf"size must be from 4 to 4096 pixels on the longer side, got {size}"):
        choose_size([(8, 8)], size)
