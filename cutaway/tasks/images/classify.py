r"""The task of classifying images: labelled images in three parts, the classes of new ones, and how well they fit.

    P(label)      softmax of a learner's logits, a row for each image
    metrics       mean −log P of the true label, accuracy, the mean of the classes' F1; and what withstands an attack
    baseline      the class that most of the 5 training images nearest to x have, ‖x − x'‖ over pixels

`cutaway train cnn` and `vit` learn it by a network that starts from nothing (`classifiers.py`), `cutaway tune BASE
--task images` by a trained model of images.
"""

from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from cutaway.blocks.losses.metrics import accuracy, macro_f1
from cutaway.data.images.image_data import ImageRows
from cutaway.overriding import override
from cutaway.tasks.classes import label_rows
from cutaway.tasks.images.image_task import ImageTask
from cutaway.tasks.images.pixels import as_pixels, evenly_spread
from cutaway.training.attacks.adversarial_training import Adversary

_NEIGHBOURS = 5
_KNOWN, _ASKED, _SIDE = 10_000, 2_000, 28  # the baseline's most training and asked images, and pixels a side
_ATTACKED = 1000  # images that an adversary is measured on, at most


class ImageClasses(ImageTask):
    """Images with a label each. Runs that learn from attacks are judged by what withstands them."""

    kind: ClassVar[str] = "images/classify"
    needs_labels: ClassVar[bool] = True

    @override
    @property
    def figure(self) -> str:  # type: ignore[override]
        return "robust_error" if self.settings.adversarial else "accuracy"

    @override
    @property
    def more_is_better(self) -> bool:  # type: ignore[override]
        return not self.settings.adversarial

    @override
    def facts(self) -> dict[str, Any]:
        facts = super().facts()
        if self.parts.validation is not None:
            facts["baseline"] = self.baseline(self.parts.validation)
        return facts

    def baseline(self, rows: ImageRows) -> dict[str, Any]:
        """A rule in words, and its metrics on some images."""
        return neighbour_baseline(self.parts.train, rows, len(self.parts.labels))

    def metrics(self, logits: Float[Tensor, "n c"], rows: ImageRows) -> dict[str, float]:
        """Loss, accuracy and macro F1."""
        targets, predicted = torch.from_numpy(rows.targets), logits.argmax(-1)
        return {
            "loss": nn.functional.cross_entropy(logits, targets).item(),
            "accuracy": accuracy(predicted, targets),
            "macro_f1": macro_f1(predicted, targets),
        }

    def robust_metrics(self, model: nn.Module, rows: ImageRows, adversary: Adversary) -> dict[str, float]:
        """How many images, evenly spread, withstand the adversary."""
        some = evenly_spread(rows, _ATTACKED)
        x = as_pixels(model, some.pixels())
        return adversary.measure(model, x, torch.from_numpy(some.targets.astype(np.int64)).to(x.device))

    def test_metrics(self, learner: Any) -> dict[str, float]:
        """Metrics of the test part, beside those of the baseline."""
        rows = self.parts.open_test()
        found = self.metrics(learner.outputs(rows), rows)
        if self.settings.adversarial:
            found |= self.robust_metrics(learner.model, rows, Adversary(self.settings.adversarial))
            del found["robust_error"]  # 1 − robust_accuracy
        return found | {"baseline_accuracy": self.baseline(rows)["metrics"]["accuracy"]}

    def answers(self, logits: Float[Tensor, "n c"], rows: ImageRows) -> list[dict[str, Any]]:
        """For each image its file, its class, and P(label) for every label."""
        p = logits.double().softmax(-1).numpy()
        return label_rows([{"image": str(name)} for name in rows.names], "class", self.labels, p)


def neighbour_baseline(train: ImageRows, images: ImageRows, classes: int) -> dict[str, Any]:
    """What one reaches without a model: the class of the nearest training images; and of always saying the same."""
    known, asked = (evenly_spread(rows, most) for rows, most in ((train, _KNOWN), (images, _ASKED)))
    x, z = (small_pixels(rows) for rows in (known, asked))
    targets, truth = torch.from_numpy(known.targets), torch.from_numpy(asked.targets)
    k = min(_NEIGHBOURS, len(known))
    predicted = neighbour_classes(z, x, targets, classes)
    most = np.bincount(train.targets).max() / len(train)
    rule = f"the class of the {k} nearest training images, by pixels (the most frequent class: {most:.1%} of training)"
    if len(asked) < len(images) or len(known) < len(train):
        rule += f"; {len(asked):,} images beside {len(known):,}"
    return {
        "rule": rule,
        "metrics": {"accuracy": accuracy(predicted, truth), "macro_f1": macro_f1(predicted, truth)},
    }


def neighbour_classes(
    z: Float[Tensor, "n p"], known: Float[Tensor, "m p"], targets: Int[Tensor, "m"], classes: int
) -> Int[Tensor, "n"]:
    """The class that most of the 5 nearest known rows have; of classes with as many votes, that of the nearest."""
    votes = []
    for part in z.split(500):
        near = (known.square().sum(1) - 2 * part @ known.T).topk(min(_NEIGHBOURS, len(known)), largest=False).indices
        count = nn.functional.one_hot(targets[near], classes).sum(1).float()
        votes.append((count + 0.5 * nn.functional.one_hot(targets[near[:, 0]], classes)).argmax(1))
    return torch.cat(votes)


def small_pixels(images: ImageRows) -> Float[Tensor, "n p"]:
    """Pixels from 0 to 1 in a row; of larger images means of squares, so that at most 28 are a side."""
    x = torch.from_numpy(images.pixels()).float() / 255
    if max(x.shape[2:]) > _SIDE:
        x = nn.functional.adaptive_avg_pool2d(x, (min(x.shape[2], _SIDE), min(x.shape[3], _SIDE)))
    return x.flatten(1)
