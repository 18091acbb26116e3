r"""Batches of images: every image once in each epoch, in an order drawn anew for each; one gather a batch.

batch n = images[order(seed, epoch)[n·batch … (n + 1)·batch − 1]]            bytes, (b, c, h, w)
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Int, UInt8

from cutaway.data.batches import Batches, ShuffledRows
from cutaway.data.images.image_data import ImageRows
from cutaway.overriding import override


class ImageBatch(NamedTuple):
    """Images as bytes, and the number of the class of each; −1 if unknown."""

    pixels: UInt8[np.ndarray, "b c h w"]
    targets: Int[np.ndarray, "b"]


class ImageBatches(Batches[ImageBatch]):
    """An endless stream of batches of images."""

    def __init__(self, images: ImageRows, batch: int, seed: int = 0, rank: int = 0, world: int = 1) -> None:
        super().__init__(batch, seed, rank, world)
        self.images = images
        self.order = ShuffledRows(len(images), batch, seed)

    @override
    def at(self, step: int) -> ImageBatch:
        places = self.share(self.order.at(step))
        return ImageBatch(self.images.pixels(places), self.images.targets[places])


def every_image(images: ImageRows, batch: int = 256) -> Iterator[ImageBatch]:
    """All images in their order, for evaluation; the last batch may be smaller."""
    for first in range(0, len(images), batch):
        places = slice(first, first + batch)
        yield ImageBatch(images.pixels(places), images.targets[places])


__all__ = ["ImageBatch", "ImageBatches", "every_image"]
