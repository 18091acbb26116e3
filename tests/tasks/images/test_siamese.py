import numpy as np
import pytest
import torch
from torch import nn

from cutaway.data.images.class_batches import ClassBatch
from cutaway.recipes.images.siamese import SiameseRecipe
from cutaway.tasks.images.siamese import contrastive_cost, has_plain_ground
from cutaway.training.augmentation.image_changes import ImageChanges


class Flat(nn.Module):
    """Pixels as a vector of length 1; a single weight, so that it has a device."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.normalize(self.weight * x.flatten(1), dim=-1)


@pytest.mark.parametrize("loss", ["infonce", "prototypical", "margin"])
def test_costs_fall_when_classes_are_apart(loss: str):
    recipe = SiameseRecipe(loss=loss, augment="shift:0")  # type: ignore[arg-type]
    clear = np.zeros((6, 4, 1, 6, 6), np.uint8)  # six classes of four images: a bright row each
    clear[np.arange(6), :, 0, np.arange(6)] = 100
    mixed = np.roll(clear.reshape(24, 1, 6, 6), 2, 0).reshape(6, 4, 1, 6, 6)
    turns = np.zeros(6, np.int64)
    costs = [
        contrastive_cost(Flat(), ClassBatch(x, np.arange(6), turns), recipe, ImageChanges({})) for x in (clear, mixed)
    ]
    assert costs[0] < costs[1]
    costs[1].backward()


def test_plain_ground():
    drawing = torch.ones(5, 1, 12, 12)
    drawing[:, :, 4:8, 5:7] = 0
    assert has_plain_ground(drawing)
    assert not has_plain_ground(torch.rand(5, 3, 12, 12))
