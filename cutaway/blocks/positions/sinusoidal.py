r"""Sinusoidal positions: every place has a fixed vector of sines and cosines, from fast to slow.

    posemb(i)[2k] = sin(i / 10000^{2k/w})
    posemb(i)[2k+1] = cos(i / 10000^{2k/w})

Each pair (2k, 2k+1) is the hand of a clock that turns at its own speed, so posemb(i+s) is posemb(i) with every hand
turned on by s: a rotation that does not depend on i. Nothing is learned and there is no longest sequence.
Vaswani et al. 2017, §3.5. Notes: N3 §5.7.1. Axis letters: docs/notation.md.
"""

import torch
from jaxtyping import Float, Int, Real
from torch import Tensor, nn

from cutaway.blocks.checks import expect_even, expect_float, expect_positive, expect_width
from cutaway.inside.taps import Tap
from cutaway.overriding import override


def sinusoids(
    positions: Real[Tensor, "*t"], width: int, base: float = 10000.0, dtype: torch.dtype | None = None
) -> Float[Tensor, "*t {width}"]:
    """posemb(i)[2k] = sin(i / base^{2k/w}) and posemb(i)[2k+1] the cosine, for whole or fractional positions i.

    Computed in float64 and then rounded to ``dtype`` (default: that of the positions if they are floats, else torch's
    default), because sin(i) of a large float32 i has few right digits.

    >>> sinusoids(torch.arange(3), 4)
    tensor([[ 0.0000,  1.0000,  0.0000,  1.0000],
            [ 0.8415,  0.5403,  0.0100,  0.9999],
            [ 0.9093, -0.4161,  0.0200,  0.9998]])
    """
    expect_positive(width=width, base=base)
    expect_even(width=width)
    if dtype is None:
        dtype = positions.dtype if positions.is_floating_point() else torch.get_default_dtype()
    exact = torch.float32 if positions.device.type == "mps" else torch.float64  # Apple's GPUs have no float64
    k2 = torch.arange(0, width, 2, dtype=exact, device=positions.device)
    angles = positions.to(exact).unsqueeze(-1) * base ** (-k2 / width)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2).to(dtype)


class SinusoidalPosition(nn.Module):
    """Adds the fixed vector of each position: y_i = x_i + posemb(i). Taps: ``rows`` (the posemb(i)) and ``output``.

    ``offset`` is the position of the first input; ``positions`` gives them one by one, per example if need be.
    """

    def __init__(self, width: int, base: float = 10000.0) -> None:
        super().__init__()
        expect_positive(width=width, base=base)
        expect_even(width=width)
        self.width, self.base = width, base
        self.rows = Tap()
        self.output = Tap()

    @override
    def forward(
        self, x: Float[Tensor, "*b t w"], offset: int = 0, positions: Int[Tensor, "*#b t"] | None = None
    ) -> Float[Tensor, "*b t w"]:
        expect_float("x", x)
        expect_width("x", x, self.width)
        if positions is None:
            positions = torch.arange(offset, offset + x.shape[-2], device=x.device)
        P = sinusoids(positions, self.width, self.base, x.dtype)
        if self.rows.live:
            P = self.rows(P)
        y = x + P
        if self.output.live:
            y = self.output(y)
        return y

    @override
    def extra_repr(self) -> str:
        return f"width={self.width}, base={self.base:g}"
