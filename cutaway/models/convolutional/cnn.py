r"""`CNN` is a convolutional network that gives an image one class.

    x ← unshuffle((curve(x) − μ) / σ)                   small squares become channels: fewer places, nothing lost
    x ← block(x)        depth times                     at full size;  width channels
    x ← block(pool(x)), block(x), …                     at each later stage half the size, twice the channels
    logits = (max_t x_t) W + b                          the largest answer of each channel, wherever it is
    logits = φ(flat(x) V + a) W + b                     with ``dense``: what is where counts

    plain       block(x) = φ(norm(conv(x)))                                 LeCun et al. 1998, with later norms
    residual    block(x) = φ(x + norm(conv(φ(norm(conv(x))))))              He et al. 2016
    separable   block(x) = φ(norm(point-wise(depth-wise(x))))               Howard et al. 2017

Images are pixels from 0 to 1 of any size; a side that the squares do not divide gets zeros at its end. Notes: N3 §6.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.checks import expect_choice, expect_positive, expect_probability
from cutaway.blocks.convolution.grid_pooling import POOLINGS, MaxPool2d, global_pool
from cutaway.blocks.convolution.pixel_shuffles import PixelUnshuffle, pixel_shuffle
from cutaway.blocks.convolution.residual_blocks import NORMS, ConvLayer2d, ResidualConv2d
from cutaway.blocks.dense.activations import find_activation
from cutaway.blocks.dense.affine import Linear
from cutaway.blocks.losses.tasks import Head, Task
from cutaway.blocks.norms.channels import ChannelScale
from cutaway.blocks.norms.contrast import ContrastCurve
from cutaway.inside.taps import Tap
from cutaway.models.base import Model, choose_spec
from cutaway.models.specs.plain_data import NamedSpec
from cutaway.models.transformers.construction import drop
from cutaway.overriding import override

DESIGNS = ("plain", "residual", "separable")


@dataclass(frozen=True)
class CNNSpec(NamedSpec):
    """How many channels go in and classes come out, and what is between."""

    model: ClassVar[str] = "CNN"

    classes: int  # 0 for no head: the pooled features come out
    channels: int = 1
    design: str = "plain"  # plain | residual | separable
    width: int = 32  # channels of the first stage; each later one has twice as many
    stages: int = 2
    depth: int = 2  # blocks of a stage
    kernel: int = 3
    squares: int = 1  # pixels on the side of the squares that become channels first; 1 for none
    norm: str = "batch"  # batch | none
    activation: str = "relu"
    pooling: str = "max"  # max | mean, over all places, at the end
    dropout: float = 0.0
    contrast: float = 0.0  # of the scale at either end that a learned curve flattens at first; 0 for no curve
    dense: int = 0  # numbers of a dense layer that sees every place of the last maps; 0 to pool them instead
    places: tuple[int, int] = (1, 1)  # with ``dense``: rows and columns of these maps; others are brought to them

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        if self.classes:
            Task("multi-class", self.classes)
        sizes = ("channels", "width", "stages", "depth", "kernel", "squares")
        expect_positive(**{name: getattr(self, name) for name in sizes})
        expect_choice("design", self.design, DESIGNS)
        expect_choice("norm", self.norm, NORMS)
        expect_choice("pooling", self.pooling, POOLINGS)
        expect_probability(dropout=self.dropout)
        if not 0 <= self.contrast < 0.5:
            raise ValueError(f"contrast must be at least 0 and below 0.5, got {self.contrast}; try contrast=0.3")
        if self.dense < 0 or min(self.places) < 1:
            raise ValueError(
                f"dense must be at least 0 and places at least (1, 1), got dense={self.dense}, places={self.places}; "
                "try dense=100, places=(7, 7)"
            )
        find_activation(self.activation)

    @override
    def layers_and_width(self) -> tuple[int, int]:
        return self.depth * self.stages, self.width


class CNN(Model):
    """logits = CNN(images), images (batch, channels, height, width) from 0 to 1. Tap: ``pooled``.

    Without a head (``classes=0``) it gives what is pooled, ``width`` numbers an image.

    ``stages.s.b`` is block b of stage s, whose ``output`` are the feature maps.
    """

    kind: ClassVar[type[NamedSpec]] = CNNSpec
    tasks: ClassVar[tuple[str, ...]] = ("images",)
    layer_order: ClassVar[tuple[str, ...]] = ("stages.*.*",)
    spec: CNNSpec

    def __init__(self, spec: CNNSpec | None = None, **sizes: Any) -> None:
        super().__init__(choose_spec(spec, sizes, CNNSpec))
        spec = self.spec
        self.contrast = ContrastCurve(spec.channels, spec.contrast) if spec.contrast else None
        self.scale = ChannelScale(spec.channels)
        self.unshuffle = PixelUnshuffle(spec.squares) if spec.squares > 1 else None
        self.halve = MaxPool2d(2)
        inputs, stages = spec.channels * spec.squares**2, []
        for stage in range(spec.stages):
            outputs = spec.width * 2**stage
            stages.append(
                nn.ModuleList(
                    _block(spec, outputs if depth else inputs, outputs, first=not stage + depth)
                    for depth in range(spec.depth)
                )
            )
            inputs = outputs
        self.stages = nn.ModuleList(stages)
        self.pooled = Tap()
        self.hidden = Linear(inputs * spec.places[0] * spec.places[1], spec.dense) if spec.dense else None
        self.activation = find_activation(spec.activation)
        self.width = spec.dense or inputs  # of what the head reads
        self.head = Head(self.width, Task("multi-class", spec.classes)) if spec.classes else None
        if spec.norm == "none":
            self._keep_the_variance()

    def _keep_the_variance(self) -> None:
        """Without norms, weights start so that ReLUs keep the size of their inputs: He et al. 2015."""
        for name, parameter in self.stages.named_parameters():
            if name.endswith("bias"):
                nn.init.zeros_(parameter)
            else:
                nn.init.kaiming_normal_(parameter, nonlinearity="relu")

    @override
    @property
    def lora_targets(self) -> tuple[str, ...]:  # type: ignore[override]
        return ("stages",) if self.hidden is None else ("stages", "hidden")

    @override
    def forward(self, images: Float[Tensor, "b c h w"]) -> Float[Tensor, "b classes"]:
        return self.decide(self.represent(images))

    @override
    def represent(self, images: Float[Tensor, "b c h w"]) -> Float[Tensor, "b z"]:
        z = self._pool(self.features(images))
        if self.hidden is not None:
            z = self.activation(self.hidden(z))
        if self.pooled.live:
            z = self.pooled(z)
        return z

    @override
    def decide(self, z: Float[Tensor, "b z"], mask: Tensor | None = None) -> Float[Tensor, "b classes"]:
        return z if self.head is None else self.head(drop(z, self.spec.dropout, self.training))

    def embed(self, images: Float[Tensor, "b c h w"]) -> Float[Tensor, "b z"]:
        """The vector of each image: what the last layer decides by."""
        return self.represent(images)

    @override
    def with_labels(self, labels: Sequence[str], each: str = "sequence", pooling: str | None = None) -> "CNN":
        """The same network under a fresh head for these classes; all other tensors are shared."""
        if each != "sequence" or pooling:
            raise ValueError(
                f"a CNN gives an image one class and pools as it did, got each={each!r}, pooling={pooling!r}; "
                "leave both out"
            )
        new = CNN(self.spec.but(classes=len(labels))).to(self.device, next(self.parameters()).dtype)
        body = {name: x for name, x in self.state_dict().items() if not name.startswith("head.")}
        new.load_state_dict(body, strict=False, assign=True)
        return new.train(self.training)

    def _pool(self, x: Float[Tensor, "b o n m"]) -> Float[Tensor, "b z"]:
        """One number a channel; with a dense layer, one a channel and place."""
        if self.hidden is None:
            return global_pool(x, self.spec.pooling)  # type: ignore[arg-type]
        if tuple(x.shape[2:]) != self.spec.places:
            fit = nn.functional.adaptive_max_pool2d if self.spec.pooling == "max" else nn.functional.adaptive_avg_pool2d
            x = fit(x, self.spec.places)
        return x.flatten(1)

    def features(self, images: Float[Tensor, "b c h w"]) -> Float[Tensor, "b o n m"]:
        """The feature maps of the last block."""
        self._expect_images(images)
        side = self.spec.squares
        down, right = -images.shape[-2] % side, -images.shape[-1] % side
        x = self.scale(images if self.contrast is None else self.contrast(images))
        if down or right:
            x = nn.functional.pad(x, (0, right, 0, down))
        if self.unshuffle is not None:
            x = self.unshuffle(x)
        x = x.contiguous(memory_format=torch.channels_last)  # the layout in which convolutions are fast
        for stage, blocks in enumerate(self.stages):
            x = self.halve(x) if stage else x
            for block in blocks:  # type: ignore[attr-defined]
                x = block(x)
        return x

    @property
    def feature_maps(self) -> tuple[str, ...]:
        """The addresses of the feature maps, from the first block to the last."""
        return tuple(f"stages.{s}.{b}.output" for s in range(self.spec.stages) for b in range(self.spec.depth))

    def pixel_filters(self) -> Float[Tensor, "n c h w"]:
        """The filters of the first convolution over pixels: one of kernel k over squares of side r spans k·r pixels."""
        first: Any = self.stages[0][0]  # type: ignore[index]
        conv = (first.first if self.spec.design == "residual" else first).conv
        weight = conv.merged_weight().to(conv.weight.dtype) if hasattr(conv, "merged_weight") else conv.weight
        return pixel_shuffle(weight.detach(), self.spec.squares)

    def _expect_images(self, images: Tensor) -> None:
        least = self.spec.squares * 2 ** (self.spec.stages - 1)
        if images.ndim != 4 or images.shape[1] != self.spec.channels or min(images.shape[2:]) < least:
            raise ValueError(
                f"images must have shape (batch, {self.spec.channels}, height, width) of at least {least} × {least} "
                f"pixels, got {tuple(images.shape)}; for one image use images[None], for small ones fewer stages"
            )


def _block(spec: CNNSpec, inputs: int, outputs: int, first: bool) -> nn.Module:
    """One block; the first of all is never separable, as a few colours have little to say one by one."""
    norm: Any = spec.norm
    if spec.design == "residual":
        return ResidualConv2d(inputs, outputs, spec.kernel, norm=norm, activation=spec.activation)
    separable = spec.design == "separable" and not first
    return ConvLayer2d(inputs, outputs, spec.kernel, norm=norm, activation=spec.activation, separable=separable)


__all__ = ["CNN", "CNNSpec"]
