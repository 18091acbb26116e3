r"""Classes of images: the cost of a batch, metrics, predictions, and the nearest training images as a baseline.

cost = mean −log softmax(model(x))_y
baseline: the class that most of the 5 training images nearest to x have, ‖x − x'‖ over pixels
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.losses.metrics import accuracy, macro_f1
from cutaway.data.images.image_batches import ImageBatch
from cutaway.data.images.image_data import ImageRows
from cutaway.recipes.images.pixels import as_tensors, image_about, image_outputs

if TYPE_CHECKING:
    from cutaway.runs.run import Run

# Pixels and classes of a batch → others that teach the same; classes may become probabilities (b, classes).
Change = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
_NEIGHBOURS = 5
_KNOWN, _ASKED, _SIDE = 10_000, 2_000, 28  # the baseline's most training and asked images, and pixels a side


def image_cost(model: nn.Module, batch: ImageBatch, change: Change | None = None) -> Tensor:
    """Mean of −log p(class | image) over the batch, in nats; ``change`` acts on the batch first."""
    x, y = as_tensors(model, batch)
    if change is not None:
        x, y = change(x, y)
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


def neighbour_baseline(train: ImageRows, images: ImageRows, classes: int) -> dict[str, Any]:
    """What one reaches without a model: the class of the nearest training images; and of always saying the same."""
    known, asked = (rows.take(_spread(len(rows), most)) for rows, most in ((train, _KNOWN), (images, _ASKED)))
    x, z = (_small(rows) for rows in (known, asked))
    targets, truth = torch.from_numpy(known.targets), torch.from_numpy(asked.targets)
    k = min(_NEIGHBOURS, len(known))
    votes = []
    for part in z.split(500):
        near = (x.square().sum(1) - 2 * part @ x.T).topk(k, largest=False).indices
        count = nn.functional.one_hot(targets[near], classes).sum(1).float()
        # of classes with as many votes, that of the nearest image
        votes.append((count + 0.5 * nn.functional.one_hot(targets[near[:, 0]], classes)).argmax(1))
    predicted = torch.cat(votes)
    most = np.bincount(train.targets).max() / len(train)
    rule = f"the class of the {k} nearest training images, by pixels (the most frequent class: {most:.1%} of training)"
    if len(asked) < len(images) or len(known) < len(train):
        rule += f"; {len(asked):,} images beside {len(known):,}"
    return {
        "rule": rule,
        "metrics": {"accuracy": accuracy(predicted, truth), "macro_f1": macro_f1(predicted, truth)},
    }


def _spread(count: int, most: int) -> np.ndarray:
    """At most ``most`` places of ``count``, evenly spread."""
    return np.arange(count) if count <= most else np.linspace(0, count - 1, most).astype(np.int64)


def _small(images: ImageRows) -> Float[Tensor, "n p"]:
    x = torch.from_numpy(images.pixels()).float() / 255
    if max(x.shape[2:]) > _SIDE:
        x = nn.functional.adaptive_avg_pool2d(x, (min(x.shape[2], _SIDE), min(x.shape[3], _SIDE)))
    return x.flatten(1)


def predicted_rows(run: "Run", images: ImageRows) -> list[dict[str, Any]]:
    """For each image its file, its class, and P(label) for every label."""
    labels = image_about(run)["labels"]
    p = image_outputs(run.model, images).double().softmax(-1).numpy()
    return [
        {"image": str(name), "class": labels[int(row.argmax())]}
        | {f"P({label})": float(value) for label, value in zip(labels, row, strict=True)}
        for name, row in zip(images.names, p, strict=True)
    ]


__all__ = ["class_metrics", "image_cost", "neighbour_baseline", "predicted_rows"]
