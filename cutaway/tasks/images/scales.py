r"""What a model takes from its training images: the scale of their pixels, and how deep their size lets it be.

μ_c, σ_c = mean and spread of channel c over all pixels, from 0 to 1
"""

import math

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from cutaway.blocks.checks import near_divisors
from cutaway.data.images.image_data import ImageRows

_MEASURED = 5_000  # images that mean and spread are taken from
_PATCHES = 400  # at most
_LAST = 8  # the last stage's maps are smaller than this


def channel_statistics(images: ImageRows) -> tuple[Float[Tensor, "c"], Float[Tensor, "c"]]:
    """Mean and spread of each channel, of pixels from 0 to 1; of many images, of some spread evenly over them."""
    step = max(1, len(images) // _MEASURED)
    pixels = images.pixels(np.arange(0, len(images), step)).astype(np.float64) / 255
    mean, spread = pixels.mean((0, 2, 3)), pixels.std((0, 2, 3))
    return torch.from_numpy(mean), torch.from_numpy(spread)


def fitting_squares(side: int) -> int:
    """The side of the squares that become channels: 2 in images that are large enough to lose nothing by it."""
    return 2 if side >= 16 else 1


def fitting_stages(side: int, squares: int) -> int:
    """How many stages bring the maps of images with this shorter side below 8 pixels, each halving them.

    >>> fitting_stages(28, 2), fitting_stages(8, 1), fitting_stages(64, 2)
    (2, 2, 4)
    """
    return max(1, math.floor(math.log2(side / squares / _LAST)) + 2) if side >= squares * _LAST else 1


def last_places(height: int, width: int, squares: int, stages: int) -> tuple[int, int]:
    """Rows and columns of the last feature maps: squares make sides smaller (rounded up), each later stage halves them.

    >>> last_places(28, 28, 2, 2), last_places(31, 17, 2, 2)
    ((7, 7), (8, 4))
    """
    rows, columns = (-(-side // squares) >> (stages - 1) for side in (height, width))
    return rows, columns


def expect_room(side: int, squares: int, stages: int) -> None:
    """The last stage must have a pixel left: squares and stages make images smaller."""
    if side < squares * 2 ** max(0, stages - 1):
        most = fitting_stages(side, 1)
        raise ValueError(
            f"images must have a pixel left after squares and stages, got squares={squares}, stages={stages} for a "
            f"side of {side}; try squares=1, stages={most}"
        )


def expect_patch(patch: int, height: int, width: int) -> None:
    """Patches must tile the image."""
    if height % patch or width % patch:
        near = near_divisors(math.gcd(height, width), patch)
        raise ValueError(
            f"patch must divide the sides of the images, got patch={patch} for {height} × {width}; try "
            f"patch={' or patch='.join(map(str, near))}"
        )


def fitting_patch(height: int, width: int, across: int = 4) -> int:
    """The side of a patch that fits images of this size: a divisor of both sides, so that about ``across`` are a side.

    >>> fitting_patch(28, 28), fitting_patch(8, 8), fitting_patch(48, 64), fitting_patch(28, 28, 7)
    (7, 2, 8, 4)
    """
    both, wanted = math.gcd(height, width), max(2, min(height, width) / across)
    sides = [side for side in range(1, both + 1) if both % side == 0 and 4 <= height * width / side**2 <= _PATCHES]
    if not sides:
        near = max(4, 4 * round(min(height, width) / 4))
        raise ValueError(
            f"patches must divide the sides of the images, got {height} × {width}; try size={near} with fit=pad or crop"
        )
    return min(sides, key=lambda side: abs(side - wanted))


__all__ = [
    "channel_statistics",
    "expect_patch",
    "expect_room",
    "fitting_patch",
    "fitting_squares",
    "fitting_stages",
    "last_places",
]
