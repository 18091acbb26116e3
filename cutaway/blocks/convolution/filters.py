r"""Filters made by hand: kernels of 3 × 3 whose effect on an image can be said in a word.

    identity        edge            sharpen = identity + edge     box blur
    0 0 0           0 −1  0           0 −1  0                      1 1 1
    0 1 0          −1  4 −1          −1  5 −1                      1 1 1  · 1/9
    0 0 0           0 −1  0           0 −1  0                      1 1 1

    y_t = Σ_j x_{t + j − 1} K_j         every channel on its own

and Sobel's two, the slope along columns and along rows. Edge and sharpen compare a pixel with its four neighbours, or
with all eight (−1 at the corners too, 8 and 9 in the middle), which see diagonal edges as strongly as straight ones.
The entries of an edge filter add up to 0: a flat area gives 0.
Sobel, Feldman 1968; Gonzalez, Woods 2018, §3.5–3.6. Notes: N3 §6.2.1.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from cutaway.blocks.checks import expect_choice, expect_float
from cutaway.blocks.convolution.grids import GridPadding, cross_correlate_grid

_TABLES = {
    "identity": ((0, 0, 0), (0, 1, 0), (0, 0, 0)),
    "box blur": ((1 / 9,) * 3,) * 3,
    "edge": ((0, -1, 0), (-1, 4, -1), (0, -1, 0)),
    "sharpen": ((0, -1, 0), (-1, 5, -1), (0, -1, 0)),
    "slope across": ((-1, 0, 1), (-2, 0, 2), (-1, 0, 1)),
    "slope down": ((-1, -2, -1), (0, 0, 0), (1, 2, 1)),
}
_EIGHT = {  # with the corners
    "edge": ((-1, -1, -1), (-1, 8, -1), (-1, -1, -1)),
    "sharpen": ((-1, -1, -1), (-1, 9, -1), (-1, -1, -1)),
}
FILTERS = tuple(_TABLES)


def image_filter(name: str, neighbours: int | None = None) -> Float[Tensor, "3 3"]:
    """The kernel of that name: identity, box blur, edge, sharpen, slope across or slope down.

    Edge and sharpen compare a pixel with 4 ``neighbours`` (the default) or with 8.

    >>> image_filter("edge")
    tensor([[ 0., -1.,  0.],
            [-1.,  4., -1.],
            [ 0., -1.,  0.]])
    >>> image_filter("edge", neighbours=8).sum()  # nothing happens where the image is flat
    tensor(0.)
    """
    expect_choice("name", name, FILTERS)
    if neighbours not in (None, 4, 8):
        raise ValueError(f"neighbours must be 4 or 8, got {neighbours}; try neighbours=4")
    if neighbours is not None and name not in _EIGHT:
        raise ValueError(
            f"neighbours are chosen for {' and '.join(_EIGHT)} alone, got neighbours={neighbours} for {name!r}; "
            "leave them out"
        )
    table = (_EIGHT if neighbours == 8 else _TABLES)[name]
    return torch.tensor(table, dtype=torch.get_default_dtype())


def filter_image(
    image: Float[Tensor, "*b c h w"], kernel: Float[Tensor, "k l"] | str, padding: GridPadding = "reflect"
) -> Float[Tensor, "*b c n m"]:
    """y_t = Σ_j x_{t + j − 1} K_j for every channel on its own; ``kernel`` is a matrix or a name of `image_filter`.

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
