r"""Prefix and prompt tuning: a few learned vectors stand in front, and everything else is frozen.

    Y = softmax(Q [P_K; K]ᵀ / √d) [P_V; V]      prefix: keys and values of its own in a layer's attention
    X ← [P; X]                                  prompt: vectors before those of the tokens

Every query sees all of the prefix, also under a causal mask. Li & Liang 2021 (prefix), Lester et al. 2021 (prompt).
Notes: N3 §8 (fine-tuning).
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from cutaway.blocks.attention.dot_product import attend
from cutaway.blocks.checks import expect_positive, expect_width
from cutaway.inside.taps import Tap
from cutaway.overriding import override


def attend_with_prefix(
    q: Float[Tensor, "*b h q d"],
    k: Float[Tensor, "*b h k d"],
    v: Float[Tensor, "*b h k d"],
    prefix_keys: Float[Tensor, "h n d"],
    prefix_values: Float[Tensor, "h n d"],
    mask: Bool[Tensor, "*#b #h #q k"] | None = None,
    causal: bool = False,
) -> Float[Tensor, "*b h q d"]:
    """Y = softmax(Q [P_K; K]ᵀ / √d) [P_V; V]; ``mask`` is True where a query may look among the keys K.

    >>> q, k, v = torch.ones(1, 1, 2), torch.ones(1, 1, 2), torch.ones(1, 1, 2)
    >>> attend_with_prefix(q, k, v, torch.ones(1, 1, 2), 3 * torch.ones(1, 1, 2))  # two equal keys
    tensor([[[2., 2.]]])
    """
    k, v = (
        torch.cat([prefix.expand(*x.shape[:-2], *prefix.shape[-2:]), x], -2)
        for prefix, x in ((prefix_keys, k), (prefix_values, v))
    )
    if mask is not None:
        mask = torch.cat([mask.new_ones(*mask.shape[:-1], prefix_keys.shape[-2]), mask], -1)
    return attend(q, k, v, mask=mask, causal=causal)


class Prefix(nn.Module):
    """Attention with ``length`` learned keys and values in front, for each head. Tap: ``output``."""

    def __init__(self, heads: int, head_width: int, length: int = 10) -> None:
        super().__init__()
        expect_positive(heads=heads, head_width=head_width, length=length)
        self.keys = nn.Parameter(torch.randn(heads, length, head_width))
        self.values = nn.Parameter(torch.zeros(heads, length, head_width))
        self.output = Tap()

    @override
    def forward(
        self,
        q: Float[Tensor, "*b h q d"],
        k: Float[Tensor, "*b h k d"],
        v: Float[Tensor, "*b h k d"],
        mask: Bool[Tensor, "*#b #h #q k"] | None = None,
        causal: bool = False,
    ) -> Float[Tensor, "*b h q d"]:
        y = attend_with_prefix(q, k, v, self.keys, self.values, mask, causal)
        if self.output.live:
            y = self.output(y)
        return y

    @override
    def extra_repr(self) -> str:
        heads, length, width = self.keys.shape
        return f"heads={heads}, head_width={width}, length={length}"


class Prompt(nn.Module):
    """X ← [P; X]: ``length`` learned vectors before those of the tokens, drawn from N(0, 0.5²) as Lester et al. do."""

    def __init__(self, width: int, length: int = 20) -> None:
        super().__init__()
        expect_positive(width=width, length=length)
        self.vectors = nn.Parameter(0.5 * torch.randn(length, width))

    @override
    def forward(self, x: Float[Tensor, "*b t w"]) -> Float[Tensor, "*b s w"]:
        expect_width("x", x, self.vectors.shape[1])
        return torch.cat([self.vectors.expand(*x.shape[:-2], *self.vectors.shape), x], -2)

    @override
    def extra_repr(self) -> str:
        return f"length={self.vectors.shape[0]}, width={self.vectors.shape[1]}"
