r"""Convolution over time: every output is the same weighted sum of a few neighbouring steps.

    y_t = b + Σ_j x_{s·t + d·j − p} W_j         cross-correlation, what convolutional networks compute
    y_t = b + Σ_j x_{s·t − d·j + p} W_j         true convolution: the kernel runs the other way

j counts the kernel's entries, s is the stride, d the dilation, p the steps padded in front. A sequence of T steps has

    valid       T − d(k−1)      no padding: only windows that lie inside
    same        T               zeros on both sides, p = ⌊d(k−1)/2⌋
    reflect     T               as same, but the sequence is mirrored at its ends
    causal      T               zeros in front alone: y_t reads nothing after step t

outputs; a stride keeps every s-th of them. Sequences are (…, steps, channels), as in all sequence blocks; the weight
has torch.nn.Conv1d's shape. Rows of a padded batch have ``lengths``: each is treated as if it came alone, and what lies
after its end is 0. LeCun et al. 1989; van den Oord et al. 2016 (causal, dilated). Notes: N3 §6.1.
"""

import math
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from cutaway.blocks.checks import Lengths, as_lengths, expect_choice, expect_float, expect_positive, expect_width
from cutaway.blocks.convolution.grids import expect_groups
from cutaway.inside.taps import Tap
from cutaway.overriding import override

Padding = Literal["valid", "same", "reflect", "causal"]


def cross_correlate_open(
    x: Float[Tensor, "*b t i"],
    weight: Float[Tensor, "o j k"],
    bias: Float[Tensor, "o"] | None = None,
    padding: Padding = "same",
    stride: int = 1,
    dilation: int = 1,
    groups: int = 1,
    lengths: Lengths | None = None,
) -> Float[Tensor, "*b n o"]:
    """y_t = b + Σ_j x_{s·t + d·j − p} W_j, written out: cut the windows, weigh each, sum.

    >>> x, w = torch.tensor([0.0, 1, 2, 4, 8, 4, 2, 1, 0]), torch.tensor([1.0, 0, -1])
    >>> cross_correlate_open(x[:, None], w[None, None]).squeeze()
    tensor([-1., -2., -3., -6.,  0.,  6.,  3.,  2.,  1.])
    """
    kernel = _expect_fit(x, weight, padding, stride, dilation, groups)
    lengths = None if lengths is None else as_lengths(lengths, x.shape[:-2], x.shape[-2]).to(x.device)
    padded = pad_steps(x, kernel, padding, dilation, lengths)
    windows = padded.unfold(-2, dilation * (kernel - 1) + 1, stride)[..., ::dilation]  # (…, n, i, k)
    windows = windows.unflatten(-2, (groups, weight.shape[1]))
    y = torch.einsum("...ngjk,gojk->...ngo", windows, weight.unflatten(0, (groups, -1))).flatten(-2)
    y = y if bias is None else y + bias
    return _zero_after_end(y, output_lengths(lengths, kernel, padding, stride, dilation))


def cross_correlate(
    x: Float[Tensor, "*b t i"],
    weight: Float[Tensor, "o j k"],
    bias: Float[Tensor, "o"] | None = None,
    padding: Padding = "same",
    stride: int = 1,
    dilation: int = 1,
    groups: int = 1,
    lengths: Lengths | None = None,
) -> Float[Tensor, "*b n o"]:
    """y_t = b + Σ_j x_{s·t + d·j − p} W_j by torch's kernel; equal to `cross_correlate_open`."""
    kernel = _expect_fit(x, weight, padding, stride, dilation, groups)
    lengths = None if lengths is None else as_lengths(lengths, x.shape[:-2], x.shape[-2]).to(x.device)
    z = pad_steps(x, kernel, padding, dilation, lengths)
    rows = z.reshape(math.prod(z.shape[:-2]), *z.shape[-2:]).transpose(1, 2)
    y = nn.functional.conv1d(rows, weight, bias, stride, 0, dilation, groups).transpose(1, 2)
    y = y.reshape(*x.shape[:-2], *y.shape[1:])
    return _zero_after_end(y, output_lengths(lengths, kernel, padding, stride, dilation))


