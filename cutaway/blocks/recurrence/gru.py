r"""The GRU: two gates and no cell state of its own; the hidden state is kept or replaced, unit by unit.

    r, u = σ(x⁽ᵗ⁾ W + z⁽ᵗ⁻¹⁾ U + b)                        reset and update gate, each with weights of its own
    g = tanh(x⁽ᵗ⁾ W + b + r ⊙ (z⁽ᵗ⁻¹⁾ U + b′))             candidate
    z⁽ᵗ⁾ = u ⊙ z⁽ᵗ⁻¹⁾ + (1 − u) ⊙ g                        hidden state: u = 1 keeps it

Cho et al. 2014, with the reset gate after the product, as cuDNN and PyTorch have it (Cho: (r ⊙ z⁽ᵗ⁻¹⁾) U) and u where
Cho writes 1 − z. Notes: N3 §5.3. Axis letters: docs/notation.md.
"""

from functools import partial
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from cutaway.blocks.dense.affine import linear
from cutaway.blocks.recurrence.cells import Cell
from cutaway.blocks.recurrence.equations import Name, gru_step, unnamed
from cutaway.blocks.recurrence.gru_kernel import gru_forward
from cutaway.blocks.recurrence.loops import Parts
from cutaway.blocks.recurrence.stacks import Recurrent
from cutaway.blocks.recurrence.states import GRUState
from cutaway.overriding import override


class GRUCell(Cell):
    """z⁽ᵗ⁾ = u ⊙ z⁽ᵗ⁻¹⁾ + (1 − u) ⊙ g, in one direction.

    Taps, each (batch, steps, width): ``reset_gate``, ``update_gate``, ``candidate``, ``hidden``.
    """

    names = ("reset_gate", "update_gate", "candidate", "hidden")
    kept = ("hidden",)

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__(inputs, width, gates=3)
        self.candidate_bias = nn.Parameter(torch.empty(width))  # b′ of the candidate; the gates' would add to their b
        self.reset_parameters()

    @override
    def advance(self, a: Tensor, state: Parts, name: Name = unnamed) -> dict[str, Tensor]:
        b = torch.cat([self.candidate_bias.new_zeros(2 * self.width), self.candidate_bias])
        return gru_step(a, self.map_hidden(state[0]) + b, state[0], name)

    @override
    def fused(self, x: Tensor, state: Parts, mask: Tensor | None, reverse: bool) -> tuple[Tensor, Parts]:
        a, u = linear(x, self.map_input.weight, self.map_input.bias), self.map_hidden.weight
        Z, z, _, _ = gru_forward(a, u, self.candidate_bias, state[0], mask, reverse)
        return Z, (z,)


class GRU(Recurrent):
    """A GRU, z⁽ᵗ⁾ = u ⊙ z⁽ᵗ⁻¹⁾ + (1 − u) ⊙ g; ``gru(x)`` gives (outputs, state).

    ``dropout`` drops what goes from one layer to the next, in training. Taps, each (batch, steps, width), 0 where
    padded: ``layers.0.forwards.update_gate``, and so on for ``reset_gate``, ``candidate`` and ``hidden``;
    ``backwards`` for the way back.
    """

    State: ClassVar[type[GRUState]] = GRUState
    torch_modes: ClassVar[dict[str, dict[str, Any]]] = {"GRU": {}}

    def __init__(
        self, inputs: int, width: int, depth: int = 1, bidirectional: bool = False, dropout: float = 0.0
    ) -> None:
        super().__init__(partial(GRUCell, width=width), inputs, width, depth, bidirectional, dropout)
