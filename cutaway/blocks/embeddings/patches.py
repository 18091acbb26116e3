r"""Patch embedding: an image becomes a sequence of small squares, and each square a vector.

    x_p = flatten(patch p)          p counts row by row
    z_p = x_p W + b

A convolution whose stride is its kernel size does the same. Dosovitskiy et al. 2021, eq. 1. Notes: N3 §6.5.
"""

from einops import rearrange
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.checks import expect_float, expect_positive
from cutaway.blocks.dense.affine import Linear
from cutaway.inside.taps import Tap
from cutaway.overriding import override


def cut_patches(images: Float[Tensor, "*b c H W"], side: int) -> Float[Tensor, "*b p n"]:
    """x_p = flatten(patch p): non-overlapping squares of ``side`` pixels, channels first within a patch."""
    expect_float("images", images)
    expect_positive(side=side)
    if images.ndim < 3:
        raise ValueError(
            f"images must have shape (..., channels, height, width), got {tuple(images.shape)}; "
            "for one channel use images[..., None, :, :]"
        )
    height, width = images.shape[-2:]
    if height % side or width % side:
        raise ValueError(
            f"image sides must be multiples of the patch side, got {height} × {width} and side={side}; "
            f"resize or pad the images, to {_up(height, side)} × {_up(width, side)} for one"
        )
    return rearrange(images, "... c (i h) (j w) -> ... (i j) (c h w)", h=side, w=side)


def _up(length: int, side: int) -> int:
    return -(-length // side) * side


class PatchEmbedding(nn.Module):
    """z_p = flatten(patch p) W + b, one vector for each patch. Tap: ``output``."""

    def __init__(self, side: int, channels: int, width: int) -> None:
        super().__init__()
        expect_positive(side=side, channels=channels, width=width)
        self.side, self.channels = side, channels
        self.map = Linear(channels * side * side, width)
        self.output = Tap()

    @override
    def forward(self, images: Float[Tensor, "*b c H W"]) -> Float[Tensor, "*b p w"]:
        if images.ndim < 3 or images.shape[-3] != self.channels:
            raise ValueError(
                f"images must have shape (..., {self.channels}, height, width), got {tuple(images.shape)}; "
                "put the channels before height and width"
            )
        z = self.map(cut_patches(images, self.side))
        if self.output.live:
            z = self.output(z)
        return z

    @override
    def extra_repr(self) -> str:
        return f"side={self.side}, channels={self.channels}"
