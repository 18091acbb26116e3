r"""Images as the data of a task, and a model of images as a learner: what all families of images share.

    files or arrays → one size → bytes (n, c, h, w) → pixels from 0 to 1 → the model, which brings them to its own scale

A run keeps in images.json its labels and the shape of its images, so that new ones are read as those of training were.
"""

import dataclasses
import warnings
from collections.abc import Iterator
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float, Int
from torch import Tensor, nn

from cutaway.atomic_files import read_json, write_json
from cutaway.data.images.image_batches import ImageBatches
from cutaway.data.images.image_data import ImageData, ImageRows, read_images, read_new_images
from cutaway.overriding import override
from cutaway.tasks.images.pixels import as_pixels, image_vectors
from cutaway.tasks.learner import Learner
from cutaway.tasks.subjects import SHOWN, Subject
from cutaway.tasks.task import Files, Task
from cutaway.training.augmentation.image_changes import expect_fitting, read_changes
from cutaway.training.jobs import Job

IMAGES = "images.json"  # in the run folder
_WITHOUT_LABELS = 16  # images that a look is given where they have no classes
_TOGETHER = 512  # images whose vectors are asked for at a time


class ImageTask(Task):
    """Images in three parts. ``shape`` is a (channels, height, width) that is fixed already: that of a base's."""

    needs_labels: ClassVar[bool] = False  # whether images without a label are left out
    parts: ImageData

    def __init__(self, settings: Any, run: Any = None, shape: tuple[int, int, int] | None = None) -> None:
        super().__init__(settings, run)
        self.shape = shape

    @override
    def read_parts(self) -> ImageData:
        settings, shape = self.settings, self.shape
        parts = read_images(
            settings.data,
            labelled=self.needs_labels,
            size=settings.size,
            channels=settings.channels if shape is None else shape[0],
            fit=settings.fit,
            shape=None if shape is None else shape[1:],
            target=settings.target,
            level=settings.class_folder,
            validation=settings.validation,
            test=settings.test_file or settings.test,
            seed=settings.seed,
            strict=settings.strict,
            encoding=settings.encoding,
            hold_out=self.hold_out,
        )
        expect_fitting(read_changes(getattr(settings, "augment", "")), *parts.shape[1:])
        return parts

    @property
    def hold_out(self) -> Any:
        """What validation and test keep from training: images, or whole classes."""
        return "images"

    @cached_property
    def about(self) -> dict[str, Any]:
        """The labels, the shape that images were brought to, and how."""
        if self.run is not None:
            return read_json(self.file_of_run(IMAGES, "of images"), "labels", "shape", "fit")
        return {"labels": list(self.parts.labels), "shape": list(self.parts.shape), "fit": self.settings.fit}

    @property
    def labels(self) -> list[str]:
        return self.about["labels"]

    @override
    def facts(self) -> dict[str, Any]:
        facts = super().facts()
        if self.settings.meanings:
            facts["meanings"] = dict(self.settings.meanings)
        return facts

    @override
    def files(self) -> Files:
        about = self.about
        return {IMAGES: lambda path: write_json(path, about)}

    def inputs(self, source: Any) -> ImageRows:
        """New images (a path, several, arrays, Pillow images), brought to the shape of those of training.

        Files that cannot be read are named in a warning.
        """
        if isinstance(source, ImageRows):
            return source
        channels, height, width = self.about["shape"]
        rows, notes = read_new_images(source, (channels, height, width), self.about["fit"], self.labels)
        for note in notes:
            warnings.warn(note, stacklevel=2)
        return rows

    def images_to_show(self, given: Any = None) -> tuple[ImageRows, str]:
        """Images for a look, and what they are: those given, else some of each class that were not trained on."""
        if given is not None:
            return self.inputs(given), "your images"
        parts = self._lenient().parts
        rows, words = held_out(parts)
        if parts.labels:
            return rows.take(first_of_each(rows.targets)), f"one of each class, {words}"
        return rows.take(slice(0, _WITHOUT_LABELS)), words

    def _lenient(self) -> "ImageTask":
        """The same task, which leaves damaged images out: a look is no place to refuse them."""
        if not self.settings.strict:
            return self
        return type(self)(dataclasses.replace(self.settings, strict=False), self.run, self.shape)


def held_out(parts: ImageData) -> tuple[ImageRows, str]:
    """Images of validation, or of training where there are no others; and words for them."""
    if parts.validation is None:
        return parts.train, "images that it was trained on"
    return parts.validation, "images that it was not trained on"


def first_of_each(targets: Int[np.ndarray, "n"], most: int = SHOWN) -> Int[np.ndarray, "m"]:
    """The first image of every class."""
    _, first = np.unique(targets, return_index=True)
    return first[:most]


class ImageLearner(Learner):
    """A model of images."""

    unit = "images"
    task: ImageTask
    model: Any

    @property
    def batch(self) -> int:
        """Images in a batch; fewer images are taken whole."""
        return min(self.settings.batch, len(self.task.parts.train))

    @override
    def batches(self, rank: int, world: int) -> Any:
        return ImageBatches(self.task.parts.train, self.batch, self.settings.seed, rank, world)

    @override
    def job(self, rank: int = 0, world: int = 1) -> Job:
        job = super().job(rank, world)
        job.units = self.batch
        return job

    def measure(self, model: nn.Module, rows: ImageRows) -> dict[str, float]:
        """Metrics of some images."""
        raise ValueError(f"a learner needs metrics, got {type(self).__name__} without; define `measure`")

    @override
    def evaluate(self, model: nn.Module) -> dict[str, float]:
        rows = self.task.parts.validation
        return {} if rows is None else self.measure(model, rows)

    def embed(self, inputs: Any) -> Float[Tensor, "n w"]:
        """A vector for each image: what the model knows of it before it answers."""
        if not hasattr(self.model, "embed"):
            raise ValueError(
                f"a run of {self.settings.name!r} cannot embed: its model has no vectors of images; "
                "`cutaway list recipes` tells what each can do"
            )
        return image_vectors(self.model, self.task.inputs(inputs))

    def embedded_items(
        self, source: str, column: str = "", encoding: str = "utf-8"
    ) -> Iterator[tuple[list[str], ImageRows]]:
        """The images of a folder or file, a few hundred at a time: their names, and what `embed` takes."""
        if column:
            raise ValueError(f"column is for tables of texts, got column={column!r} for a run of images; leave it out")
        rows = self.task.inputs(source)
        for first in range(0, len(rows), _TOGETHER):
            some = rows.take(slice(first, first + _TOGETHER))
            yield [str(name) for name in some.names], some

    @override
    def subject(self, given: str | None = None) -> Subject:
        """Images of a path; without one, some of each class that it was not trained on."""
        return image_subject(self.model, *self.task.images_to_show(given))


def image_subject(model: nn.Module, images: ImageRows, words: str) -> Subject:
    """Some images for their model."""
    if len(images) > SHOWN:
        words, images = f"the first {SHOWN} of {len(images):,} {words}", images.take(slice(0, SHOWN))
    return Subject((as_pixels(model, images.pixels()),), words)
