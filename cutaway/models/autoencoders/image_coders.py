r"""Networks from images to vectors and back, which autoencoders are made of.

    linear    h = x W + b                                    x: all pixels in a row
    dense     h ← φ(h W + b)                                 depth times
    conv      h ← residual(unshuffle(h));  h = φ(h W + b)    each stage halves the sides and doubles the channels

The decoder is the mirror image of the encoder, and its last map gives one number for each pixel and channel. Images
whose sides the stages cannot halve are padded by copies of their border, and what is decoded is cut.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.checks import expect_choice, expect_positive
from cutaway.blocks.convolution.grids import Conv2d
from cutaway.blocks.convolution.pixel_shuffles import pixel_shuffle, pixel_unshuffle
from cutaway.blocks.dense.activations import find_activation
from cutaway.blocks.dense.affine import Dense, Linear
from cutaway.blocks.generative.conditioned_residual import ConditionedResidual, channel_norm
from cutaway.models.specs.plain_data import NamedSpec
from cutaway.overriding import override

DESIGNS = ("linear", "dense", "conv")
CODES = ("real", "binary")
_STAGES = 2  # halvings of a convolutional coder


@dataclass(frozen=True)
class ImageCoderSpec(NamedSpec):
    """The images (``image`` is height and width), the design of encoder and decoder, and their sizes."""

    image: tuple[int, int]
    channels: int = 1
    design: str = "dense"  # linear | dense | conv
    width: int = 512  # units of a dense layer; of conv, channels of the first stage
    depth: int = 2  # dense layers; of conv, residual blocks a stage

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_choice("design", self.design, DESIGNS)
        expect_positive(height=self.image[0], width_of_image=self.image[1], channels=self.channels)
        expect_positive(width=self.width, depth=self.depth)

    @override
    def layers_and_width(self) -> tuple[int, int]:
        return (0, 0) if self.design == "linear" else (self.depth, self.width)

    @property
    def pixels(self) -> int:
        """Numbers in an image."""
        return self.channels * self.image[0] * self.image[1]

    @property
    def sides(self) -> tuple[int, int]:
        """Height and width after the stages of a convolutional encoder."""
        factor = 2**_STAGES
        return -(-self.image[0] // factor), -(-self.image[1] // factor)

    @property
    def features(self) -> int:
        """The width of what an encoder's body gives, and a decoder's takes."""
        if self.design == "conv":
            return self.width * 8
        return self.pixels if self.design == "linear" else self.width


def expect_images(images: Tensor, spec: Any) -> None:
    """Images must have the shape that the model was built for."""
    wanted = (spec.channels, *spec.image)
    if images.ndim != 4 or tuple(images.shape[1:]) != wanted:
        raise ValueError(
            f"images must have shape (batch, {', '.join(map(str, wanted))}), got {tuple(images.shape)}; resize or "
            "convert them, or build the model for their size; for one image use images[None]"
        )
    if not images.is_floating_point():
        raise ValueError(f"images must be floats from 0 to 1, got {images.dtype}; use images.float() / 255")


class DenseStack(nn.Module):
    """Dense layers, one after another: h ← φ(h W + b)."""

    def __init__(self, widths: list[int], activation: str = "silu") -> None:
        super().__init__()
        φ = find_activation(activation)
        self.layers = nn.ModuleList(Dense(i, o, φ) for i, o in pairwise(widths))

    @override
    def forward(self, x: Float[Tensor, "b i"]) -> Float[Tensor, "b o"]:
        for layer in self.layers:
            x = layer(x)
        return x


class ImageEncoder(nn.Module):
    """Images to feature vectors."""

    def __init__(self, spec: ImageCoderSpec) -> None:
        super().__init__()
        self.spec = spec
        self.stages = nn.ModuleList()
        if spec.design == "conv":
            channels = [spec.channels * 4, spec.width, 2 * spec.width]
            self.start = Conv2d(spec.channels * 4, spec.width)
            self.down = Conv2d(4 * spec.width, 2 * spec.width, kernel=1)
            for c in channels[1:]:
                self.stages.append(nn.ModuleList(ConditionedResidual(c, c) for _ in range(spec.depth)))
            self.norm = channel_norm(2 * spec.width)
            inner = 2 * spec.width * spec.sides[0] * spec.sides[1]
            self.dense = DenseStack([inner, spec.features])
        elif spec.design == "dense":
            self.dense = DenseStack([spec.pixels, *[spec.width] * spec.depth])

    @override
    def forward(self, images: Float[Tensor, "b c h w"]) -> Float[Tensor, "b f"]:
        expect_images(images, self.spec)
        if self.spec.design == "linear":
            return images.flatten(1)
        x = images
        if self.spec.design == "conv":
            x = _run(self.stages[0], self.start(pixel_unshuffle(pad_to_multiple(images, 2**_STAGES), 2)))
            x = _run(self.stages[1], self.down(pixel_unshuffle(x, 2)))
            x = nn.functional.silu(self.norm(x))
        return self.dense(x.flatten(1))


class ImageDecoder(nn.Module):
    """Codes to images: one number for each pixel and channel, of any size."""

    def __init__(self, spec: ImageCoderSpec, inputs: int) -> None:
        super().__init__()
        self.spec = spec
        self.stages = nn.ModuleList()
        if spec.design == "conv":
            inner = 2 * spec.width * spec.sides[0] * spec.sides[1]
            self.dense = DenseStack([inputs, spec.features])
            self.spread = Linear(spec.features, inner)
            self.up = Conv2d(2 * spec.width, 4 * spec.width, kernel=1)
            for c in (2 * spec.width, spec.width):
                self.stages.append(nn.ModuleList(ConditionedResidual(c, c) for _ in range(spec.depth)))
            self.norm = channel_norm(spec.width)
            self.out: Conv2d | Linear = Conv2d(spec.width, 4 * spec.channels)
        else:
            widths = [inputs] if spec.design == "linear" else [inputs, *[spec.width] * spec.depth]
            self.dense = DenseStack(widths)
            self.out = Linear(widths[-1], spec.pixels)

    @override
    def forward(self, codes: Float[Tensor, "b z"]) -> Float[Tensor, "b c h w"]:
        spec, x = self.spec, self.dense(codes)
        if spec.design != "conv":
            return self.out(x).view(len(x), spec.channels, *spec.image)
        x = self.spread(x).view(len(x), 2 * spec.width, *spec.sides)
        x = pixel_shuffle(self.up(_run(self.stages[0], x)), 2)
        x = nn.functional.silu(self.norm(_run(self.stages[1], x)))
        return pixel_shuffle(self.out(x), 2)[..., : spec.image[0], : spec.image[1]]


def pad_to_multiple(images: Float[Tensor, "b c h w"], side: int) -> Float[Tensor, "b c H W"]:
    """Images whose sides are multiples of ``side``: the last row and column are repeated."""
    height, width = (-size % side for size in images.shape[-2:])
    return nn.functional.pad(images, (0, width, 0, height), mode="replicate") if height or width else images


def _run(stage: Any, x: Tensor) -> Tensor:
    for block in stage:
        x = block(x)
    return x
