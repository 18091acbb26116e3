r"""Convolution over a line, an image or a volume: every output is the same weighted sum of a small window.

    y_t = b + Σ_j x_{s·t + d·j − p} W_j         cross-correlation, what convolutional networks compute
    y_t = b + Σ_j x_{s·t − d·j + p} W_j         true convolution: the kernel runs the other way

t and j are places in the output and in the kernel, with one number for each axis: (row, column) in an image. s is the
stride, d the dilation, p the padding in front. An axis of length n has

    valid       n − d(k−1)      no padding: only windows that lie inside
    same        n               zeros on both sides, p = ⌊d(k−1)/2⌋
    reflect     n               as same, but the grid is mirrored at its sides

outputs; a stride keeps every s-th of them. Channels come before the axes, (…, channels, height, width), as in all
blocks for images; sequences with their channels last are in one_dimensional.py. The weight has shape (outputs,
inputs / groups, *kernel), which says how many axes there are. LeCun et al. 1989; Dumoulin, Visin 2016. Notes: N3 §6.1.
"""

import math
from collections.abc import Sequence
from typing import ClassVar, Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.checks import expect_choice, expect_float, expect_positive, near_divisors
from cutaway.inside.taps import Tap
from cutaway.overriding import override

GridPadding = Literal["valid", "same", "reflect"]
PADDINGS: tuple[str, ...] = GridPadding.__args__  # type: ignore[attr-defined]
Sizes = int | Sequence[int]  # one number for every axis, or one for each
_KERNELS = {1: nn.functional.conv1d, 2: nn.functional.conv2d, 3: nn.functional.conv3d}


