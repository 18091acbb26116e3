"""Views that find each other: always by perfect vectors, never by chance, and one image alone."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from cutaway.data.images.image_data import ImageRows
from cutaway.tasks.images.contrast import contrast_cost, contrast_metrics, views_of
from cutaway.training.augmentation.image_changes import ImageChanges

NOTHING = ImageChanges({})


class Flat(nn.Module):
    """The pixels themselves, times a weight."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(()))

    def forward(self, images: Tensor) -> Tensor:
        return self.weight * (images.flatten(1) - 0.5)


def rows(count: int = 20) -> ImageRows:
    images = np.random.default_rng(0).integers(0, 255, (count, 1, 4, 4)).astype(np.uint8)
    return ImageRows(images, np.arange(count), np.full(count, -1), np.array([str(i) for i in range(count)]))


def test_equal_views_are_found():
    found = contrast_metrics(Flat(), rows(), NOTHING, 0.1, 10)
    assert found["found"] == 1
    x = torch.from_numpy(rows().pixels()).float() / 255
    by_cost = [contrast_cost(Flat(), part, NOTHING, 0.1).item() for part in x.split(10)]
    assert found["loss"] == pytest.approx(np.mean(by_cost), rel=1e-5)


def test_pixels_are_compared_without_a_model():
    assert contrast_metrics(None, rows(), NOTHING, 0.1, 10)["found"] == 1


def test_one_image_has_none_to_be_told_from():
    assert contrast_metrics(Flat(), rows(1), NOTHING, 0.1, 10) == {}
    assert contrast_metrics(Flat(), rows(11), NOTHING, 0.1, 10)["found"] == 1  # the eleventh is left out


def test_views_differ_and_are_the_same_each_time():
    x = torch.rand(3, 1, 8, 8)
    changes = ImageChanges({"shift": 2.0})
    first, second = views_of(x, changes)
    assert not torch.equal(first, second)
    assert torch.equal(first, views_of(x, changes)[0])
