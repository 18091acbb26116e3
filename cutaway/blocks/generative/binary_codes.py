r"""The binary code: every entry is 0 or 1, on one side of a hyperplane or the other.

    z = threshold(x W + b) ∈ {0, 1}ᵏ                        backward as the identity: δ_s = δ_z
    x̂ = z V + c                                             2ᵏ points: c, and c plus sums of rows of V

With one unit the decoder knows two points, c and c + v. The squared error is least when each is the mean of the inputs
that it stands for, and each input has the nearer one: the two centroids of K-means with K = 2, whose border is a
hyperplane as well. Straight through: Bengio, Léonard, Courville 2013. K-means: Lloyd 1982. Notes: N3 §2.4.4.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.checks import expect_float, expect_positive, expect_width
from cutaway.blocks.dense.affine import Linear
from cutaway.blocks.dense.neurons import straight_through
from cutaway.blocks.generative.principal_directions import principal_directions
from cutaway.inside.taps import Tap
from cutaway.overriding import override


def binary_code(s: Float[Tensor, "*s"]) -> Float[Tensor, "*s"]:
    r"""1 where s is not negative, else 0; backward as the hard tanh, so that inputs far from the border stay put.

        z = 1 if s ≥ 0 else 0,      δ_s = δ_z where |s| ≤ 1, else 0

    >>> binary_code(torch.tensor([-2.0, 0.0, 0.3]))
    tensor([0., 1., 1.])
    """
    expect_float("s", s)
    return straight_through((s >= 0).to(s.dtype), s.clamp(-1, 1))


class BinaryCode(nn.Module):
    r"""Hidden values to a code of zeros and ones.

        s = x W + b,   z = 1 if s ≥ 0 else 0

    Only inputs near a border (|s| ≤ 1) move it, so weights start large: ``sharpness`` times those of `Linear`. With
    small ones all inputs would pull at the border, not just those that may change sides, and it would come to rest
    elsewhere than where the squared error is least. Taps: ``score`` (s) and ``output`` (z).
    """

    def __init__(self, inputs: int, units: int, sharpness: float = 5.0) -> None:
        super().__init__()
        expect_positive(inputs=inputs, units=units, sharpness=sharpness)
        self.inputs, self.units = inputs, units
        self.to_score = Linear(inputs, units)
        with torch.no_grad():
            self.to_score.weight.mul_(sharpness)
        self.score = Tap()
        self.output = Tap()

    @override
    def forward(self, x: Float[Tensor, "*b i"]) -> Float[Tensor, "*b k"]:
        expect_float("x", x)
        expect_width("x", x, self.inputs)
        s = self.to_score(x)
        if self.score.live:
            s = self.score(s)
        z = binary_code(s)
        if self.output.live:
            z = self.output(z)
        return z

    @torch.no_grad()
    def start_from(self, x: Float[Tensor, "n i"], spread: float = 4.0) -> None:
        """Sets the borders across the principal directions of some inputs, through their mean; scores have ``spread``.

        The best two clusters, relaxed to real numbers, are the two sides of the first principal direction (Ding, He
        2004), so that K-means is near. Units beyond the number of directions keep theirs.
        """
        assert self.to_score.bias is not None
        mean = x.mean(0)
        first = principal_directions(x - mean, self.units).T
        self.to_score.weight[:, : first.shape[1]] = first
        s = (x - mean) @ self.to_score.weight
        self.to_score.weight.mul_(spread / s.std(0).clamp(min=1e-6))
        self.to_score.bias.copy_(-(mean @ self.to_score.weight))

    @override
    def extra_repr(self) -> str:
        return f"inputs={self.inputs}, units={self.units}"
