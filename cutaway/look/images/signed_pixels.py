r"""Values with a sign as an image: filters, changes of images, slopes.

blue below zero, red above, white at zero;  colour at x/m, with m = max |x| of this array, or one that is given
"""

import numpy as np
from jaxtyping import UInt8

from cutaway.look.charts.arrays import Values, as_array
from cutaway.look.style.colours import SIGNED, table


def signed_pixels(values: Values, most: float | None = None) -> UInt8[np.ndarray, "3 h w"]:
    """(height, width), or (channels, height, width) whose mean is drawn, as bytes for `image_grid`.

    >>> signed_pixels([[-1.0, 0.0, 1.0]])[:, 0].T.tolist()
    [[5, 48, 97], [247, 247, 247], [103, 0, 31]]
    """
    x = as_array("values", values)
    if x.ndim not in (2, 3):
        raise ValueError(
            f"values must have shape (height, width) or (channels, height, width), got {x.shape}; pick one"
        )
    x = np.nan_to_num(x.mean(0) if x.ndim == 3 else x, posinf=0.0, neginf=0.0)
    most = float(np.abs(x).max()) if most is None else most
    colours = table(SIGNED, 511)
    return colours[np.rint(np.clip(x / (most or 1.0), -1, 1) * 255).astype(np.int64) + 255].transpose(2, 0, 1)


__all__ = ["signed_pixels"]
