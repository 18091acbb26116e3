import numpy as np
import torch
from torch import nn

from cutaway.data.images.image_batches import ImageBatch
from cutaway.tasks.images.classifiers import image_cost


class Plain(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.matrix = nn.Linear(64, 10)

    def forward(self, images):
        return self.matrix(images.flatten(1))


def test_cost_by_hand():
    model, x = Plain(), np.full((2, 1, 8, 8), 51, np.uint8)  # a fifth of 255
    y = np.array([3, 4])
    p = torch.softmax(model(torch.full((2, 1, 8, 8), 0.2)), -1)
    torch.testing.assert_close(image_cost(model, ImageBatch(x, y)), -(p[0, 3].log() + p[1, 4].log()) / 2)
    halves = image_cost(model, ImageBatch(x, y), lambda x, y: (x, torch.full((2, 10), 0.1)))
    torch.testing.assert_close(halves, -p.log().mean())
