r"""Learned positions: every place in the sequence has a vector of its own, and it is added to the input.

    y_i = x_i + P_i             row i of P, a weight like any other

A model with learned positions knows ``context`` places and no more. Gehring et al. 2017; BERT and GPT-2 use it.
Notes: N3 §5.7.1. Axis letters: docs/notation.md.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from cutaway.blocks.checks import expect_float, expect_positive, expect_width
from cutaway.inside.taps import Tap
from cutaway.overriding import override


class LearnedPosition(nn.Module):
    """Adds a learned row to each position: y_i = x_i + P_i. Taps: ``rows`` (the P_i used) and ``output``.

    ``offset`` is the position of the first input, so that a decoder with a cache can pass one token at a time.
    ``positions`` gives them one by one, per example if need be (left-padded batches).
    """

    def __init__(self, context: int, width: int) -> None:
        super().__init__()
        expect_positive(context=context, width=width)
        self.context, self.width = context, width
        self.weight = nn.Parameter(torch.empty(context, width))
        self.rows = Tap()
        self.output = Tap()
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.normal_(self.weight, std=0.02)  # as BERT and GPT-2 do

    @override
    def forward(
        self, x: Float[Tensor, "*b t w"], offset: int = 0, positions: Int[Tensor, "*#b t"] | None = None
    ) -> Float[Tensor, "*b t w"]:
        expect_float("x", x)
        expect_width("x", x, self.width)
        if positions is None:
            self._expect_room(x.shape[-2], offset)
            P = self.weight[offset : offset + x.shape[-2]]
        else:
            P = nn.functional.embedding(positions, self.weight)
        if self.rows.live:
            P = self.rows(P)
        y = x + P
        if self.output.live:
            y = self.output(y)
        return y

    def _expect_room(self, length: int, offset: int) -> None:
        if offset < 0:
            raise ValueError(f"offset must not be negative, got {offset}; positions count from 0")
        if offset + length > self.context:
            raise ValueError(
                f"offset + length must be at most context={self.context}, got offset={offset} and length={length}; "
                f"cut the input, or build the block with context={offset + length}"
            )

    @override
    def extra_repr(self) -> str:
        return f"context={self.context}, width={self.width}"
