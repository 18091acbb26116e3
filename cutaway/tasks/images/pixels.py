r"""Images into a model and its answers back out, many at a time.

x = bytes / 255                       pixels from 0 to 1, on the model's device
"""

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from cutaway.atomic_files import read_json
from cutaway.data.images.image_batches import ImageBatch, every_image
from cutaway.data.images.image_data import ImageRows, read_new_images
from cutaway.tasks.subjects import SHOWN, Subject

if TYPE_CHECKING:
    from cutaway.runs.run import Run

_TOGETHER = 256  # images evaluated in one pass


def as_pixels(model: nn.Module, pixels: np.ndarray) -> Float[Tensor, "b c h w"]:
    """Bytes as pixels from 0 to 1, on the model's device and in its precision."""
    weight = next(model.parameters())
    return torch.from_numpy(pixels).to(weight.device).to(weight.dtype).div_(255)


def as_tensors(model: nn.Module, batch: ImageBatch) -> tuple[Float[Tensor, "b c h w"], Int[Tensor, "b"]]:
    """Pixels from 0 to 1 and classes of a batch, on the model's device."""
    x = as_pixels(model, batch.pixels)
    return x, torch.from_numpy(batch.targets).to(x.device)


@torch.no_grad()
def image_outputs(model: nn.Module, images: ImageRows, together: int = _TOGETHER) -> Tensor:
    """What the model answers to any number of images, on the CPU."""
    return torch.cat([model(as_pixels(model, batch.pixels)).float().cpu() for batch in every_image(images, together)])


@torch.no_grad()
def image_vectors(model: Any, images: ImageRows, together: int = _TOGETHER) -> Float[Tensor, "n w"]:
    """The vectors that a model has of any number of images, on the CPU."""
    parts = [model.embed(as_pixels(model, batch.pixels)).float().cpu() for batch in every_image(images, together)]
    return torch.cat(parts)


def image_about(run: "Run") -> dict[str, Any]:
    """The labels of a run of images, and the shape that they were brought to."""
    path = run.file("images.json")
    if path is None:
        raise ValueError(f"a run of images needs its images.json, got {run.path} without it; take it from a copy")
    return read_json(path, "labels", "shape", "fit")


def new_images(run: "Run", inputs: Any) -> ImageRows:
    """New images as those of training were read; what cannot be read is told in a warning."""
    if isinstance(inputs, ImageRows):
        return inputs
    about = image_about(run)
    channels, height, width = about["shape"]
    rows, notes = read_new_images(inputs, (channels, height, width), about["fit"], about["labels"])
    for note in notes:
        warnings.warn(note, stacklevel=2)
    return rows


def choose_each(targets: Int[np.ndarray, "n"], most: int = SHOWN) -> Int[np.ndarray, "m"]:
    """The first image of every class."""
    _, first = np.unique(targets, return_index=True)
    return first[:most]


def image_subject(run: "Run", images: ImageRows, words: str) -> Subject:
    """Some images for their model."""
    if len(images) > SHOWN:
        words, images = f"the first {SHOWN} of {len(images):,} {words}", images.take(slice(0, SHOWN))
    return Subject((as_pixels(run.model, images.pixels()),), words)


__all__ = [
    "as_pixels",
    "as_tensors",
    "choose_each",
    "image_about",
    "image_outputs",
    "image_subject",
    "image_vectors",
    "new_images",
]
