r"""Classes of images by a trained model of images: its head, made for these labels or its own, gives the logits.

    cost = mean −log softmax(model(x))_y

With --head-only the body computes its features once (`ImageFeatures`); training and evaluation both read them.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from cutaway.data.batches import ShuffledRows
from cutaway.data.images.image_data import ImageRows
from cutaway.hub.pretrained import save_pretrained
from cutaway.overriding import override
from cutaway.tasks.frozen_features import (
    KeptFeatures,
    Representation,
    features_in_memory,
    keep_features,
    represent_still,
)
from cutaway.tasks.images.classifiers import ImageClassifier
from cutaway.tasks.images.pixels import as_pixels
from cutaway.training.jobs import Job
from cutaway.tuning.comparison import Answers, image_answers
from cutaway.tuning.head_learning import calibrate, learn_head
from cutaway.tuning.image_bases import keep_head
from cutaway.tuning.learner import TunedLearner
from cutaway.tuning.settings import BASE_HEAD, features_in_words
from cutaway.waiting import doing

_TOGETHER = 256  # images whose features are computed at a time
_COMPARED = 128  # images whose representations are compared


class TunedImageClasses(TunedLearner, ImageClassifier):
    """A model of images with a head of labels: as one that starts from nothing, but for what a frozen body spares."""

    features: "ImageFeatures | None" = None  # of training images, where the body is frozen
    held_out_features: "ImageFeatures | None" = None

    @override
    @property
    def head_is_new(self) -> bool:
        """Whether the head was made for this task; the base's own may stand in a copy with a scale of pixels."""
        if self.start is None:
            return False
        base = self.start.base
        return keep_head(base, base.model, self.task.parts.labels, self.settings.base_pooling) is None

    @override
    def export(self, to: str) -> Path | None:
        """A Hugging Face checkpoint, with the scale of the pixels folded into its first map where it has one."""
        super().export(to)
        return save_pretrained(self.model.without_scale(), to) if hasattr(self.model, "without_scale") else None

    @override
    def fit_first(self) -> None:
        super().fit_first()
        if self.settings.head_only:
            parts, most = self.task.parts, self.settings.features_memory
            self.features = ImageFeatures(self.model, parts.train, most)
            if parts.validation is not None:
                self.held_out_features = ImageFeatures(self.model, parts.validation, most)

    @override
    def batches(self, rank: int, world: int) -> Any:
        if self.features is None:
            return super().batches(rank, world)
        return ShuffledRows(len(self.task.parts.train), self.batch, self.settings.seed, rank, world)

    @override
    def cost(self, model: nn.Module, batch: Any) -> Tensor:
        return super().cost(model, batch) if self.features is None else feature_cost(model, batch, self.features)

    @override
    def logits(self, model: nn.Module, rows: ImageRows) -> Float[Tensor, "n c"]:
        kept = self.held_out_features
        return feature_logits(model, kept) if kept is not None and kept.images is rows else super().logits(model, rows)

    @override
    def facts(self) -> dict[str, Any]:
        if self.features is None:
            return {}
        words = features_in_words([self.features, self.held_out_features], self.settings.features_memory)
        return {"summary": f"{self.task.parts.summary()}\n{words}"}

    @override
    def task_job(self, rank: int, world: int) -> Job:
        job, settings, parts = super().task_job(rank, world), self.settings, self.task.parts
        if settings.calibrate and parts.validation is not None and world == 1:  # shards of weights cannot be divided
            job.calibrate = lambda model: calibrate(model, self._scores)
        if settings.fit_head and self.head_is_new:
            seen = self.features or ImageFeatures(self.model, parts.train, settings.features_memory)
            learn_head(job, settings, seen, parts.train.targets.astype("int64"), known=False, world=world)
        return job

    def _scores(self, model: Any) -> tuple[Tensor, Tensor]:
        held = self.task.parts.validation
        assert held is not None
        return self.logits(model, held), torch.from_numpy(held.targets.astype("int64"))

    # Beside the base.

    @override
    def held_out_inputs(self) -> list[tuple[Any, ...]]:
        """Images that it was not tuned on, as arguments of the model."""
        rows = self.task.parts.validation
        return [] if rows is None else [(as_pixels(self.model, rows.take(slice(0, _COMPARED)).pixels()),)]

    @override
    def answers_before_and_after(self, base: Any) -> Answers | None:
        """What the base and the tuned model answer to held-out images."""
        parts = self.task.parts
        if parts.validation is None or not hasattr(base, "embed"):
            return None
        return image_answers(base, self.model, parts, self.run.about["data"]["tuning"].get("head") == BASE_HEAD)


class ImageFeatures:
    """What a head reads of some images: kept where they fit into memory, else computed again in each step."""

    def __init__(self, model: Any, images: ImageRows, megabytes: float) -> None:
        self.model, self.images = model, images
        first = self.compute(np.array([0])).values
        each = first.shape[1] if first.ndim == 3 else 0
        self.megabytes = features_in_memory(len(images) * max(1, each), first.shape[-1])
        self.fits = self.megabytes <= megabytes
        self.kept: KeptFeatures | None = None
        if self.fits:
            lengths = np.full(len(images), each) if each else None
            with doing(f"computing the features of {len(images):,} images"):
                self.kept = keep_features(self.compute, _in_order(len(images)), len(images), lengths)

    def compute(self, rows: Int[np.ndarray, "b"]) -> Representation:
        values = represent_still(self.model, as_pixels(self.model, self.images.pixels(rows)))
        mask = torch.ones(values.shape[:2], dtype=torch.bool, device=values.device) if values.ndim == 3 else None
        return Representation(values, mask)

    def __call__(self, rows: Int[np.ndarray, "b"]) -> Representation:
        return self.compute(rows) if self.kept is None else self.kept(rows)


def _in_order(count: int) -> Iterator[Int[np.ndarray, "b"]]:
    for first in range(0, count, _TOGETHER):
        yield np.arange(first, min(first + _TOGETHER, count))


def feature_cost(model: nn.Module, rows: Int[np.ndarray, "b"], features: ImageFeatures) -> Tensor:
    """Mean of −log p(class | image) over a batch, in nats."""
    logits = _decided(model, rows, features)
    return nn.functional.cross_entropy(logits, torch.from_numpy(features.images.targets[rows]).to(logits.device))


@torch.no_grad()
def feature_logits(model: nn.Module, features: ImageFeatures) -> Float[Tensor, "n c"]:
    """The logits of all images whose features are known."""
    return torch.cat([_decided(model, rows, features).cpu() for rows in _in_order(len(features.images))])


def _decided(model: Any, rows: Int[np.ndarray, "b"], features: ImageFeatures) -> Tensor:
    found = features(rows)
    return model.decide(found.values, None if found.mask is None or bool(found.mask.all()) else found.mask).float()
