r"""Learning from images without their labels: the vectors of a model, a linear probe on them, and alike images.

    h = model.represent(x);   alike(x, x') = cos(h, h')
    probe                     a linear map of h, fitted to labels where there are some: what was learned without them

`masked-image` (`masked_patches.py`) and `contrastive` (`contrast.py`) differ in model and cost alone.
"""

import copy
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.data.images.image_batches import ImageBatch, every_image
from cutaway.data.images.image_data import ImageData, ImageRows
from cutaway.overriding import override
from cutaway.tasks.images.classify import neighbour_classes, small_pixels
from cutaway.tasks.images.image_task import ImageLearner, ImageTask
from cutaway.tasks.images.pixels import as_pixels, evenly_spread
from cutaway.tasks.linear_probes import fit_probe
from cutaway.training.jobs import Job
from cutaway.training.late_baselines import LateBaseline

PROBED, ASKED = 2_000, 5_000  # images that a probe is fitted to and measured on, at most
_KNOWN = 10_000  # training images among which alike ones are looked for


class UnlabelledImages(ImageTask):
    """Images whose labels are never read in training; where they have some, a probe is fitted to them."""

    def probe(self, model: nn.Module | None, rows: ImageRows) -> dict[str, float]:
        """The accuracy of a linear probe on the vectors of a model, without one on pixels; {} without labels."""
        return {"probe_accuracy": probe_accuracy(model, self.parts, rows)} if can_probe(self.parts, rows) else {}

    def test_metrics(self, learner: Any) -> dict[str, float]:
        """The cost of test images and the probe, beside what is reached without learning."""
        rows = self.parts.open_test()
        naive = learner.baseline(rows).get("metrics", {}) | self.probe(None, rows)
        found = learner.measure(learner.model, rows) | self.probe(learner.model, rows)
        return found | {f"baseline_{name}": value for name, value in naive.items()}


class Pretrainer(ImageLearner):
    """A model that learns from images alone."""

    task: UnlabelledImages

    def pixel_cost(self, model: nn.Module, images: Float[Tensor, "b c h w"]) -> Tensor:
        """The cost of pixels from 0 to 1."""
        raise ValueError(f"a learner needs a cost to be trained, got {type(self).__name__} without; define it")

    def baseline(self, rows: ImageRows) -> dict[str, Any]:
        """What is reached without learning, on the same images: a rule and its metrics."""
        return {}

    @override
    def fit_first(self) -> None:
        self.untrained = copy.deepcopy(self.model)

    @override
    def cost(self, model: nn.Module, batch: ImageBatch) -> Tensor:
        return self.pixel_cost(model, as_pixels(model, batch.pixels))

    @override
    def facts(self) -> dict[str, Any]:
        parts = self.task.parts
        if not parts.labels or can_probe(parts, parts.validation):
            return {}
        line = f"{parts.name}: too few labelled images for a linear probe, which is left out"
        return {"summary": f"{parts.summary()}\n{line}"}

    @override
    def job(self, rank: int = 0, world: int = 1) -> Job:
        job, held = super().job(rank, world), self.task.parts.validation
        job.whole = lambda model: {} if held is None else self.measure(model, held) | self.task.probe(model, held)
        job.callbacks = [LateBaseline(lambda: {} if held is None else self.baseline_with_probe(held))]
        return job

    def baseline_with_probe(self, rows: ImageRows) -> dict[str, Any]:
        """What is reached without learning: its own rule, and linear probes on pixels and on random vectors."""
        found = self.baseline(rows)
        if not can_probe(self.task.parts, rows):
            return found
        random, pixels = (probe_accuracy(model, self.task.parts, rows) for model in (self.untrained, None))
        rule = f"of the probe, a linear map of the pixels themselves (of the untrained model's vectors: {random:.1%})"
        return {
            "rule": f"of the loss, {found['rule']}; {rule}" if found else rule,
            "metrics": found.get("metrics", {}) | {"probe_accuracy": pixels},
        }

    def predict(self, inputs: Any) -> list[dict[str, Any]]:
        """The most alike training image of each image of a folder, a file, several files or an array."""
        return alike_rows(self.model, self.task.inputs(inputs), self.task.parts)

    def encode(self, images: Any) -> Float[Tensor, "n w"]:
        """Vectors of images: a path, several, arrays, tensors."""
        return vectors_of(self.model, self.task.inputs(images))


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
    return evenly_spread(images.take(np.flatnonzero(images.targets >= 0)), most)


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


def alike_rows(model: nn.Module, images: ImageRows, data: ImageData) -> list[dict[str, Any]]:
    """For each image the training image whose vector is most alike, and the class of most of the five nearest."""
    step = max(1, -(-len(data.train) // _KNOWN))
    train = data.train.take(np.arange(0, len(data.train), step))
    known, z = (nn.functional.normalize(vectors_of(model, rows), dim=1) for rows in (train, images))
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
