r"""Images with something drawn over them: pixels tinted by how much they matter, or all but a part dimmed.

tinted    y = (1 − a h) x + a h c          h from 0 to 1, c orange, a the strongest tint
framed    y = x inside, darker outside, with a line around what is inside
"""

from typing import Any

import numpy as np
from jaxtyping import Bool, Float, UInt8

from cutaway.look.images.pixel_urls import as_bytes
from cutaway.look.style.colours import CATEGORIES, channels

_TINT = np.array(channels(CATEGORIES[4]), float)  # orange
_STRONGEST, _DIMMED = 0.85, 0.35
_TIMES = 4  # pixels of the picture for one of the image, so that a line is thin


def tinted(image: Any, heat: Float[np.ndarray, "n m"]) -> UInt8[np.ndarray, "3 h w"]:
    """The image, the more orange the larger ``heat`` (0 to 1) is; one of another size is enlarged to the image's."""
    x = _coloured(image)
    share = _STRONGEST * np.clip(np.nan_to_num(enlarged(heat, x.shape[:2])), 0, 1)[..., None]
    grey = 0.65 * x  # so that white pixels can be tinted too
    return _as_image((1 - share) * grey + share * _TINT)


def framed(image: Any, inside: Bool[np.ndarray, "h w"]) -> UInt8[np.ndarray, "3 H W"]:
    """The image, dimmed outside of a part, with an orange line around the part."""
    x = _coloured(image)
    y = np.where(inside[..., None], x, _DIMMED * x)
    y, part = (v.repeat(_TIMES, 0).repeat(_TIMES, 1) for v in (y, inside))
    around = np.pad(part, 1)
    rim = part & ~(around[:-2, 1:-1] & around[2:, 1:-1] & around[1:-1, :-2] & around[1:-1, 2:])
    return _as_image(np.where(rim[..., None], _TINT, y))


def enlarged(values: np.ndarray, size: tuple[int, ...]) -> np.ndarray:
    """A matrix brought to another size: each pixel takes the value of the cell that it lies in.

    >>> enlarged(np.array([[1, 2]]), (2, 4)).tolist()
    [[1, 1, 2, 2], [1, 1, 2, 2]]
    """
    rows, columns = (np.arange(wanted) * have // wanted for wanted, have in zip(size, values.shape))
    return values[rows][:, columns]


def _coloured(image: Any) -> np.ndarray:
    x = as_bytes(image).astype(float)
    return x.repeat(3, -1) if x.shape[-1] == 1 else x


def _as_image(x: np.ndarray) -> np.ndarray:
    return np.clip(np.rint(x), 0, 255).astype(np.uint8).transpose(2, 0, 1)


__all__ = ["enlarged", "framed", "tinted"]
