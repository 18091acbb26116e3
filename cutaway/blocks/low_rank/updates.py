r"""Low-rank updates: the change of a matrix as a product of two thin ones, which is all that is trained.

    Δy = (α / r) x A B          A (inputs, r) drawn at random, B (r, outputs) zero at first: Δy = 0

Rows are vectors, so A and B are the transposes of the paper's, which writes W + (α / r) B A. Hu et al. 2022, §4.1; A is
drawn as peft does, from U(−1/√inputs, 1/√inputs). With α / √r for the scale: Kalajdzievski 2023. Notes: N3 §8.
"""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.checks import expect_count, expect_positive, expect_probability
from cutaway.inside.hooks import is_changed
from cutaway.inside.taps import Tap
from cutaway.overriding import override


def low_rank_update(
    x: Float[Tensor, "*b i"], a: Float[Tensor, "i r"], b: Float[Tensor, "r o"], scale: float = 1.0
) -> Float[Tensor, "*b o"]:
    """Δy = s x A B, by way of the r numbers x A.

    >>> low_rank_update(torch.tensor([1.0, 2.0]), torch.tensor([[1.0], [1.0]]), torch.tensor([[1.0, -1.0]]), 0.5)
    tensor([ 1.5000, -1.5000])
    """
    return (x @ a) * scale @ b


class LowRank(nn.Module):
    """Δy = (α / r) x A B. ``alpha`` is the rank by default, so that the scale is 1; ``rooted`` makes it α / √r.

    Taps: ``low`` (x A), ``update`` (Δy). ``dropout`` is for whoever owns the input (`LoRA`).
    """

    linear_maps = {"a": -1, "b": -1}

    def __init__(
        self,
        inputs: int,
        outputs: int,
        rank: int = 8,
        alpha: float | None = None,
        dropout: float = 0.0,
        rooted: bool = False,
    ) -> None:
        super().__init__()
        expect_positive(inputs=inputs, outputs=outputs)
        expect_count(rank=rank)
        expect_probability(dropout=dropout)
        if rank > min(inputs, outputs):
            raise ValueError(
                f"rank must be at most that of the matrix, got rank={rank} for {inputs} × {outputs}; "
                f"try rank={min(8, inputs, outputs)}"
            )
        if not isinstance(alpha, (int, float, type(None))):
            raise ValueError(f"alpha must be a number, got {alpha!r}; try alpha={rank}")
        alpha = float(rank) if alpha is None else float(alpha)
        expect_positive(alpha=alpha)
        self.inputs, self.outputs, self.rank, self.alpha = inputs, outputs, rank, alpha
        self.dropout, self.rooted = dropout, rooted
        self.a = nn.Parameter(torch.empty(inputs, rank))
        self.b = nn.Parameter(torch.empty(rank, outputs))
        self.low, self.update = Tap(), Tap()
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = 1 / math.sqrt(self.inputs)
        nn.init.uniform_(self.a, -bound, bound)
        nn.init.zeros_(self.b)

    @property
    def scale(self) -> float:
        return self.alpha / (math.sqrt(self.rank) if self.rooted else self.rank)

    @property
    def looked_at(self) -> bool:
        return self.low.live or self.update.live or bool(self._forward_hooks or self._forward_pre_hooks)

    @property
    def edited(self) -> bool:
        return self.low.edited or self.update.edited or is_changed(self)

    @override
    def forward(self, x: Float[Tensor, "*b i"]) -> Float[Tensor, "*b o"]:
        return self.widen(x.to(self.a.dtype) @ self.a)

    def widen(self, low: Tensor, times: Callable[[Tensor, Tensor], Tensor] = torch.matmul) -> Tensor:
        """Δy, given x A; ``times`` is what multiplies by B."""
        if self.low.live:
            low = self.low(low)
        y = times(low * self.scale, self.b)
        if self.update.live:
            y = self.update(y)
        return y

    def beside(
        self, change: Float[Tensor, "*b o"], product: Float[Tensor, "*b o"], weight: Float[Tensor, "i o"]
    ) -> Float[Tensor, "*b o"]:
        """Δy beside a frozen map, given (α / r) x A B, its x W and W: here these two play no part."""
        return change

    def change(self, weight: Float[Tensor, "i o"]) -> Float[Tensor, "i o"]:
        """ΔW = (α / r) A B: what added to W would give the same outputs, in the precision of ``weight``."""
        return self.scale * (self.a.to(weight) @ self.b.to(weight))

    @override
    def extra_repr(self) -> str:
        shown = f"{self.inputs} → {self.rank} → {self.outputs}, scale={self.scale:g}"
        return shown + (f", dropout={self.dropout}" if self.dropout else "")
