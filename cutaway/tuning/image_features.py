r"""Features of images by a frozen body: kept where they fit into memory, else computed again in each step."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor, nn

from cutaway.blocks.losses.metrics import accuracy, macro_f1
from cutaway.data.batches import ShuffledRows
from cutaway.data.images.image_data import ImageRows
from cutaway.tasks.frozen_features import (
    KeptFeatures,
    Representation,
    features_in_memory,
    keep_features,
    represent_still,
)
from cutaway.tasks.images.pixels import as_pixels
from cutaway.waiting import doing

_TOGETHER = 256
RowBatches = ShuffledRows


class ImageFeatures:
    """What a head reads of some images."""

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
    logits = _logits(model, rows, features)
    return nn.functional.cross_entropy(logits, torch.from_numpy(features.images.targets[rows]).to(logits.device))


def _logits(model: Any, rows: Int[np.ndarray, "b"], features: ImageFeatures) -> Tensor:
    found = features(rows)
    return model.decide(found.values, None if found.mask is None or bool(found.mask.all()) else found.mask).float()


@torch.no_grad()
def feature_metrics(model: nn.Module, features: ImageFeatures) -> dict[str, float]:
    """Loss, accuracy and macro F1."""
    logits = torch.cat([_logits(model, rows, features).cpu() for rows in _in_order(len(features.images))])
    targets = torch.from_numpy(features.images.targets)
    predicted = logits.argmax(-1)
    return {
        "loss": nn.functional.cross_entropy(logits, targets).item(),
        "accuracy": accuracy(predicted, targets),
        "macro_f1": macro_f1(predicted, targets),
    }


__all__ = ["ImageFeatures", "RowBatches", "feature_cost", "feature_metrics"]
