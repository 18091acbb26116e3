r"""A contact sheet: many images side by side in one array of bytes, every pixel a crisp square.

sheet[r·(h + g) : …, c·(w + g) : …] = image[r·columns + c], repeated k times in both directions
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import UInt8

from cutaway.look.images.pixel_urls import as_bytes

_WIDE = 800  # pixels of a sheet, about
_GROUND = 255


def contact_sheet(images: Sequence[Any], columns: int = 0, wide: int = _WIDE) -> UInt8[np.ndarray, "h w k"]:
    """Images of one shape, line by line, on white; about ``wide`` pixels wide, by whole multiples of their size.

    ``columns`` in a line; 0 for about as many as there are lines.
    """
    if not len(images):
        raise ValueError("a sheet needs an image, got none; pass some")
    columns = min(columns or math.ceil(math.sqrt(len(images))), len(images))
    pictures = [as_bytes(image) for image in images]
    height, width, channels = pictures[0].shape
    times = max(1, round(wide / (columns * (width + 1))))
    gap = max(1, times // 2)
    tall, broad = height * times + gap, width * times + gap
    lines = -(-len(pictures) // columns)
    sheet = np.full((lines * tall + gap, columns * broad + gap, channels), _GROUND, np.uint8)
    for i, picture in enumerate(pictures):
        top, left = gap + (i // columns) * tall, gap + (i % columns) * broad
        sheet[top : top + height * times, left : left + width * times] = picture.repeat(times, 0).repeat(times, 1)
    return sheet


__all__ = ["contact_sheet"]