def cross_correlate_grid_open(
    x: Float[Tensor, "..."],
    weight: Float[Tensor, "o j *k"],
    bias: Float[Tensor, "o"] | None = None,
    padding: GridPadding = "same",
    stride: Sizes = 1,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Float[Tensor, "..."]:
    """y_t = b + Σ_j x_{s·t + d·j − p} W_j, written out: cut the windows, weigh each, sum.

    >>> edges = torch.tensor([[[[1.0, -1.0]]]])  # each pixel less its right neighbour
    >>> cross_correlate_grid_open(torch.tensor([[[0.0, 5, 5, 7]]]), edges, padding="valid")
    tensor([[[-5.,  0., -2.]]])
    """
    expect_fit(x, weight, padding, stride, dilation, groups)
    axes, kernel = weight.ndim - 2, weight.shape[2:]
    strides, dilations = per_axis("stride", stride, axes), per_axis("dilation", dilation, axes)
    windows = pad_grid(x, kernel, padding, dilations)
    for axis, (k, s, d) in enumerate(zip(kernel, strides, dilations), start=x.ndim - axes):
        windows = windows.unfold(axis, d * (k - 1) + 1, s)[..., ::d]  # a window's entries come last
    outputs = windows.shape[-2 * axes : -axes]
    columns = windows.flatten(-axes).flatten(-axes - 1, -2)  # (…, channels, places, entries of a window)
    columns = columns.unflatten(-3, (groups, -1))
    y = torch.einsum("...gjnk,gojk->...gon", columns, weight.flatten(2).unflatten(0, (groups, -1)))
    y = y.flatten(-3, -2)
    y = y if bias is None else y + bias[:, None]
    return y.unflatten(-1, tuple(outputs))


def cross_correlate_grid(
    x: Float[Tensor, "..."],
    weight: Float[Tensor, "o j *k"],
    bias: Float[Tensor, "o"] | None = None,
    padding: GridPadding = "same",
    stride: Sizes = 1,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Float[Tensor, "..."]:
    """y_t = b + Σ_j x_{s·t + d·j − p} W_j by torch's kernels; equal to `cross_correlate_grid_open`."""
    expect_fit(x, weight, padding, stride, dilation, groups)
    axes, kernel = weight.ndim - 2, weight.shape[2:]
    strides, dilations = per_axis("stride", stride, axes), per_axis("dilation", dilation, axes)
    reach = [d * (k - 1) for k, d in zip(kernel, dilations)]
    zeros = [0] * axes
    if padding == "same" and all(r % 2 == 0 for r in reach):
        zeros = [r // 2 for r in reach]  # the kernel pads as it goes, without a copy
    else:
        x = pad_grid(x, kernel, padding, dilations)
    rows = x.reshape(math.prod(x.shape[: -axes - 1]), *x.shape[-axes - 1 :])
    y = _KERNELS[axes](rows, weight, bias, strides, zeros, dilations, groups)
    return y.reshape(*x.shape[: -axes - 1], *y.shape[1:])


def convolve_grid(
    x: Float[Tensor, "..."], weight: Float[Tensor, "o j *k"], padding: GridPadding = "same"
) -> Float[Tensor, "..."]:
    """y_t = Σ_j x_{t − j + p} W_j: true convolution, the cross-correlation with the kernel turned round.

    >>> convolve_grid(torch.tensor([[0.0, 0, 1, 0, 0]]), torch.tensor([[[1.0, 2, 3]]]))  # a point becomes the kernel
    tensor([[0., 1., 2., 3., 0.]])
    """
    return cross_correlate_grid(x, weight.flip(tuple(range(2, weight.ndim))), padding=padding)


class ConvGrid(nn.Module):
    """A convolution over the last axes of its input that owns its weights; see `Conv2d` and `Conv3d`."""

    axes: ClassVar[int]
    convolved_axes: ClassVar[int]  # declared for `as_dense`
    channels_last: ClassVar[bool] = False

    def __init__(
        self,
        inputs: int,
        outputs: int,
        kernel: Sizes = 3,
        padding: GridPadding = "same",
        stride: Sizes = 1,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
    ) -> None:
        super().__init__()
        expect_choice("padding", padding, PADDINGS)
        expect_groups(inputs, outputs, groups)
        self.inputs, self.outputs, self.groups = inputs, outputs, groups
        self.padding: GridPadding = padding
        self.kernel = per_axis("kernel", kernel, self.axes)
        self.stride = per_axis("stride", stride, self.axes)
        self.dilation = per_axis("dilation", dilation, self.axes)
        self.weight = nn.Parameter(torch.empty(outputs, inputs // groups, *self.kernel))
        self.bias = nn.Parameter(torch.empty(outputs)) if bias else None
        self.output = Tap()
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = 1 / math.sqrt(self.weight[0].numel())
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -bound, bound)

    def correlate(self, x: Tensor, filters: Tensor, bias: Tensor | None = None) -> Tensor:
        """What these filters, of any number, give in place of its own: padding, stride and groups are the same."""
        return cross_correlate_grid(x, filters, bias, self.padding, self.stride, self.dilation, self.groups)

    def _run(self, x: Tensor) -> Tensor:
        y = self.correlate(x, self.weight, self.bias)
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


class Conv2d(ConvGrid):
    """A convolution over images: y_t = b + Σ_j x_{s·t + d·j − p} W_j, t and j a row and a column. Tap: ``output``.

    ``kernel``, ``stride`` and ``dilation`` are a number or one for rows and one for columns; ``kernel=1`` mixes the
    channels of each pixel, ``groups=inputs`` mixes no channels. Weights are drawn from U(−1/√(k·i/groups), …) as
    torch.nn.Conv2d does, and state dicts of the two fit each other.
    """

    axes = convolved_axes = 2

    @override
    def forward(self, x: Float[Tensor, "*b i h w"]) -> Float[Tensor, "*b o n m"]:
        return self._run(x)


class Conv3d(ConvGrid):
    """A convolution over volumes or films: y_t = b + Σ_j x_{s·t + d·j − p} W_j over three axes. Tap: ``output``.

    As `Conv2d`; state dicts fit torch.nn.Conv3d.
    """

    axes = convolved_axes = 3

    @override
    def forward(self, x: Float[Tensor, "*b i d h w"]) -> Float[Tensor, "*b o l n m"]:
        return self._run(x)


def pad_grid(
    x: Float[Tensor, "..."], kernel: Sequence[int], padding: GridPadding, dilation: Sizes = 1
) -> Float[Tensor, "..."]:
    """The grid with what windows of this kernel read beyond its sides.

    A mirrored axis goes on as x_3 x_2 | x_1 x_2 x_3 | x_2 x_1 …, to and fro as often as it takes.

    >>> pad_grid(torch.tensor([[1.0, 2.0, 3.0]]), kernel=[5], padding="reflect")
    tensor([[3., 2., 1., 2., 3., 2., 1.]])
    """
    if padding == "valid":
        return x
    axes = len(kernel)
    reach = [d * (k - 1) for k, d in zip(kernel, per_axis("dilation", dilation, axes))]
    if padding == "same":
        sides = [side for r in reversed(reach) for side in (r // 2, r - r // 2)]  # torch names the last axis first
        return nn.functional.pad(x, sides) if any(sides) else x
    for axis, r in enumerate(reach, start=x.ndim - axes):
        last = x.shape[axis] - 1
        places = torch.arange(-(r // 2), last + 1 + r - r // 2, device=x.device).remainder(max(2 * last, 1))
        x = x.index_select(axis, torch.minimum(places, 2 * last - places).clamp(0, last))
    return x


def per_axis(name: str, value: Sizes, axes: int) -> tuple[int, ...]:
    """One positive number for each axis."""
    numbers = (value,) * axes if isinstance(value, int) else tuple(value)
    if len(numbers) != axes or min(numbers) < 1:
        raise ValueError(
            f"{name} must be a number above 0, or one for each of {axes} axes, got {value}; try {name}={(1,) * axes}"
        )
    return numbers


def shown(sizes: Sequence[int]) -> str:
    """A size in few characters: one number where all are equal."""
    return str(sizes[0]) if len(set(sizes)) == 1 else "×".join(map(str, sizes))


def expect_groups(inputs: int, outputs: int, groups: int) -> None:
    """Groups must cut inputs and outputs into equal parts."""
    expect_positive(inputs=inputs, outputs=outputs, groups=groups)
    if inputs % groups or outputs % groups:
        near = near_divisors(math.gcd(inputs, outputs), groups)
        raise ValueError(
            f"inputs and outputs must be multiples of groups, got inputs={inputs}, outputs={outputs}, "
            f"groups={groups}; try groups={' or groups='.join(map(str, near))}"
        )


def expect_grid(x: Tensor, axes: int, channels: int) -> None:
    """The input must be a float tensor (…, channels, *axes)."""
    expect_float("x", x)
    names = {1: "length", 2: "height, width", 3: "depth, height, width"}[axes]
    if x.ndim <= axes or x.shape[-axes - 1] != channels:
        raise ValueError(
            f"x must have shape (..., {channels}, {names}), got {tuple(x.shape)}; "
            f"put the channels before the {'axis' if axes == 1 else 'axes'}, and build the block for as many"
        )


def expect_fit(x: Tensor, weight: Tensor, padding: str, stride: Sizes, dilation: Sizes, groups: int) -> None:
    """Grid and weights must fit together."""
    axes = weight.ndim - 2
    if axes not in _KERNELS:
        raise ValueError(
            f"the weight must have shape (outputs, inputs / groups, *kernel) with 1 to 3 axes, got "
            f"{tuple(weight.shape)}; for one filter of an image use weight[None, None]"
        )
    expect_choice("padding", padding, PADDINGS)
    expect_groups(weight.shape[1] * groups, weight.shape[0], groups)
    expect_grid(x, axes, weight.shape[1] * groups)
    per_axis("stride", stride, axes)
    dilations = per_axis("dilation", dilation, axes)
    least = [d * (k - 1) + 1 if padding == "valid" else 1 for k, d in zip(weight.shape[2:], dilations)]
    if any(n < least_n for n, least_n in zip(x.shape[-axes:], least)):
        raise ValueError(
            f"x must be at least {' × '.join(map(str, least))} large for a kernel of {shown(weight.shape[2:])} with "
            f"dilation {shown(dilations)} and padding={padding!r}, got shape {tuple(x.shape)}; "
            + ("use padding='same' or larger inputs" if max(least) > 1 else "leave empty inputs out")
        )


__all__ = ["Conv2d", "Conv3d", "convolve_grid", "cross_correlate_grid", "cross_correlate_grid_open", "pad_grid"]
