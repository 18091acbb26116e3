r"""Weight norm: the length of each unit's weight vector is learned apart from its direction.

    W = g ⊙ V / ‖V‖             one length g and one norm for each output, that is for each column of V
    y = x W + b

Salimans, Kingma 2016, eq. 2. Notes: N3 §3.7.5 (the table of invariances). torch.nn.utils.parametrizations.weight_norm
stores Wᵀ and so has one length for each row.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.checks import expect_float, expect_width
from cutaway.blocks.dense.affine import Linear, linear
from cutaway.inside.taps import Tap
from cutaway.overriding import override


def weight_norm(direction: Float[Tensor, "i o"], gain: Float[Tensor, "o"]) -> Float[Tensor, "i o"]:
    """W = g ⊙ V / ‖V‖, column by column; a column of zeros has no direction and stays zero.

    >>> weight_norm(torch.tensor([[3.0, 0.0], [4.0, 2.0]]), torch.tensor([5.0, 1.0]))
    tensor([[3., 0.],
            [4., 1.]])
    """
    expect_float("direction", direction)
    expect_width("direction", direction, gain.shape[0])
    return gain * nn.functional.normalize(direction, dim=0)


class WeightNormLinear(nn.Module):
    """A linear layer with weight norm, y = x W + b with W = g ⊙ V / ‖V‖; W starts as that of `Linear`.

    Parameters: ``direction`` V, ``gain`` g and ``bias`` b. Taps: ``matrix`` (W) and ``output``.
    """

    def __init__(self, inputs: int, outputs: int, bias: bool = True) -> None:
        super().__init__()
        start = Linear(inputs, outputs, bias)
        self.inputs, self.outputs = inputs, outputs
        self.direction = nn.Parameter(start.weight.detach())
        self.gain = nn.Parameter(torch.linalg.vector_norm(self.direction.detach(), dim=0))
        self.bias = start.bias
        self.matrix = Tap()
        self.output = Tap()

    def reset_parameters(self) -> None:
        start = Linear(self.inputs, self.outputs, self.bias is not None)
        with torch.no_grad():
            self.direction.copy_(start.weight)
            self.gain.copy_(torch.linalg.vector_norm(self.direction, dim=0))
            if self.bias is not None and start.bias is not None:
                self.bias.copy_(start.bias)

    @property
    def weight(self) -> Tensor:
        """W, as `Linear` has it; compute it once where it is used often."""
        return weight_norm(self.direction, self.gain)

    @override
    def forward(self, x: Float[Tensor, "*b i"]) -> Float[Tensor, "*b o"]:
        W = self.weight
        if self.matrix.live:
            W = self.matrix(W)
        y = linear(x, W, self.bias)
        if self.output.live:
            y = self.output(y)
        return y

    @override
    def extra_repr(self) -> str:
        return f"{self.inputs} → {self.outputs}" + ("" if self.bias is not None else ", no bias")
