r"""Transposed convolution: every input spreads a weighted copy of the kernel, and copies that overlap are added.

    y_{s·t + d·j − p} += x_t W_j              for all places t and all entries j of the kernel

It is the transpose of a convolution as a matrix, y = x Aᵀ where the convolution is x A, and so what the backward pass
of one computes. With stride s an axis of n becomes longer:

    valid       s(n−1) + d(k−1) + 1     all that is written
    same        s·n                     p = ⌊d(k−1)/2⌋ cut off in front, so that a strided "same" convolution is undone
                                        in its shape

The weight has shape (inputs, outputs / groups, *kernel), which says how many axes there are. Zeiler et al. 2010;
Dumoulin, Visin 2016, §4. Notes: N3 §6.1.
"""

import math
from itertools import product
from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.checks import expect_choice, expect_width
from cutaway.blocks.convolution.grids import Sizes, expect_grid, expect_groups, per_axis, shown
from cutaway.inside.taps import Tap
from cutaway.overriding import override

TransposedPadding = Literal["valid", "same"]
PADDINGS: tuple[str, ...] = TransposedPadding.__args__  # type: ignore[attr-defined]
_KERNELS = {
    1: nn.functional.conv_transpose1d,
    2: nn.functional.conv_transpose2d,
    3: nn.functional.conv_transpose3d,
}


