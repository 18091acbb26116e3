r"""Classes of images: the cost of a batch, metrics, predictions, and the nearest training images as a baseline.

cost = mean −log softmax(model(x))_y
baseline: the class that most of the 5 training images nearest to x have, ‖x − x'‖ over pixels
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from cutaway.blocks.losses.metrics import accuracy, macro_f1
from cutaway.data.images.image_batches import ImageBatch
from cutaway.data.images.image_data import ImageRows
from cutaway.tasks.images.pixels import as_pixels, as_tensors, image_about, image_outputs
from cutaway.training.attacks.adversarial_training import Adversary

if TYPE_CHECKING:
    from cutaway.runs.run import Run

# Pixels and classes of a batch → others that teach the same; classes may become probabilities (b, classes).
Change = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
_NEIGHBOURS = 5
_KNOWN, _ASKED, _SIDE = 10_000, 2_000, 28  # the baseline's most training and asked images, and pixels a side


def image_cost(
    model: nn.Module, batch: ImageBatch, change: Change | None = None, adversary: Adversary | None = None
) -> Tensor:
    """Mean of −log p(class | image) over the batch, in nats; ``change`` and ``adversary`` act on the batch first."""
    x, y = as_tensors(model, batch)
    if change is not None:
        x, y = change(x, y)
    if adversary is not None:
        x = adversary.change(model, x, y if y.ndim == 1 else y.argmax(1))
    return nn.functional.cross_entropy(model(x).float(), y)


def class_metrics(model: nn.Module, images: ImageRows) -> dict[str, float]:
    """Loss, accuracy and macro F1."""
    outputs, targets = image_outputs(model, images), torch.from_numpy(images.targets)
    predicted = outputs.argmax(-1)
    return {
        "loss": nn.functional.cross_entropy(outputs, targets).item(),
        "accuracy": accuracy(predicted, targets),
        "macro_f1": macro_f1(predicted, targets),
    }


def robust_metrics(model: nn.Module, images: ImageRows, adversary: Adversary, most: int = 1000) -> dict[str, float]:
    """How many of at most ``most`` images, evenly spread, withstand the adversary."""
    rows = images.take(_spread(len(images), most))
    x = as_pixels(model, rows.pixels())
    return adversary.measure(model, x, torch.from_numpy(rows.targets.astype(np.int64)).to(x.device))


def neighbour_baseline(train: ImageRows, images: ImageRows, classes: int) -> dict[str, Any]:
    """What one reaches without a model: the class of the nearest training images; and of always saying the same."""
    known, asked = (rows.take(_spread(len(rows), most)) for rows, most in ((train, _KNOWN), (images, _ASKED)))
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


def _spread(count: int, most: int) -> np.ndarray:
    """At most ``most`` places of ``count``, evenly spread."""
    return np.arange(count) if count <= most else np.linspace(0, count - 1, most).astype(np.int64)


def small_pixels(images: ImageRows) -> Float[Tensor, "n p"]:
    """Pixels from 0 to 1 in a row; of larger images means of squares, so that at most 28 are a side."""
    x = torch.from_numpy(images.pixels()).float() / 255
    if max(x.shape[2:]) > _SIDE:
        x = nn.functional.adaptive_avg_pool2d(x, (min(x.shape[2], _SIDE), min(x.shape[3], _SIDE)))
    return x.flatten(1)


def labelled_pixels(run: "Run", images: ImageRows, words: str, most: int) -> tuple[Tensor, Tensor, str]:
    """Pixels and classes of at most ``most`` images (0: all), evenly spread, and words for them."""
    whole = len(images)
    if most and whole > most:
        images, words = images.take(_spread(whole, most)), f"{most:,} of {whole:,} {words}"
    else:
        words = f"{whole:,} {words}"
    targets = torch.from_numpy(images.targets.astype(np.int64))
    unknown = targets < 0
    if unknown.any():
        said = image_outputs(run.model, images).argmax(1)
        targets, words = torch.where(unknown, said, targets), f"{words}, taken for what the model says of them"
    return as_pixels(run.model, images.pixels()), targets.to(next(run.model.parameters()).device), words


def predicted_rows(run: "Run", images: ImageRows) -> list[dict[str, Any]]:
    """For each image its file, its class, and P(label) for every label."""
    labels = image_about(run)["labels"]
    p = image_outputs(run.model, images).double().softmax(-1).numpy()
    return [
        {"image": str(name), "class": labels[int(row.argmax())]}
        | {f"P({label})": float(value) for label, value in zip(labels, row, strict=True)}
        for name, row in zip(images.names, p, strict=True)
    ]


__all__ = [
    "class_metrics",
    "image_cost",
    "labelled_pixels",
    "neighbour_baseline",
    "neighbour_classes",
    "predicted_rows",
    "robust_metrics",
    "small_pixels",
]
