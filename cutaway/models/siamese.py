r"""`Siamese` turns an image into a vector, so that images of one kind lie near each other: of kinds never seen, too.

    x ← x(m + (s / s₀) p)                          what stands out comes to the middle, in one size (``centred``)
    x ← unshuffle((x − μ) / σ)                     small squares become channels
    x ← pool(block(… block(x)))                    stages times; block(x) = ReLU(norm(conv(x)))
    z = x W + b;   z ← z / ‖z‖                     a vector of length 1

m and s are the mean place and the spread of what stands out from the ground (the median of the pixels), p the places
around the image's middle. Two images through the same network are a siamese pair, and z · z' = 1 − ½ ‖z − z'‖² says how
alike they are. Bromley et al. 1993; Koch, Zemel, Salakhutdinov 2015 (one-shot classification). Notes: N3 §8.6.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.checks import expect_positive
from cutaway.blocks.convolution.grid_pooling import MaxPool2d
from cutaway.blocks.convolution.pixel_shuffles import PixelUnshuffle
from cutaway.blocks.convolution.residual_blocks import ConvLayer2d
from cutaway.blocks.dense.affine import Linear
from cutaway.inside.taps import Tap
from cutaway.models.base import Model, choose_spec
from cutaway.models.specs.plain_data import NamedSpec
from cutaway.overriding import override


@dataclass(frozen=True)
class SiameseSpec(NamedSpec):
    """The shape of the images, and of the network that turns them into vectors."""

    model: ClassVar[str] = "Siamese"

    channels: int = 1
    image: tuple[int, int] = (32, 32)  # height, width
    squares: int = 2  # pixels on the side of the squares that become channels first; 1 for none
    width: int = 48  # channels of the first stage; the later ones have twice as many
    stages: int = 3
    depth: int = 2  # blocks of a stage
    embedding: int = 128
    centred: bool = False  # whether what stands out is brought to the middle and to one size first

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        sizes = ("channels", "squares", "width", "stages", "depth", "embedding")
        expect_positive(**{name: getattr(self, name) for name in sizes})
        least = self.squares * 2**self.stages
        if min(self.image) < least:
            raise ValueError(
                f"images must have at least squares · 2^stages = {least} pixels a side, got {self.image[0]} × "
                f"{self.image[1]}; lower stages={self.stages} or squares={self.squares}"
            )

    @override
    def layers_and_width(self) -> tuple[int, int]:
        return self.stages * self.depth, self.width


class Siamese(Model):
    """vectors = Siamese(images), images (batch, channels, height, width) from 0 to 1. Tap: ``vector``.

    ``stages.s.b`` is block b of stage s, whose ``output`` are feature maps.
    """

    kind: ClassVar[type[NamedSpec]] = SiameseSpec
    spec: SiameseSpec
    mean: Tensor
    spread: Tensor

    def __init__(self, spec: SiameseSpec | None = None, **sizes: Any) -> None:
        super().__init__(choose_spec(spec, sizes, SiameseSpec))
        spec = self.spec
        self.register_buffer("mean", torch.zeros(spec.channels, 1, 1))
        self.register_buffer("spread", torch.ones(spec.channels, 1, 1))
        self.unshuffle = PixelUnshuffle(spec.squares) if spec.squares > 1 else None
        self.halve = MaxPool2d(2)
        inputs, stages = spec.channels * spec.squares**2, []
        for stage in range(spec.stages):
            outputs = spec.width * (2 if stage else 1)
            stages.append(
                nn.ModuleList(ConvLayer2d(outputs if depth else inputs, outputs) for depth in range(spec.depth))
            )
            inputs = outputs
        self.stages = nn.ModuleList(stages)
        height, width = (side // spec.squares // 2**spec.stages for side in spec.image)
        self.out = Linear(inputs * height * width, spec.embedding)
        self.vector = Tap()

    def set_scale(self, images: Float[Tensor, "n c h w"]) -> None:
        """Takes mean and spread of the training images."""
        self.mean.copy_(images.mean((0, 2, 3))[:, None, None])
        self.spread.copy_(images.std((0, 2, 3), correction=0)[:, None, None].clamp(min=1e-3))

    def embed(self, images: Float[Tensor, "b c h w"]) -> Float[Tensor, "b e"]:
        """The vector of each image, which is all that this model computes."""
        return self(images)

    @override
    def forward(self, images: Float[Tensor, "b c h w"]) -> Float[Tensor, "b e"]:
        spec = self.spec
        if images.ndim != 4 or tuple(images.shape[1:]) != (spec.channels, *spec.image):
            raise ValueError(
                f"images must have shape (batch, {spec.channels}, {spec.image[0]}, {spec.image[1]}), got "
                f"{tuple(images.shape)}; for one image use images[None]"
            )
        x = in_the_middle(images) if spec.centred else images
        x = (x - self.mean) / self.spread
        # Rows and columns that the squares leave over are cut off, as pooling does with its own.
        down, right = (side // spec.squares * spec.squares for side in spec.image)
        x = x[..., :down, :right]
        if self.unshuffle is not None:
            x = self.unshuffle(x)
        x = x.contiguous(memory_format=torch.channels_last)
        for blocks in self.stages:
            for block in blocks:  # type: ignore[attr-defined]
                x = block(x)
            x = self.halve(x)
        z = nn.functional.normalize(self.out(x.flatten(1)), dim=-1)
        if self.vector.live:
            z = self.vector(z)
        return z


def in_the_middle(x: Float[Tensor, "b c h w"], spread: float = 0.29) -> Float[Tensor, "b c h w"]:
    """y(p) = x(m + (s / s₀) p): what stands out from the ground has its mean in the middle, and the spread s₀.

    ``spread`` is s₀ as a share of the image's mean side; sizes change by a factor from 0.4 to 1.6 at most.
    """
    h, w = x.shape[2:]
    down, right = (torch.arange(n, device=x.device, dtype=x.dtype) - (n - 1) / 2 for n in (h, w))
    ink = (x - x.flatten(1).median(1).values[:, None, None, None]).abs().mean(1)
    whole = ink.sum((1, 2)).clamp(min=1e-3)
    i, j = ink.sum(2) @ down / whole, ink.sum(1) @ right / whole
    far = (down[:, None] - i[:, None, None]).square() + (right - j[:, None, None]).square()
    s = ((ink * far).sum((1, 2)) / whole).sqrt()
    size = (s / (spread * (h + w) / 2)).clamp(0.4, 1.6)
    zero = torch.zeros_like(size)
    # grid_sample counts places in halves of the image.
    matrix = torch.stack([torch.stack([size, zero, 2 * j / w], -1), torch.stack([zero, size, 2 * i / h], -1)], -2)
    grid = nn.functional.affine_grid(matrix, list(x.shape), align_corners=False)
    return nn.functional.grid_sample(x, grid, padding_mode="border", align_corners=False)


__all__ = ["Siamese", "SiameseSpec", "in_the_middle"]
