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


@torch.no_grad()
def image_outputs(model: nn.Module, images: ImageRows, together: int = _TOGETHER) -> Tensor:
    """What the model answers to any number of images, on the CPU."""
    return torch.cat([model(as_pixels(model, batch.pixels)).float().cpu() for batch in every_image(images, together)])


@torch.no_grad()
def image_vectors(model: Any, images: ImageRows, together: int = _TOGETHER) -> Float[Tensor, "n w"]:
    """The vectors that a model has of any number of images, on the CPU."""
    parts = [model.embed(as_pixels(model, batch.pixels)).float().cpu() for batch in every_image(images, together)]
    return torch.cat(parts)
