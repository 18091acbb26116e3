"""Vectors of images: which images a probe reads, and that a probe on pixels is a probe."""

import numpy as np

import cutaway as cut
from cutaway.tasks.images.pretraining import can_probe, labelled, probe_accuracy


def test_a_probe_on_the_pixels_of_digits():
    data = cut.data.read_images("digits", labelled=False, validation=0.1, test=0.1)
    assert can_probe(data, data.validation)
    assert data.validation is not None
    assert probe_accuracy(None, data, data.validation) > 0.9
    assert not can_probe(data, None)


def test_only_images_with_a_label_and_not_too_many():
    data = cut.data.read_images("digits", labelled=False, validation=0.1, test=0.1)
    some = labelled(data.train, 100)
    assert len(some) == 100
    hidden = data.train.take(np.arange(50))
    hidden.targets[::2] = -1
    assert len(labelled(hidden, 100)) == 25
    assert (labelled(hidden, 100).targets >= 0).all()
    unknown = data.train.take(np.arange(5))
    unknown.targets[:] = -1
    assert not can_probe(data, unknown)
    assert np.array_equal(labelled(data.train, 100).targets, some.targets)
