r"""Blocks of convolutional networks: a convolution with its norm and activation, and two ways to carry the input past.

    layer                y = φ(norm(conv(x)))
    residual             y = φ(S x + norm(conv(φ(norm(conv(x))))))                                   He et al. 2016
    inverted residual    y = x + norm(P φ(norm(D φ(norm(E x)))))                                     Sandler et al. 2018

S is the identity, or a 1 × 1 convolution with a norm where the shape changes. An inverted residual is wide inside and
narrow outside: E is 1 × 1 and makes the channels ``expansion`` times as many, D is depth-wise, P is 1 × 1 and linear;
x is added where the shape stays. Images are (…, channels, height, width). Notes: N3 §3.7.2, §6.4.
"""

from typing import Literal

from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.checks import expect_choice, expect_positive
from cutaway.blocks.convolution.grids import Conv2d, Sizes
from cutaway.blocks.convolution.separable import SeparableConv2d
from cutaway.blocks.dense.activations import find_activation
from cutaway.blocks.norms.batch import BatchNorm
from cutaway.inside.taps import Tap
from cutaway.overriding import override

Norm = Literal["batch", "none"]
NORMS: tuple[str, ...] = Norm.__args__  # type: ignore[attr-defined]


def norm_of_channels(norm: Norm, channels: int) -> BatchNorm | None:
    """The norm of that name over the channels of images (…, c, h, w); None for "none"."""
    expect_choice("norm", norm, NORMS)
    return BatchNorm(channels, axis=-3) if norm == "batch" else None


class ConvLayer2d(nn.Module):
    """y = φ(norm(conv(x))), with a convolution that keeps the size but for its stride. Tap: ``output``.

    ``separable`` takes a depth-wise separable convolution. Without a norm the convolution has biases.
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        kernel: Sizes = 3,
        stride: Sizes = 1,
        groups: int = 1,
        norm: Norm = "batch",
        activation: str = "relu",
        separable: bool = False,
    ) -> None:
        super().__init__()
        self.norm = norm_of_channels(norm, outputs)
        self.conv: Conv2d | SeparableConv2d
        if separable:
            self.conv = SeparableConv2d(inputs, outputs, kernel, stride=stride, bias=self.norm is None)
        else:
            self.conv = Conv2d(inputs, outputs, kernel, stride=stride, groups=groups, bias=self.norm is None)
        self.activation = find_activation(activation)
        self.output = Tap()

    @override
    def forward(self, x: Float[Tensor, "*b i h w"]) -> Float[Tensor, "*b o n m"]:
        y = self.conv(x)
        y = self.activation(y if self.norm is None else self.norm(y))
        if self.output.live:
            y = self.output(y)
        return y


class ResidualConv2d(nn.Module):
    """y = φ(S x + norm(conv(φ(norm(conv(x)))))): two convolutions, and the input added to what they make.

    The second norm's gain starts at 0, so that the block starts as φ(S x). Taps: ``branch`` (what is added) and
    ``output``.
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        kernel: Sizes = 3,
        stride: Sizes = 1,
        norm: Norm = "batch",
        activation: str = "relu",
    ) -> None:
        super().__init__()
        self.first = ConvLayer2d(inputs, outputs, kernel, stride, norm=norm, activation=activation)
        self.second = ConvLayer2d(outputs, outputs, kernel, norm=norm, activation="identity")
        same = inputs == outputs and set(_sizes(stride)) == {1}
        self.shortcut = None if same else ConvLayer2d(inputs, outputs, 1, stride, norm=norm, activation="identity")
        self.activation = find_activation(activation)
        self.branch = Tap()
        self.output = Tap()
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.second.norm is not None:
            nn.init.zeros_(self.second.norm.weight)

    @override
    def forward(self, x: Float[Tensor, "*b i h w"]) -> Float[Tensor, "*b o n m"]:
        update = self.second(self.first(x))
        if self.branch.live:
            update = self.branch(update)
        y = self.activation((x if self.shortcut is None else self.shortcut(x)) + update)
        if self.output.live:
            y = self.output(y)
        return y


class InvertedResidual2d(nn.Module):
    """y = x + norm(P φ(norm(D φ(norm(E x))))): wide inside, narrow outside, depth-wise in the middle.

    ``expansion`` says how much wider; x is added where inputs = outputs and the stride is 1. Taps: ``branch`` and
    ``output``.
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        kernel: Sizes = 3,
        stride: Sizes = 1,
        expansion: int = 4,
        norm: Norm = "batch",
        activation: str = "relu",
    ) -> None:
        super().__init__()
        expect_positive(expansion=expansion)
        inner = expansion * inputs
        self.expand = ConvLayer2d(inputs, inner, 1, norm=norm, activation=activation)
        self.depthwise = ConvLayer2d(inner, inner, kernel, stride, groups=inner, norm=norm, activation=activation)
        self.project = ConvLayer2d(inner, outputs, 1, norm=norm, activation="identity")
        self.adds = inputs == outputs and set(_sizes(stride)) == {1}
        self.branch = Tap()
        self.output = Tap()

    @override
    def forward(self, x: Float[Tensor, "*b i h w"]) -> Float[Tensor, "*b o n m"]:
        y = self.project(self.depthwise(self.expand(x)))
        if self.branch.live:
            y = self.branch(y)
        y = x + y if self.adds else y
        if self.output.live:
            y = self.output(y)
        return y


def _sizes(stride: Sizes) -> tuple[int, ...]:
    return (stride,) if isinstance(stride, int) else tuple(stride)


__all__ = ["ConvLayer2d", "InvertedResidual2d", "ResidualConv2d", "norm_of_channels"]
