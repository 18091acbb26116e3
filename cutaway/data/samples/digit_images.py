r"""Scikit-learn's handwritten digits as images: 1,797 of 8×8 pixels with 17 greys, by 43 people.

Alpaydin & Kaynak 1998, UCI's "Optical Recognition of Handwritten Digits" (the part that was its test set).
"""

from typing import TYPE_CHECKING

import numpy as np

from cutaway.extras import need

if TYPE_CHECKING:
    from cutaway.data.images.image_sources import ImageSource


def sample_digits(name: str) -> "ImageSource":
    """The digits, white on black."""
    from dataclasses import replace

    from cutaway.data.images.image_sources import open_images

    found = need("sklearn.datasets", "tables", f"the sample {name}").load_digits()
    pixels = (found.images * (255 / 16)).round().astype(np.uint8)
    return replace(open_images((pixels, found.target)), name=name)


__all__ = ["sample_digits"]
