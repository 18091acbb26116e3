r"""A learned contrast curve: dark pixels become black, light ones white, and those between are spread.

    y = clip((x − c) / w + 1/2, 0, 1) + λ x         c the centre, w > 0 the width of what is spread, one pair a channel

Where the curve is flat, a change of a pixel changes almost nothing: with c = 1/2 and w = 0.4, black and white withstand
changes of 0.3. Networks that are trained on attacked digits find such thresholds by themselves, but slowly (Madry et
al. 2018, appendix C). The small slope λ stays, and is not learned: were the curve quite flat, gradients would vanish
there, and attacks that follow them would fail without the model being any stronger (Athalye et al. 2018).
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.checks import expect_float, expect_positive
from cutaway.overriding import override

SLOPE = 0.05  # λ


def contrast_curve(
    x: Float[Tensor, "*b c h w"], centre: Float[Tensor, "c"], width: Float[Tensor, "c"]
) -> Float[Tensor, "*b c h w"]:
    """y = clip((x − c) / w + 1/2, 0, 1) + λ x.

    >>> x = torch.tensor([[[0.0, 0.3, 0.5, 0.7, 1.0]]])
    >>> contrast_curve(x, torch.tensor([0.5]), torch.tensor([0.4]))
    tensor([[[0.0000, 0.0150, 0.5250, 1.0350, 1.0500]]])
    """
    c, w = centre[:, None, None], width[:, None, None]
    return ((x - c) / w + 0.5).clamp(0, 1) + SLOPE * x


class ContrastCurve(nn.Module):
    """y = clip((x − c) / w + 1/2, 0, 1) + λ x for images (…, channels, height, width) of pixels from 0 to 1.

    At first ``flat`` of the scale is flat at either end: c = 1/2, w = 1 − 2 ``flat``.
    """

    def __init__(self, channels: int, flat: float = 0.3) -> None:
        super().__init__()
        expect_positive(channels=channels)
        if not 0 <= flat < 0.5:
            raise ValueError(f"flat must be at least 0 and below 0.5, got {flat}; try flat=0.3")
        self.channels, self.flat = channels, flat
        self.centre = nn.Parameter(torch.empty(channels))
        self.log_width = nn.Parameter(torch.empty(channels))  # w = exp of it: above 0, whatever is learned
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.constant_(self.centre, 0.5)
        nn.init.constant_(self.log_width, math.log(1 - 2 * self.flat))

    @override
    def forward(self, x: Float[Tensor, "*b c h w"]) -> Float[Tensor, "*b c h w"]:
        expect_float("x", x)
        if x.ndim < 3 or x.shape[-3] != self.channels:
            raise ValueError(
                f"images must have shape (..., {self.channels}, height, width), got {tuple(x.shape)}; "
                "put the channels before height and width"
            )
        return contrast_curve(x, self.centre, self.log_width.exp())

    @override
    def extra_repr(self) -> str:
        return f"{self.channels}, flat={self.flat}"
