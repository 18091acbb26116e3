r"""The GRU: two gates and no cell state of its own; the hidden state is kept or replaced, unit by unit.

    r, u = σ(x⁽ᵗ⁾ W + z⁽ᵗ⁻¹⁾ U + b)                        reset and update gate, each with weights of its own
    g = tanh(x⁽ᵗ⁾ W + b + r ⊙ (z⁽ᵗ⁻¹⁾ U + b′))             candidate
    z⁽ᵗ⁾ = u ⊙ z⁽ᵗ⁻¹⁾ + (1 − u) ⊙ g                        hidden state: u = 1 keeps it

Cho et al. 2014, with the reset gate after the product, as cuDNN and PyTorch have it (Cho: (r ⊙ z⁽ᵗ⁻¹⁾) U) and u where
Cho writes 1 − z. Notes: N3 §5.3. Axis letters: docs/notation.md.
"""

from functools import partial
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.recurrence.cells import Cell, Name, Parts, unnamed
from cutaway.blocks.recurrence.stacks import Recurrent
from cutaway.blocks.recurrence.states import GRUState


def gru_step(
    inputs: Float[Tensor, "*b s"],
    recurrent: Float[Tensor, "*b s"],
    hidden: Float[Tensor, "*b w"],
    name: Name = unnamed,
) -> dict[str, Tensor]:
    """One step from x⁽ᵗ⁾ W + b and z⁽ᵗ⁻¹⁾ U + b′, those of r, u and g side by side in both."""
    (x_r, x_u, x_g), (z_r, z_u, z_g) = inputs.chunk(3, -1), recurrent.chunk(3, -1)
    r = name("reset_gate", torch.sigmoid(x_r + z_r))
    u = name("update_gate", torch.sigmoid(x_u + z_u))
    g = name("candidate", torch.tanh(x_g + r * z_g))
    z = name("hidden", u * hidden + (1 - u) * g)
    return {"reset_gate": r, "update_gate": u, "candidate": g, "hidden": z}


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

    def advance(self, a: Tensor, state: Parts, name: Name = unnamed) -> dict[str, Tensor]:
        b = torch.cat([self.candidate_bias.new_zeros(2 * self.width), self.candidate_bias])
        return gru_step(a, self.map_hidden(state[0]) + b, state[0], name)


class GRU(Recurrent):
    """A GRU, z⁽ᵗ⁾ = u ⊙ z⁽ᵗ⁻¹⁾ + (1 − u) ⊙ g; ``gru(x)`` gives (outputs, state).

    ``dropout`` drops what goes from one layer to the next, in training. Taps, each (batch, steps, width), 0 where
    padded: ``layers.0.forwards.update_gate``, and so on for ``reset_gate``, ``candidate`` and ``hidden``;
    ``backwards`` for the way back.
    """

    State: ClassVar[type[GRUState]] = GRUState

    def __init__(
        self, inputs: int, width: int, depth: int = 1, bidirectional: bool = False, dropout: float = 0.0
    ) -> None:
        super().__init__(partial(GRUCell, width=width), inputs, width, depth, bidirectional, dropout)