def convolve(
    x: Float[Tensor, "*b t i"], weight: Float[Tensor, "o j k"], padding: Padding = "same"
) -> Float[Tensor, "*b n o"]:
    """y_t = Σ_j x_{t − j + p} W_j: true convolution, the cross-correlation with the kernel turned round.

    >>> x, w = torch.tensor([0.0, 1, 2, 4, 8, 4, 2, 1, 0]), torch.tensor([1.0, 0, -1])
    >>> convolve(x[:, None], w[None, None]).squeeze()
    tensor([ 1.,  2.,  3.,  6.,  0., -6., -3., -2., -1.])
    """
    return cross_correlate(x, weight.flip(-1), padding=padding)


class Conv1d(nn.Module):
    """A convolution over time that owns its weights: y_t = b + Σ_j x_{s·t + d·j − p} W_j. Tap: ``output``.

    ``kernel`` is how many steps a window holds, ``groups`` cuts the channels into parts that do not mix. Weights are
    drawn from U(−1/√(k·i/groups), …) as torch.nn.Conv1d does, and state dicts of the two fit each other.
    """

    convolved_axes = 1  # declared for `as_dense`
    channels_last = True  # the input is (…, steps, channels)

    def __init__(
        self,
        inputs: int,
        outputs: int,
        kernel: int = 3,
        padding: Padding = "same",
        stride: int = 1,
        dilation: int = 1,
        groups: int = 1,
        bias: bool = True,
    ) -> None:
        super().__init__()
        expect_positive(kernel=kernel, stride=stride, dilation=dilation)
        expect_choice("padding", padding, Padding.__args__)  # type: ignore[attr-defined]
        expect_groups(inputs, outputs, groups)
        self.inputs, self.outputs, self.kernel = inputs, outputs, kernel
        self.padding: Padding = padding
        self.stride, self.dilation, self.groups = stride, dilation, groups
        self.weight = nn.Parameter(torch.empty(outputs, inputs // groups, kernel))
        self.bias = nn.Parameter(torch.empty(outputs)) if bias else None
        self.output = Tap()
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = 1 / math.sqrt(self.weight[0].numel())
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -bound, bound)

    def correlate(
        self, x: Tensor, filters: Tensor, bias: Tensor | None = None, lengths: Lengths | None = None
    ) -> Tensor:
        """What these filters, of any number, give in place of its own: padding, stride and groups are the same."""
        return cross_correlate(x, filters, bias, self.padding, self.stride, self.dilation, self.groups, lengths)

    @override
    def forward(self, x: Float[Tensor, "*b t i"], lengths: Lengths | None = None) -> Float[Tensor, "*b n o"]:
        y = self.correlate(x, self.weight, self.bias, lengths)
        if self.output.live:
            y = self.output(y)
        return y

    def output_lengths(self, lengths: Lengths) -> Int[Tensor, "*b"]:
        """How many outputs rows of these lengths have, for what comes after this layer."""
        found = output_lengths(lengths, self.kernel, self.padding, self.stride, self.dilation)
        assert found is not None
        return found

    @override
    def extra_repr(self) -> str:
        more = {"stride": self.stride, "dilation": self.dilation, "groups": self.groups}
        changed = "".join(f", {name}={value}" for name, value in more.items() if value != 1)
        plain = "" if self.bias is not None else ", no bias"
        return f"{self.inputs} → {self.outputs}, kernel={self.kernel}, {self.padding}{changed}{plain}"


def step_mask(lengths: Lengths, steps: int) -> Bool[Tensor, "*b t"]:
    """True at the real steps of rows of these lengths.

    >>> step_mask(torch.tensor([1, 3]), 3).int()
    tensor([[1, 0, 0],
            [1, 1, 1]], dtype=torch.int32)
    """
    known = lengths if isinstance(lengths, Tensor) else as_lengths(lengths)
    return torch.arange(steps, device=known.device) < known[..., None]


def output_lengths(
    lengths: Lengths | None, kernel: int, padding: Padding, stride: int = 1, dilation: int = 1
) -> Int[Tensor, "*b"] | None:
    """⌈T′/s⌉ outputs of T steps, with T′ = T − d(k−1) for valid padding and T for the others; no row has fewer than 0.

    >>> output_lengths(torch.tensor([1, 4, 7]), kernel=3, padding="valid", stride=2)
    tensor([0, 1, 3])
    """
    if lengths is None:
        return None
    known = as_lengths(lengths)
    whole = known - dilation * (kernel - 1) if padding == "valid" else known
    return (torch.div(whole - 1, stride, rounding_mode="floor") + 1).clamp(min=0)


def pad_steps(
    x: Float[Tensor, "*b t i"], kernel: int, padding: Padding, dilation: int = 1, lengths: Tensor | None = None
) -> Float[Tensor, "*b n i"]:
    """The sequence with what windows of ``kernel`` steps read beyond its ends; 0 after the end of a shorter row.

    A mirrored sequence goes on as x_3 x_2 | x_1 x_2 x_3 | x_2 x_1 …, to and fro as often as it takes.

    >>> pad_steps(torch.tensor([[1.0], [2.0], [3.0]]), kernel=5, padding="reflect").squeeze()
    tensor([3., 2., 1., 2., 3., 2., 1.])
    """
    x = _zero_after_end(x, lengths)
    reach = dilation * (kernel - 1)
    if padding == "valid" or not reach:
        return x
    front = reach if padding == "causal" else reach // 2
    if padding != "reflect":
        return nn.functional.pad(x, (0, 0, front, reach - front))
    steps = x.shape[-2]
    places = torch.arange(-front, steps + reach - front, device=x.device)
    last = (torch.tensor(steps, device=x.device) if lengths is None else lengths)[..., None] - 1
    swing = (2 * last).clamp(min=1)
    places = places.remainder(swing)
    places = torch.minimum(places, swing - places).clamp(min=0).minimum(last.clamp(min=0))
    places = places.expand(*x.shape[:-2], -1)[..., None].expand(*x.shape[:-2], -1, x.shape[-1])
    return x.gather(-2, places)


def _zero_after_end(x: Tensor, lengths: Tensor | None) -> Tensor:
    """NaN and garbage after a row's end become 0 too: they are replaced, not multiplied."""
    return x if lengths is None else x.masked_fill(~step_mask(lengths, x.shape[-2])[..., None], 0.0)


def _expect_fit(x: Tensor, weight: Tensor, padding: str, stride: int, dilation: int, groups: int) -> int:
    """The kernel's size, if sequence and weights fit together."""
    expect_float("x", x)
    expect_choice("padding", padding, Padding.__args__)  # type: ignore[attr-defined]
    expect_positive(stride=stride, dilation=dilation, groups=groups)
    if x.ndim < 2:
        raise ValueError(
            f"x must have shape (..., steps, channels), got {tuple(x.shape)}; for one channel use x[:, None]"
        )
    expect_width("x", x, weight.shape[1] * groups)
    kernel, least = weight.shape[-1], dilation * (weight.shape[-1] - 1) + 1 if padding == "valid" else 1
    if x.shape[-2] < least:
        raise ValueError(
            f"x must have at least {least} steps for a kernel of {kernel} with dilation {dilation} and padding="
            f"{padding!r}, got shape {tuple(x.shape)}; "
            + ("use padding='same' or longer sequences" if least > 1 else "leave empty sequences out")
        )
    return kernel


__all__ = [
    "Conv1d",
    "convolve",
    "cross_correlate",
    "cross_correlate_open",
    "output_lengths",
    "pad_steps",
    "step_mask",
]
