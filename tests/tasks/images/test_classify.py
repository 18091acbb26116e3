from sklearn.neighbors import KNeighborsClassifier
from torch import nn

from cutaway.data.images.image_data import read_images
from cutaway.recipes.images.cnn import CNNRecipe
from cutaway.tasks.images.classify import ImageClasses, neighbour_baseline
from cutaway.tasks.images.pixels import image_outputs


class Plain(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.matrix = nn.Linear(64, 10)

    def forward(self, images):
        return self.matrix(images.flatten(1))


def test_the_baseline_is_scikit_learns():
    data = read_images("digits", labelled=True)
    held = data.validation
    assert held is not None
    found = neighbour_baseline(data.train, held, 10)
    known = KNeighborsClassifier(5).fit(data.train.pixels().reshape(-1, 64), data.train.targets)
    reached = known.score(held.pixels().reshape(-1, 64), held.targets)
    assert abs(found["metrics"]["accuracy"] - reached) < 0.01  # ties are broken otherwise
    found = ImageClasses(CNNRecipe()).metrics(image_outputs(Plain(), held), held)
    assert set(found) == {"loss", "accuracy", "macro_f1"}
