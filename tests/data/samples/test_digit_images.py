import numpy as np
from sklearn.datasets import load_digits

from cutaway.data.images.image_data import read_images
from cutaway.data.samples.embedded import resolve


def test_the_digits_are_scikit_learns():
    found = load_digits()
    data = read_images("digits", labelled=True, validation=0.0, test=0.0)
    np.testing.assert_array_equal(np.rint(data.train.pixels()[:, 0] / 255 * 16), found.images)
    np.testing.assert_array_equal(data.train.targets, found.target)


def test_one_name_for_a_table_and_for_images():
    assert len(resolve("digits", "table")) == 1797
    assert resolve("digits", "images").name == "digits"
