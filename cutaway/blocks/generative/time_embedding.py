r"""The time embedding: a vector that tells a denoising network how noisy its input is.

    e(t) = φ(sin-cos(t) W₁ + b₁) W₂ + b₂              t from 0, the image, to 1, all noise

The hands of the clocks of sinusoidal positions turn with 1000 t: fast ones tell neighbouring levels apart, slow ones
early from late. Ho, Jain, Abbeel 2020, appendix B; the sinusoids are those of Vaswani et al. 2017.
"""

from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.checks import expect_even, expect_float, expect_positive
from cutaway.blocks.dense.activations import find_activation
from cutaway.blocks.dense.affine import Linear
from cutaway.blocks.positions.sinusoidal import sinusoids
from cutaway.inside.taps import Tap
from cutaway.overriding import override

_TURNS = 1000.0  # t = 1 stands where position 1000 does


class TimeEmbedding(nn.Module):
    r"""Times between 0 and 1 to vectors.

        e(t) = silu(sinusoids(1000 t) W₁ + b₁) W₂ + b₂

    Taps: ``clock`` (the sines and cosines) and ``output``.
    """

    def __init__(self, width: int, clock_width: int = 64) -> None:
        super().__init__()
        expect_positive(width=width, clock_width=clock_width)
        expect_even(clock_width=clock_width)
        self.width, self.clock_width = width, clock_width
        self.first, self.second = Linear(clock_width, width), Linear(width, width)
        self.activation = find_activation("silu")
        self.clock = Tap()
        self.output = Tap()

    @override
    def forward(self, time: Float[Tensor, "*b"]) -> Float[Tensor, "*b w"]:
        expect_float("time", time)
        x = sinusoids(_TURNS * time, self.clock_width).to(self.first.weight.dtype)
        if self.clock.live:
            x = self.clock(x)
        e = self.second(self.activation(self.first(x)))
        if self.output.live:
            e = self.output(e)
        return e

    @override
    def extra_repr(self) -> str:
        return f"width={self.width}, clock_width={self.clock_width}"
