r"""The LSTM: a cell state that gates protect, so that what was once written stays until a gate lets it go.

    i, f, o = σ(x⁽ᵗ⁾ W + z⁽ᵗ⁻¹⁾ U + b)         input, forget and output gate, each with weights of its own
    g = tanh(x⁽ᵗ⁾ W + z⁽ᵗ⁻¹⁾ U + b)            candidate
    c⁽ᵗ⁾ = f ⊙ c⁽ᵗ⁻¹⁾ + i ⊙ g                  cell state
    z⁽ᵗ⁾ = o ⊙ tanh(c⁽ᵗ⁾)                      hidden state

With peepholes the gates see the cell state too, i and f the old one, o the new one: … + c ⊙ p inside σ (Gers,
Schraudolph 2000). With coupled gates i = 1 − f: what is forgotten makes room for what is written (Greff et al. 2017).
Hochreiter, Schmidhuber 1997; forget gate: Gers, Schmidhuber, Cummins 2000; its bias begins at 1, as in Jozefowicz et
al. 2015.
✎ N3 §5.2 lets the cell state control the gates: they read x⁽ᵗ⁾ and z⁽ᵗ⁻¹⁾; the cell state only with peepholes.
Axis letters: docs/notation.md.
"""

from functools import partial
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from cutaway.blocks.recurrence.cells import Cell
from cutaway.blocks.recurrence.equations import Name, lstm_step, unnamed
from cutaway.blocks.recurrence.loops import Parts
from cutaway.blocks.recurrence.lstm_kernel import lstm_forward
from cutaway.blocks.recurrence.onednn_lstm import onednn_lstm, suits_onednn
from cutaway.blocks.recurrence.stacks import Recurrent
from cutaway.blocks.recurrence.states import LSTMState
from cutaway.overriding import override


class LSTMCell(Cell):
    """c⁽ᵗ⁾ = f ⊙ c⁽ᵗ⁻¹⁾ + i ⊙ g and z⁽ᵗ⁾ = o ⊙ tanh(c⁽ᵗ⁾), in one direction.

    Taps, each (batch, steps, width): ``input_gate``, ``forget_gate``, ``candidate``, ``output_gate``, ``cell`` and
    ``hidden``.
    """

    names = ("input_gate", "forget_gate", "candidate", "output_gate", "cell", "hidden")
    kept = ("hidden", "cell")

    def __init__(self, inputs: int, width: int, peephole: bool = False, coupled: bool = False) -> None:
        super().__init__(inputs, width, gates=3 if coupled else 4)
        self.coupled = coupled
        self.peepholes = nn.Parameter(torch.empty(2 if coupled else 3, width)) if peephole else None
        self.reset_parameters()

    @override
    def reset_parameters(self) -> None:
        """As torch.nn, but the forget gate begins open: its bias is 1."""
        super().reset_parameters()
        assert self.map_input.bias is not None
        with torch.no_grad():
            self.map_input.bias.unflatten(0, (self.gates, self.width))[-3] = 1.0

    @override
    def advance(self, a: Tensor, state: Parts, name: Name = unnamed) -> dict[str, Tensor]:
        return lstm_step(a + self.map_hidden(state[0]), state[1], self.peepholes, self.coupled, name)

    @override
    def fused(self, x: Tensor, state: Parts, mask: Tensor | None, reverse: bool) -> tuple[Tensor, Parts]:
        w, b, u = self.map_input.weight, self.map_input.bias, self.map_hidden.weight
        assert b is not None
        if mask is None and self.peepholes is None and not self.coupled and suits_onednn(x, u):
            Z, z, c = onednn_lstm(x, w, u, b, state[0], state[1], reverse)
            return Z, (z, c)
        given = (x, w, b, u, self.peepholes, *state)
        if x.dtype.itemsize < 4:  # a state in half precision would forget by rounding
            given = tuple(None if part is None else part.float() for part in given)
        Z, _, z, c, _ = lstm_forward(*given, mask, self.coupled, reverse)
        return Z.to(x.dtype), (z.to(x.dtype), c.to(x.dtype))


class LSTM(Recurrent):
    """An LSTM: c⁽ᵗ⁾ = f ⊙ c⁽ᵗ⁻¹⁾ + i ⊙ g, z⁽ᵗ⁾ = o ⊙ tanh(c⁽ᵗ⁾); ``lstm(x)`` gives (outputs, state).

    ``peephole``: the gates see the cell state. ``coupled``: i = 1 − f. ``dropout`` drops what goes from one layer to
    the next, in training. Taps, each (batch, steps, width), 0 where padded: ``layers.0.forwards.forget_gate``, and so
    on for ``input_gate``, ``candidate``, ``output_gate``, ``cell`` and ``hidden``; ``backwards`` for the way back.
    """

    State: ClassVar[type[LSTMState]] = LSTMState
    torch_modes: ClassVar[dict[str, dict[str, Any]]] = {"LSTM": {}}

    def __init__(
        self,
        inputs: int,
        width: int,
        depth: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        peephole: bool = False,
        coupled: bool = False,
    ) -> None:
        cell = partial(LSTMCell, width=width, peephole=peephole, coupled=coupled)
        super().__init__(cell, inputs, width, depth, bidirectional, dropout)
