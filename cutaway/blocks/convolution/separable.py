r"""Depth-wise separable convolution: first over space within each channel, then across channels within each pixel.

    u_c = Σ_j x_{c, t + j} D_{c, j}         depth-wise: one kernel for each channel, k·k·i weights
    y_o = b_o + Σ_c u_c P_{c, o}            point-wise: a 1 × 1 convolution, i·o weights

A full convolution has k·k·i·o: for a 7 × 7 kernel from 3 channels to 5 that is 735 against 7·7·3 + 3·5 = 162. It is the
full one whose weight factors as W_{o, c, j} = P_{c, o} D_{c, j}. Sifre 2014; Howard et al. 2017, §3.1. Notes: N3 §6.4.
"""

from typing import ClassVar

from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.convolution.grids import Conv2d, GridPadding, Sizes
from cutaway.overriding import override


class SeparableConv2d(nn.Module):
    """y_o = b_o + Σ_c P_{c, o} Σ_j x_{c, t + j} D_{c, j}: a ``depthwise`` convolution, then a ``pointwise`` one.

    >>> sum(p.numel() for p in SeparableConv2d(3, 5, kernel=7, bias=False).parameters())
    162
    """

    convolved_axes: ClassVar[int] = 2  # declared for `as_dense`: it is linear
    channels_last: ClassVar[bool] = False

    def __init__(
        self,
        inputs: int,
        outputs: int,
        kernel: Sizes = 3,
        padding: GridPadding = "same",
        stride: Sizes = 1,
        dilation: Sizes = 1,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.inputs, self.outputs = inputs, outputs
        self.depthwise = Conv2d(inputs, inputs, kernel, padding, stride, dilation, groups=inputs, bias=False)
        self.pointwise = Conv2d(inputs, outputs, 1, bias=bias)

    @override
    def forward(self, x: Float[Tensor, "*b i h w"]) -> Float[Tensor, "*b o n m"]:
        return self.pointwise(self.depthwise(x))


__all__ = ["SeparableConv2d"]
