r"""Vectors of images by a pretrained model: a linear probe on them, and the most alike training images.

h = model.represent(x);   alike(x, x') = cos(h, h')
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.data.images.image_batches import every_image
from cutaway.data.images.image_data import ImageData, ImageRows
from cutaway.tasks.images.classify import neighbour_classes, small_pixels
from cutaway.tasks.images.pixels import as_pixels
from cutaway.tasks.linear_probes import fit_probe

if TYPE_CHECKING:
    from cutaway.runs.run import Run

PROBED, ASKED = 2_000, 5_000  # images that a probe is fitted to and measured on, at most
_KNOWN = 10_000  # training images among which alike ones are looked for


@torch.no_grad()
def vectors_of(model: Any, images: ImageRows) -> Float[Tensor, "n w"]:
    """The vector of each image, on the CPU."""
    training = model.training
    model.eval()
    found = [model.represent(as_pixels(model, batch.pixels)).float().cpu() for batch in every_image(images)]
    model.train(training)
    return torch.cat(found)


def labelled(images: ImageRows, most: int) -> ImageRows:
    """At most ``most`` of the images that have a label, spread evenly."""
    known = images.take(np.flatnonzero(images.targets >= 0))
    return known if len(known) <= most else known.take(np.linspace(0, len(known) - 1, most).astype(np.int64))


def can_probe(data: ImageData, images: ImageRows | None) -> bool:
    """Whether there are labels enough for a probe: two classes to learn from, and images to ask."""
    return (
        images is not None
        and bool((images.targets >= 0).any())
        and len(np.unique(data.train.targets[data.train.targets >= 0])) > 1
    )


def probe_accuracy(model: nn.Module | None, data: ImageData, images: ImageRows) -> float:
    """Accuracy on ``images`` of a linear probe on training vectors of the model; on pixels without one."""
    train, asked = labelled(data.train, PROBED), labelled(images, ASKED)
    x, z = (small_pixels(rows) if model is None else vectors_of(model, rows) for rows in (train, asked))
    y, truth = (torch.from_numpy(rows.targets.astype(np.int64)) for rows in (train, asked))
    return fit_probe(x, y, len(data.labels)).accuracy(z, truth)


def alike_rows(run: "Run", images: ImageRows, data: ImageData) -> list[dict[str, Any]]:
    """For each image the training image whose vector is most alike, and the class of most of the five nearest."""
    step = max(1, -(-len(data.train) // _KNOWN))
    train = data.train.take(np.arange(0, len(data.train), step))
    known, z = (nn.functional.normalize(vectors_of(run.model, rows), dim=1) for rows in (train, images))
    alike, place = (z @ known.T).max(1)
    found = [
        {"image": str(name), "most_alike": str(train.names[int(i)]), "cosine": float(value)}
        for name, i, value in zip(images.names, place, alike, strict=True)
    ]
    labels, targets = data.labels, torch.from_numpy(train.targets.astype(np.int64))
    if labels and bool((targets >= 0).all()):
        for row, k in zip(found, neighbour_classes(z, known, targets, len(labels)).tolist(), strict=True):
            row["class_of_nearest"] = labels[k]
    return found


__all__ = ["alike_rows", "can_probe", "labelled", "probe_accuracy", "vectors_of"]
