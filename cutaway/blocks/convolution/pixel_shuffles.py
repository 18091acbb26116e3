r"""Pixel unshuffle: space becomes channels. Each square of r × r pixels is stacked into one pixel of r² channels.

    y_{(c, i, j), h, w} = x_{c, r·h + i, r·w + j}        unshuffle: (c, h, w) → (c·r², h/r, w/r)
    x_{c, r·h + i, r·w + j} = y_{(c, i, j), h, w}        shuffle, its inverse

Nothing is lost, unlike in pooling; a convolution that follows has r² times fewer places to visit. Shi et al. 2016,
eq. 4.
"""

from einops import rearrange
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.checks import expect_positive
from cutaway.overriding import override


def pixel_unshuffle(x: Float[Tensor, "*b c h w"], side: int) -> Float[Tensor, "*b d n m"]:
    """y_{(c, i, j), h, w} = x_{c, r·h + i, r·w + j} with r = ``side``.

    >>> import torch
    >>> pixel_unshuffle(torch.tensor([[[1.0, 2], [3, 4]]]), 2).flatten()
    tensor([1., 2., 3., 4.])
    """
    _expect_multiple(x, side, x.shape[-2:], "height and width", "pad or resize the images")
    # The channels of a pixel lie side by side in memory, as convolutions like them: one copy, not two.
    return rearrange(x, "... c (h i) (w j) -> ... h w (c i j)", i=side, j=side).movedim(-1, -3)


def pixel_shuffle(x: Float[Tensor, "*b d n m"], side: int) -> Float[Tensor, "*b c h w"]:
    """x_{c, r·h + i, r·w + j} = y_{(c, i, j), h, w}: the inverse of `pixel_unshuffle`.

    >>> import torch
    >>> pixel_shuffle(torch.arange(1.0, 5).reshape(4, 1, 1), 2)
    tensor([[[1., 2.],
             [3., 4.]]])
    """
    _expect_multiple(x, side**2, x.shape[-3:-2], "the channels", "use side² times as many", f"side²={side**2}")
    return rearrange(x, "... (c i j) h w -> ... c (h i) (w j)", i=side, j=side)


class PixelUnshuffle(nn.Module):
    """Space becomes channels: y_{(c, i, j), h, w} = x_{c, r·h + i, r·w + j}."""

    def __init__(self, side: int) -> None:
        super().__init__()
        expect_positive(side=side)
        self.side = side

    @override
    def forward(self, x: Float[Tensor, "*b c h w"]) -> Float[Tensor, "*b d n m"]:
        return pixel_unshuffle(x, self.side)

    @override
    def extra_repr(self) -> str:
        return f"side={self.side}"


def _expect_multiple(x: Tensor, of: int, sizes: tuple[int, ...], what: str, way_out: str, name: str = "") -> None:
    expect_positive(side=of)
    if x.ndim < 3 or any(size % of for size in sizes):
        raise ValueError(
            f"x must have shape (..., channels, height, width) with {what} a multiple of {name or f'side={of}'}, got "
            f"{tuple(x.shape)}; {way_out}"
        )


__all__ = ["PixelUnshuffle", "pixel_shuffle", "pixel_unshuffle"]
