r"""The learner of the recipe `siamese`: images of one class get vectors that are alike, those of others do not.

    z(x) = mean over some small turns, sizes and shifts T of model(T x), brought to length 1
    class of x = argmax_k  z(x) · z(examples of class k)

What it is asked, and how it answers:

    folder/support/cat.jpg, dog.jpg       one example a class: its file's name is the class
    folder/support/cat/1.jpg, 2.jpg       several: the class is their folder, and their mean vector stands for it
    folder/*.jpg                          the images to name

In Python: ``run.predict({"support": …, "images": …})``, or images alone: the classes of training then name them.
"""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.losses.contrastive import info_nce, margin_loss, prototypical_loss
from cutaway.data.images.class_batches import ClassBatch, ClassBatches
from cutaway.data.images.image_data import ImageRows
from cutaway.data.images.image_files import files_in_folder
from cutaway.data.images.image_sources import open_images
from cutaway.overriding import override
from cutaway.tasks.images.image_task import ImageLearner
from cutaway.tasks.images.one_shot import OneShotClasses, class_vectors, one_shot_metrics, vectors_of
from cutaway.tasks.images.pixels import as_pixels
from cutaway.training.augmentation.image_changes import ImageChanges, read_changes
from cutaway.training.jobs import Job

_SUPPORT = "support"  # the folder of examples
_TURNS = 4  # by 90°, each a class of its own


class Comparer(ImageLearner):
    """A network whose vectors are compared."""

    task: OneShotClasses

    @override
    def fit_first(self) -> None:
        parts = self.task.parts
        classes = len(set(parts.train.targets.tolist()))
        if classes < 2:
            raise ValueError(
                f"images are compared between classes, of which training needs two or more, got {classes} of "
                f"{len(parts.labels)} in {parts.name}; give more classes to train on"
            )
        self.turns = self.settings.turns and parts.shape[1] == parts.shape[2]
        self.ways = min(self.settings.ways, classes * (_TURNS if self.turns else 1))
        self.changes = ImageChanges(read_changes(self.settings.augment))

    @override
    def batches(self, rank: int, world: int) -> ClassBatches:
        settings = self.settings
        ways = self.ways - self.ways % world
        return ClassBatches(self.task.parts.train, ways, settings.shots, settings.seed, rank, world, self.turns)

    @override
    def cost(self, model: nn.Module, batch: ClassBatch) -> Tensor:
        return contrastive_cost(model, batch, self.settings, self.changes)

    @override
    def measure(self, model: nn.Module, rows: ImageRows, average: int = 0) -> dict[str, float]:
        """Errors of one-shot episodes of some images; ``average`` changes of each have their vectors averaged."""
        return one_shot_metrics(model, rows, self.task.groups, average)

    @override
    def facts(self) -> dict[str, Any]:
        if not self.model.spec.centred:
            return {}
        parts = self.task.parts
        line = "what stands out is brought to the middle and to one size; to keep it where it is: --no-centre"
        return {"summary": "\n".join([parts.summary(), f"{parts.name}: {line}", *self.task.notes()])}

    @override
    def job(self, rank: int = 0, world: int = 1) -> Job:
        job, held = super().job(rank, world), self.task.parts.validation
        job.whole = lambda model: {} if held is None else self.measure(model, held, self.settings.average)
        job.units = (self.ways - self.ways % world) * self.settings.shots
        return job

    def predict(self, inputs: Any) -> list[dict[str, Any]]:
        """For each image its file, the most alike class and how alike, and the next one.

        Classes are those of examples of yours, or else those that it was trained on.
        """
        support, asked = split_inputs(inputs)
        rows, average = self.task.inputs(asked), self.settings.average
        if support is None:
            known, classes = self.task.parts.train, list(self.task.parts.labels)
            targets = known.targets
        else:
            known, classes, targets = self.examples(support)
        z = class_vectors(vectors_of(self.model, known, average), targets, len(classes))
        present = np.unique(targets)
        alike = vectors_of(self.model, rows, average) @ z[torch.from_numpy(present)].T
        names = [classes[i] for i in present]
        found = []
        for name, row in zip(rows.names, alike, strict=True):
            first, *rest = row.argsort(descending=True).tolist()
            line = {"image": str(name), "class": names[first], "alike": float(row[first])}
            if rest:
                line |= {"next": names[rest[0]], "next_alike": float(row[rest[0]])}
            found.append(line)
        return found

    def examples(self, support: Any) -> tuple[ImageRows, list[str], np.ndarray]:
        """The examples, the names of their classes, and the class of each."""
        if isinstance(support, tuple) and len(support) == 2:  # images and their labels
            rows = self.task.inputs(support[0])
            labels: list[str] = [str(label) for label in support[1]]
            if len(labels) != len(rows):
                raise ValueError(
                    f"there must be a label for each example, got {len(labels)} for {len(rows)}; give as many"
                )
        else:
            source = open_images(support)
            rows = self.task.inputs(replace(source, notes=()))
            by_name = dict(zip(source.names, source.labels, strict=True))
            labels = [by_name[name] or PurePosixPath(name).stem for name in rows.names]
        classes = sorted(set(labels))
        return rows, classes, np.array([classes.index(label) for label in labels], np.int64)


