r"""Filters made by hand: kernels of 3 × 3 whose effect on an image can be said in a word.

    identity        edge            sharpen = identity + edge     box blur
    0 0 0          −1 −1 −1          −1 −1 −1                      1 1 1
    0 1 0          −1  8 −1          −1  9 −1                      1 1 1  · 1/9
    0 0 0          −1 −1 −1          −1 −1 −1                      1 1 1

    y_t = Σ_j x_{t + j − 1} K_j         every channel on its own

and Sobel's two, the slope along columns and along rows. The entries of an edge filter add up to 0: a flat area gives 0.
Sobel, Feldman 1968; Gonzalez, Woods 2018, §3.5–3.6. Notes: N3 §6.1.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from cutaway.blocks.checks import expect_choice, expect_float
from cutaway.blocks.convolution.grids import GridPadding, cross_correlate_grid

_TABLES = {
    "identity": ((0, 0, 0), (0, 1, 0), (0, 0, 0)),
    "box blur": ((1 / 9,) * 3,) * 3,
    "edge": ((-1, -1, -1), (-1, 8, -1), (-1, -1, -1)),
    "sharpen": ((-1, -1, -1), (-1, 9, -1), (-1, -1, -1)),
    "slope across": ((-1, 0, 1), (-2, 0, 2), (-1, 0, 1)),
    "slope down": ((-1, -2, -1), (0, 0, 0), (1, 2, 1)),
}
FILTERS = tuple(_TABLES)


def image_filter(name: str) -> Float[Tensor, "3 3"]:
    """The kernel of that name: identity, box blur, edge, sharpen, slope across or slope down.

    >>> image_filter("edge").sum()  # nothing happens where the image is flat
    tensor(0.)
    """
    expect_choice("name", name, FILTERS)
    return torch.tensor(_TABLES[name], dtype=torch.get_default_dtype())


def filter_image(
    image: Float[Tensor, "*b c h w"], kernel: Float[Tensor, "k l"] | str, padding: GridPadding = "reflect"
) -> Float[Tensor, "*b c n m"]:
    """y_t = Σ_j x_{t + j − 1} K_j for every channel on its own; ``kernel`` is a matrix or the name of one by hand.

    >>> filter_image(torch.ones(1, 2, 2), "box blur")
    tensor([[[1., 1.],
             [1., 1.]]])
    """
    expect_float("image", image)
    k = image_filter(kernel) if isinstance(kernel, str) else kernel
    k = k.to(image)
    if image.ndim < 3:
        raise ValueError(
            f"image must have shape (..., channels, height, width), got {tuple(image.shape)}; "
            "for one channel use image[..., None, :, :]"
        )
    return cross_correlate_grid(image[..., None, :, :], k[None, None], padding=padding)[..., 0, :, :]


__all__ = ["FILTERS", "filter_image", "image_filter"]
