r"""The simple recurrent net: the new hidden state is one dense layer over the input and the old one.

    z⁽ᵗ⁾ = φ(x⁽ᵗ⁾ W + z⁽ᵗ⁻¹⁾ U + b)            φ = tanh

The same weights act at every step, so what the last output owes to the first input passes through U as often as there
are steps: it fades or grows exponentially. Elman 1990; Bengio, Simard, Frasconi 1994. Notes: N3 §5.1.
Axis letters: docs/notation.md.
"""

from functools import partial
from typing import Any, ClassVar

from torch import Tensor

from cutaway.blocks.checks import expect_choice
from cutaway.blocks.dense.affine import linear
from cutaway.blocks.recurrence.cells import Cell
from cutaway.blocks.recurrence.equations import Name, rnn_step, unnamed
from cutaway.blocks.recurrence.loops import Parts
from cutaway.blocks.recurrence.rnn_kernel import rnn_forward
from cutaway.blocks.recurrence.stacks import Recurrent
from cutaway.blocks.recurrence.states import RNNState
from cutaway.overriding import override


class RNNCell(Cell):
    """z⁽ᵗ⁾ = φ(x⁽ᵗ⁾ W + z⁽ᵗ⁻¹⁾ U + b), in one direction. Tap: ``hidden``, (batch, steps, width)."""

    names = kept = ("hidden",)

    def __init__(self, inputs: int, width: int, activation: str = "tanh") -> None:
        super().__init__(inputs, width, gates=1)
        expect_choice("activation", activation, ("tanh", "relu"))
        self.relu = activation == "relu"
        self.reset_parameters()

    @override
    def advance(self, a: Tensor, state: Parts, name: Name = unnamed) -> dict[str, Tensor]:
        return rnn_step(a + self.map_hidden(state[0]), self.relu, name)

    @override
    def fused(self, x: Tensor, state: Parts, mask: Tensor | None, reverse: bool) -> tuple[Tensor, Parts]:
        a = linear(x, self.map_input.weight, self.map_input.bias)
        Z, z = rnn_forward(a, self.map_hidden.weight, state[0], mask, self.relu, reverse)
        return Z, (z,)


class RNN(Recurrent):
    """A recurrent net, z⁽ᵗ⁾ = φ(x⁽ᵗ⁾ W + z⁽ᵗ⁻¹⁾ U + b), φ tanh or relu; ``rnn(x)`` gives (outputs, state).

    ``dropout`` drops what goes from one layer to the next, in training. Taps, each (batch, steps, width), 0 where
    padded: ``layers.0.forwards.hidden``, and ``backwards`` for the way back of a bidirectional net.
    """

    State: ClassVar[type[RNNState]] = RNNState
    torch_modes: ClassVar[dict[str, dict[str, Any]]] = {"RNN_TANH": {}, "RNN_RELU": {"activation": "relu"}}

    def __init__(
        self,
        inputs: int,
        width: int,
        depth: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        activation: str = "tanh",
    ) -> None:
        cell = partial(RNNCell, width=width, activation=activation)
        super().__init__(cell, inputs, width, depth, bidirectional, dropout)
