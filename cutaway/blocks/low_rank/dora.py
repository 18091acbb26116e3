r"""DoRA: a low-rank update of a matrix's directions, and a length of its own for each output.

    W' = m ⊙ (W + (α / r) A B) / ‖W + (α / r) A B‖          lengths of columns: one for each output

At first B = 0 and m = ‖W‖, so W' = W. In gradients the length below the line counts as a constant (§4.3).
Liu et al. 2024, eq. 5. Notes: N3 §8 (fine-tuning).
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.low_rank.updates import LowRank
from cutaway.overriding import override


def column_lengths(weight: Float[Tensor, "i o"]) -> Float[Tensor, "o"]:
    """‖W‖ of each column.

    >>> column_lengths(torch.tensor([[3.0, 0.0], [4.0, 2.0]]))
    tensor([5., 2.])
    """
    return torch.linalg.vector_norm(weight, dim=0)


class DoRA(LowRank):
    """W' = m ⊙ (W + (α / r) A B) / ‖…‖: Δy beside a frozen map x W; the map's lengths are taken by `measure`.

    Settings and taps are those of LowRank; the tap ``update`` shows (α / r) x A B.
    """

    undecayed = ("magnitude",)

    def __init__(self, *sizes: Any, **settings: Any) -> None:
        super().__init__(*sizes, **settings)
        self.magnitude = nn.Parameter(torch.ones(self.outputs))

    @torch.no_grad()
    def measure(self, weight: Float[Tensor, "i o"]) -> "DoRA":
        """Starts at m = ‖W‖."""
        self.magnitude.copy_(column_lengths(weight.to(self.magnitude.dtype)))
        return self

    @override
    def beside(
        self, change: Float[Tensor, "*b o"], product: Float[Tensor, "*b o"], weight: Float[Tensor, "i o"]
    ) -> Float[Tensor, "*b o"]:
        """Δy = x W' − x W = (m / ‖W + …‖ − 1) ⊙ x W + m / ‖W + …‖ ⊙ (α / r) x A B."""
        weight = weight.to(self.a.dtype)
        with torch.no_grad():
            lengths = column_lengths(weight + super().change(weight))
        share = self.magnitude / lengths
        return (share - 1) * product.to(self.a.dtype) + share * change

    @override
    def change(self, weight: Float[Tensor, "i o"]) -> Float[Tensor, "i o"]:
        """ΔW = W' − W."""
        turned = weight + super().change(weight)
        return self.magnitude.to(weight) / column_lengths(turned) * turned - weight