def transposed_convolve_open(
    x: Float[Tensor, "..."],
    weight: Float[Tensor, "i p *k"],
    bias: Float[Tensor, "o"] | None = None,
    padding: TransposedPadding = "same",
    stride: Sizes = 1,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Float[Tensor, "..."]:
    """y_{s·t + d·j − p} += x_t W_j, written out: one addition for each entry of the kernel.

    >>> transposed_convolve_open(torch.tensor([[1.0, 10.0]]), torch.tensor([[[1.0, 2, 3]]]), padding="valid", stride=2)
    tensor([[ 1.,  2., 13., 20., 30.]])
    """
    axes, strides, dilations = _expect_fit(x, weight, padding, stride, dilation, groups)
    kernel, sizes = weight.shape[2:], x.shape[-axes:]
    x = x.unflatten(-axes - 1, (groups, -1))
    weight = weight.unflatten(0, (groups, -1))
    full = [s * (n - 1) + d * (k - 1) + 1 for n, s, d, k in zip(sizes, strides, dilations, kernel)]
    y = x.new_zeros(*x.shape[: -axes - 2], groups, weight.shape[2], *full)
    for j in product(*map(range, kernel)):
        entry: Any = (..., *j)
        places: Any = (
            ...,
            *(slice(d * a, d * a + s * (n - 1) + 1, s) for a, n, s, d in zip(j, sizes, strides, dilations)),
        )
        copy = torch.einsum("...gin,gio->...gon", x.flatten(-axes), weight[entry])
        y[places] += copy.unflatten(-1, tuple(sizes))
    y = y.flatten(-axes - 2, -axes - 1)
    return _cut(y, padding, sizes, kernel, strides, dilations, bias)


def transposed_convolve(
    x: Float[Tensor, "..."],
    weight: Float[Tensor, "i p *k"],
    bias: Float[Tensor, "o"] | None = None,
    padding: TransposedPadding = "same",
    stride: Sizes = 1,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Float[Tensor, "..."]:
    """y_{s·t + d·j − p} += x_t W_j by torch's kernels; equal to `transposed_convolve_open`."""
    axes, strides, dilations = _expect_fit(x, weight, padding, stride, dilation, groups)
    rows = x.reshape(math.prod(x.shape[: -axes - 1]), *x.shape[-axes - 1 :])
    y = _KERNELS[axes](rows, weight, None, strides, 0, 0, groups, dilations)
    y = y.reshape(*x.shape[: -axes - 1], *y.shape[1:])
    return _cut(y, padding, x.shape[-axes:], weight.shape[2:], strides, dilations, bias)


class TransposedConvGrid(nn.Module):
    """What transposed convolutions of any number of axes share; ``axes`` is declared by each."""

    axes: ClassVar[int]
    convolved_axes: ClassVar[int]  # declared for `as_dense`
    channels_last: ClassVar[bool] = False

    def __init__(
        self,
        inputs: int,
        outputs: int,
        kernel: Sizes = 3,
        padding: TransposedPadding = "same",
        stride: Sizes = 1,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
    ) -> None:
        super().__init__()
        expect_choice("padding", padding, PADDINGS)
        expect_groups(inputs, outputs, groups)
        self.inputs, self.outputs, self.groups = inputs, outputs, groups
        self.padding: TransposedPadding = padding
        self.kernel = per_axis("kernel", kernel, self.axes)
        self.stride, self.dilation = per_axis("stride", stride, self.axes), per_axis("dilation", dilation, self.axes)
        self.weight = nn.Parameter(torch.empty(inputs, outputs // groups, *self.kernel))
        self.bias = nn.Parameter(torch.empty(outputs)) if bias else None
        self.output = Tap()
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = 1 / math.sqrt(self.weight[0].numel())
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -bound, bound)

    def _run(self, x: Tensor) -> Tensor:
        x = x.transpose(-1, -2) if self.channels_last else x
        y = transposed_convolve(x, self.weight, self.bias, self.padding, self.stride, self.dilation, self.groups)
        y = y.transpose(-1, -2) if self.channels_last else y
        if self.output.live:
            y = self.output(y)
        return y

    @override
    def extra_repr(self) -> str:
        more = {"stride": self.stride, "dilation": self.dilation}
        changed = "".join(f", {name}={shown(value)}" for name, value in more.items() if set(value) != {1})
        changed += f", groups={self.groups}" if self.groups != 1 else ""
        plain = "" if self.bias is not None else ", no bias"
        return f"{self.inputs} → {self.outputs}, kernel={shown(self.kernel)}, {self.padding}{changed}{plain}"


class TransposedConv1d(TransposedConvGrid):
    """A transposed convolution over sequences, their channels last: y_{s·t + d·j − p} += x_t W_j, + b. Tap: ``output``.

    With ``stride=2`` sequences become twice as long. State dicts fit torch.nn.ConvTranspose1d, whose channels come
    before the steps.
    """

    axes = convolved_axes = 1
    channels_last: ClassVar[bool] = True

    @override
    def forward(self, x: Float[Tensor, "*b t i"]) -> Float[Tensor, "*b n o"]:
        if x.ndim < 2:
            raise ValueError(
                f"x must have shape (..., steps, {self.inputs}), got {tuple(x.shape)}; for one channel use x[:, None]"
            )
        expect_width("x", x, self.inputs)
        return self._run(x)


class TransposedConv2d(TransposedConvGrid):
    """A transposed convolution over images that owns its weights: y_{s·t + d·j − p} += x_t W_j, + b. Tap: ``output``.

    With ``stride=2`` images become twice as large. Weights are drawn as torch.nn.ConvTranspose2d does, and state dicts
    of the two fit each other.
    """

    axes = convolved_axes = 2

    @override
    def forward(self, x: Float[Tensor, "*b i h w"]) -> Float[Tensor, "*b o n m"]:
        return self._run(x)


class TransposedConv3d(TransposedConvGrid):
    """A transposed convolution over volumes or films: y_{s·t + d·j − p} += x_t W_j over three axes. Tap: ``output``.

    As `TransposedConv2d`; state dicts fit torch.nn.ConvTranspose3d.
    """

    axes = convolved_axes = 3

    @override
    def forward(self, x: Float[Tensor, "*b i d h w"]) -> Float[Tensor, "*b o l n m"]:
        return self._run(x)


def _cut(
    y: Tensor,
    padding: str,
    sizes: tuple[int, ...],
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
    bias: Tensor | None,
) -> Tensor:
    """For "same", s·n entries from p on, with zeros where the kernel is too small to write them; and + b."""
    if padding == "same":
        sides: list[int] = []
        for n, k, s, d in zip(sizes, kernel, strides, dilations):
            front = d * (k - 1) // 2
            sides = [-front, s * n - (s * (n - 1) + d * (k - 1) + 1 - front), *sides]  # torch names the last axis first
        y = nn.functional.pad(y, sides) if any(sides) else y
    return y if bias is None else y + bias.reshape(-1, *[1] * len(kernel))


def _expect_fit(
    x: Tensor, weight: Tensor, padding: str, stride: Sizes, dilation: Sizes, groups: int
) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    """The number of axes, and stride and dilation for each, if grid and weights fit together."""
    axes = weight.ndim - 2
    if axes not in _KERNELS:
        raise ValueError(
            f"the weight must have shape (inputs, outputs / groups, *kernel) with 1 to 3 axes, got "
            f"{tuple(weight.shape)}; for one filter of an image use weight[None, None]"
        )
    expect_choice("padding", padding, PADDINGS)
    expect_groups(weight.shape[0], weight.shape[1] * groups, groups)
    expect_grid(x, axes, weight.shape[0])
    if min(x.shape[-axes:]) < 1:
        raise ValueError(f"x must have at least one entry on every axis, got shape {tuple(x.shape)}; leave it out")
    return axes, per_axis("stride", stride, axes), per_axis("dilation", dilation, axes)


__all__ = [
    "TransposedConv1d",
    "TransposedConv2d",
    "TransposedConv3d",
    "transposed_convolve",
    "transposed_convolve_open",
]
