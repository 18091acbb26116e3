import copy

import numpy as np

from cutaway.tasks.images.images_in_memory import ImagesInMemory


def test_the_copy_holds_the_images():
    x = np.random.default_rng(0).integers(0, 256, (4, 5, 6, 3), dtype=np.uint8)
    held = ImagesInMemory.of({"x_train": x, "y_train": [1, 2, 1, 2], "x_test": x[:2], "y_test": [1, 2]})
    source = held.source()
    assert source.labels == ("1", "2", "1", "2", "1", "2")
    assert source.parts == ("train",) * 4 + ("test",) * 2
    assert source.pixels is not None
    np.testing.assert_array_equal(source.pixels()[:4], x.transpose(0, 3, 1, 2))
    assert copy.deepcopy(held) == "images in memory"
    assert type(copy.deepcopy(held)) is str


def test_images_alone():
    source = ImagesInMemory.of(np.zeros((3, 4, 4))).source()
    assert source.labels == (None, None, None)
