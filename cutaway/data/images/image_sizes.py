r"""One size for all images, and how each comes to it.

    all of one shape        as they are; a side above 64 makes all smaller, in proportion
    of different shapes     a square: its side is the middle one of their longer sides, in fours, at most 64
    --size N                N pixels on the longer side

    crop       resized until it covers the frame, then cut at its middle        (keeps proportions, loses edges)
    pad        resized until it fits into the frame, black around it            (keeps everything, smaller)
    stretch    resized to the frame, whatever its proportions                   (keeps everything, distorted)

Making smaller averages over pixels (a triangle filter as wide as the pixel that it makes), so nothing is skipped.
"""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from cutaway.data.images.decoding import Look, pillow

if TYPE_CHECKING:
    from PIL.Image import Image

Fit = Literal["crop", "pad", "stretch"]
LARGEST = 64  # pixels a side, unless more are asked for: what a laptop trains on in minutes
MOST = 4096


def expect_size(size: int) -> None:
    """A size must be one that images can have."""
    if not (size == 0 or 4 <= size <= MOST):
        raise ValueError(
            f"size must be from 4 to {MOST} pixels on the longer side, got {size}; try size=32, or 0 for that of the "
            "images"
        )


def choose_size(shapes: Sequence[tuple[int, int]], size: int = 0) -> tuple[int, int]:
    """(height, width) for images of these shapes.

    >>> choose_size([(28, 28), (28, 28)]), choose_size([(200, 100), (200, 100)]), choose_size([(200, 100)], 50)
    ((28, 28), (64, 32), (50, 25))
    >>> choose_size([(30, 41), (20, 42), (100, 7)])
    (40, 40)
    """
    expect_size(size)
    different = set(shapes)
    if len(different) == 1:
        ((height, width),) = different
        longest = max(height, width)
        wanted = size or min(longest, LARGEST)
        return max(1, round(height * wanted / longest)), max(1, round(width * wanted / longest))
    middle = float(np.median([max(shape) for shape in shapes]))
    side = size or min(LARGEST, max(4, 4 * round(middle / 4)))
    return side, side


def fit_to(found: "Image", shape: tuple[int, int], fit: Fit) -> "Image":
    """An image in that (height, width)."""
    height, width = shape
    if found.size == (width, height):
        return found
    from PIL import ImageOps

    filter = pillow().Resampling.BILINEAR
    if fit == "crop":
        return ImageOps.fit(found, (width, height), filter)
    if fit == "pad":
        return ImageOps.pad(found, (width, height), filter)
    return found.resize((width, height), filter)


def size_notes(looks: Sequence[Look], shape: tuple[int, int], fit: Fit) -> list[str]:
    """What a person should know of the sizes before training."""
    counts = Counter((look.height, look.width) for look in looks)
    here = f"{shape[0]}×{shape[1]}"
    if set(counts) == {shape}:
        return []
    if len(counts) == 1:
        ((height, width),) = counts
        return [f"all are {height}×{width} pixels and become {here}; to choose: --size"]
    heights, widths = [h for h, _ in counts], [w for _, w in counts]
    how = {"crop": "the middle of each", "pad": "each whole, black around it", "stretch": "each stretched"}[fit]
    return [
        f"{len(counts):,} different sizes, from {min(heights)}×{min(widths)} to {max(heights)}×{max(widths)} (height × "
        f"width), become {here}: {how}; to choose: --size, --fit"
    ]


__all__ = ["LARGEST", "Fit", "choose_size", "expect_size", "fit_to", "size_notes"]