def split_inputs(inputs: Any) -> tuple[Any, Any]:
    """The examples, if there are any, and the images to name."""
    if isinstance(inputs, Mapping):
        if "images" not in inputs or set(inputs) - {"support", "images"}:
            raise ValueError(
                f"images to name come as {{'support': …, 'images': …}}, got {', '.join(map(str, inputs)) or 'nothing'};"
                " name the two parts so"
            )
        return inputs.get("support"), inputs["images"]
    if isinstance(inputs, (str, os.PathLike)) and (Path(inputs) / _SUPPORT).is_dir():
        files = files_in_folder(Path(inputs))
        asked = [str(files.paths[name]) for name in files.names if name.split("/")[0] != _SUPPORT]
        if not asked:
            raise ValueError(f"there must be an image to name, got none beside {_SUPPORT}/ in {inputs}; add some")
        return Path(inputs) / _SUPPORT, asked
    return None, inputs


def contrastive_cost(model: nn.Module, batch: ClassBatch, settings: Any, changes: ImageChanges) -> Tensor:
    """The mean loss of a batch of classes with some images each."""
    ways, shots = batch.pixels.shape[:2]
    x = changes.images(as_pixels(model, batch.pixels.reshape(ways * shots, *batch.pixels.shape[2:])))
    z = model(x).float().unflatten(0, (ways, shots))
    if settings.loss == "infonce":
        pairs = [(i, j) for j in range(shots) for i in range(j)]
        return torch.stack([info_nce(z[:, i], z[:, j], settings.temperature).mean() for i, j in pairs]).mean()
    if settings.loss == "prototypical":
        z = z / settings.temperature**0.5
        asked = z[:, 1:].flatten(0, 1)
        labels = torch.arange(ways, device=z.device).repeat_interleave(shots - 1)
        return prototypical_loss(asked, labels, z[:, 0]).mean()
    return _margin_cost(z, settings.margin)


def _margin_cost(z: Float[Tensor, "w s e"], margin: float) -> Tensor:
    """All pairs of one class against as much weight on the pairs of different classes that are too near."""
    shots = z.shape[1]
    flat = z.flatten(0, 1)
    i, j = torch.triu_indices(len(flat), len(flat), 1, device=z.device)
    same = i // shots == j // shots
    losses = margin_loss(flat[i], flat[j], same, margin)
    near = (~same & (losses > 0)).sum().clamp(min=1)  # pairs that are far enough apart teach nothing
    return losses[same].mean() + losses[~same].sum() / near


def has_plain_ground(x: Float[Tensor, "n c h w"]) -> bool:
    """Whether nine tenths of the pixels at the edges are those of the ground: drawings and symbols, not photographs."""
    ground = x.flatten(1).median(1).values[:, None]
    edges = torch.cat([x[:, :, [0, -1], :].flatten(1), x[:, :, :, [0, -1]].flatten(1)], 1)
    return bool(((edges - ground).abs() < 0.1).float().mean() > 0.9)
