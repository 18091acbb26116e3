r"""Fixed standardisation of channels: the model itself brings pixels from 0 to 1 to the scale that suits it.

    y_c = (x_c − μ_c) / σ_c         μ, σ: mean and spread of each channel over the training images, kept as buffers

So whoever uses a model (a prediction, an attack in units of pixels, another program) gives plain pixels. LeCun et al.
2012, §4.3. Notes: N3 §3.7.4.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.checks import expect_float, expect_positive
from cutaway.overriding import override


class ChannelScale(nn.Module):
    """y_c = (x_c − μ_c) / σ_c for images (…, channels, height, width), with μ = 0 and σ = 1 until `fit`."""

    mean: Tensor
    spread: Tensor

    def __init__(self, channels: int) -> None:
        super().__init__()
        expect_positive(channels=channels)
        self.register_buffer("mean", torch.zeros(channels))
        self.register_buffer("spread", torch.ones(channels))

    @torch.no_grad()
    def fit(self, mean: Float[Tensor, "c"], spread: Float[Tensor, "c"]) -> None:
        """Takes the mean and spread of training images; a channel that never changes is only shifted."""
        self.mean.copy_(mean)
        self.spread.copy_(torch.where(spread > 0, spread, 1.0))

    @override
    def forward(self, x: Float[Tensor, "*b c h w"]) -> Float[Tensor, "*b c h w"]:
        expect_float("x", x)
        if x.ndim < 3 or x.shape[-3] != len(self.mean):
            raise ValueError(
                f"images must have shape (..., {len(self.mean)}, height, width), got {tuple(x.shape)}; "
                "put the channels before height and width"
            )
        return (x - self.mean[:, None, None]) / self.spread[:, None, None]

    @override
    def extra_repr(self) -> str:
        return str(len(self.mean))
