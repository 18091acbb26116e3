import numpy as np
import torch
from sklearn.neighbors import KNeighborsClassifier
from torch import nn

from cutaway.data.images.image_batches import ImageBatch
from cutaway.data.images.image_data import read_images
from cutaway.tasks.images.classify import class_metrics, image_cost, neighbour_baseline


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


def test_the_baseline_is_scikit_learns():
    data = read_images("digits", labelled=True)
    held = data.validation
    assert held is not None
    found = neighbour_baseline(data.train, held, 10)
    known = KNeighborsClassifier(5).fit(data.train.pixels().reshape(-1, 64), data.train.targets)
    reached = known.score(held.pixels().reshape(-1, 64), held.targets)
    assert abs(found["metrics"]["accuracy"] - reached) < 0.01  # ties are broken otherwise
    assert set(class_metrics(Plain(), held)) == {"loss", "accuracy", "macro_f1"}
