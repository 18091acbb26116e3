r"""Images into a model and its answers back out, many at a time.

x = bytes / 255                       pixels from 0 to 1, on the model's device
"""

from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from cutaway.data.images.image_batches import ImageBatch, every_image
from cutaway.data.images.image_data import ImageRows

_TOGETHER = 256  # images evaluated in one pass


def as_pixels(model: nn.Module, pixels: np.ndarray) -> Float[Tensor, "b c h w"]:
    """Bytes as pixels from 0 to 1, on the model's device and in its precision."""
    weight = next(model.parameters())
    return torch.from_numpy(pixels).to(weight.device).to(weight.dtype).div_(255)


def as_tensors(model: nn.Module, batch: ImageBatch) -> tuple[Float[Tensor, "b c h w"], Int[Tensor, "b"]]:
    """Pixels from 0 to 1 and classes of a batch, on the model's device."""
    x = as_pixels(model, batch.pixels)
    return x, torch.from_numpy(batch.targets).to(x.device)


def evenly_spread(images: ImageRows, most: int) -> ImageRows:
    """At most ``most`` of some images, evenly spread over them."""
    return images if len(images) <= most else images.take(spread_places(len(images), most))


def spread_places(count: int, most: int) -> Int[np.ndarray, "m"]:
    """At most ``most`` places of ``count``, evenly spread.

    >>> spread_places(3, 5), spread_places(9, 3)
    (array([0, 1, 2]), array([0, 4, 8]))
    """
    return np.arange(count) if count <= most else np.linspace(0, count - 1, most).astype(np.int64)


@torch.no_grad()
def image_outputs(model: nn.Module, images: ImageRows, together: int = _TOGETHER) -> Tensor:
    """What the model answers to any number of images, on the CPU."""
    return torch.cat([model(as_pixels(model, batch.pixels)).float().cpu() for batch in every_image(images, together)])


@torch.no_grad()
def image_vectors(model: Any, images: ImageRows, together: int = _TOGETHER) -> Float[Tensor, "n w"]:
    """The vectors that a model has of any number of images, on the CPU."""
    parts = [model.embed(as_pixels(model, batch.pixels)).float().cpu() for batch in every_image(images, together)]
    return torch.cat(parts)
