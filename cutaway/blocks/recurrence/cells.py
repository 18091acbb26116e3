r"""A cell is one layer of a recurrent net in one direction: it reads a sequence, one step after the other.

    a⁽ᵗ⁾ = x⁽ᵗ⁾ W + b                      for all steps at once
    state⁽ᵗ⁾ = f(a⁽ᵗ⁾, state⁽ᵗ⁻¹⁾)          one step after the other

What f is, the families say: equations.py, rnn.py, lstm.py, gru.py. Two paths compute it. The *fused* one is a kernel
for the whole sequence. The *written-out* one takes the equation step by step, where every value of every step can be
changed; it is taken where somebody edits a value or wants its gradient. Reading alone, of the values or of the two
maps, keeps the fused output and computes what is read beside it: looking never changes the output by a bit.
Elman 1990. Notes: N3 §5.1. Axis letters: docs/notation.md.
"""

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from cutaway.blocks.dense.affine import Linear
from cutaway.blocks.recurrence.edits import StepEdits
from cutaway.blocks.recurrence.equations import Name, unnamed
from cutaway.blocks.recurrence.loops import Parts, unroll
from cutaway.inside.hooks import is_changed, is_read
from cutaway.inside.taps import Tap, Whole
from cutaway.overriding import override


class Cell(nn.Module, ABC):
    """state⁽ᵗ⁾ = f(x⁽ᵗ⁾ W + b, state⁽ᵗ⁻¹⁾): one layer in one direction. Families derive from it."""

    names: ClassVar[tuple[str, ...]]  # the values of one step, each of which has a tap
    kept: ClassVar[tuple[str, ...]]  # those that are the state
    bare_matrices = ("map_input", "map_hidden")  # children whose matrices are read without calling them

    def __init__(self, inputs: int, width: int, gates: int) -> None:
        super().__init__()
        self.inputs, self.width = inputs, width
        self.gates = gates  # blocks of ``width`` columns, side by side in W and U
        self.map_input = Linear(inputs, gates * width)
        self.map_hidden = Linear(width, gates * width, bias=False)
        for name in self.names:
            setattr(self, name, Tap())

    def reset_parameters(self) -> None:
        """Draws every weight from U(−1/√w, 1/√w), as torch.nn does."""
        bound = 1 / math.sqrt(self.width)
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -bound, bound)

    @property
    def fused_parts(self) -> dict[str, int]:
        """The gates side by side in one matrix, for optimizers that treat each by itself."""
        return {"map_input": self.gates, "map_hidden": self.gates}

    @abstractmethod
    def advance(self, a: Tensor, state: Parts, name: Name = unnamed) -> dict[str, Tensor]:
        """The values of one step, by name: the family's equation."""

    @abstractmethod
    def fused(self, x: Tensor, state: Parts, mask: Tensor | None, reverse: bool) -> tuple[Tensor, Parts]:
        """The hidden states (t, b, w) and the last state by a kernel; x (t, b, i), mask (t, b, 1).

        It reads the matrices of the two maps without calling them, so that nobody hears them twice.
        """

    @override
    def forward(
        self, x: Tensor, state: Parts, mask: Tensor | None = None, reverse: bool = False
    ) -> tuple[Tensor, Parts]:
        """x (b, t, i) → hidden states (b, t, w) and the last state; steps where ``mask`` is False are skipped."""
        x = x.transpose(0, 1)
        mask = None if mask is None else mask.mT.unsqueeze(-1)
        modules: Any = self._modules  # asking the module for each by name takes longer than a short pass
        taps: dict[str, Tap] = {name: tap for name in self.names if (tap := modules[name]).live}
        edited = {name: tap for name, tap in taps.items() if tap.edited}
        if edited or not self._plain():
            hidden, state, values = self._written_out(x, state, mask, reverse, edited)
        else:
            first = state
            hidden, state = self.fused(x, first, mask, reverse)
            if taps or any(is_read(modules[name]) for name in self.bare_matrices):
                values = self._written_out(x, first, mask, reverse, {})[2] | {"hidden": Whole(hidden.transpose(0, 1))}
        for name, tap in taps.items():
            value, source = values[name]
            tap(Whole(value if mask is None else value * mask.transpose(0, 1), source))
        if mask is not None:
            hidden = hidden * mask
        return hidden.transpose(0, 1), state

    def _written_out(
        self, x: Tensor, state: Parts, mask: Tensor | None, reverse: bool, edited: dict[str, Tap]
    ) -> tuple[Tensor, Parts, dict[str, Whole]]:
        """Hidden states (t, b, w), the last state, and every value as (b, t, w), with edits at every step."""
        a = self.map_input(x)
        edits = StepEdits(edited, a)
        seen, state = unroll(
            lambda a, state, t: self.advance(a, state, edits.at(t)), self.kept, a, state, mask, reverse
        )
        values = {name: edits.whole(name, torch.stack(steps, 1)) for name, steps in seen.items()}
        return torch.stack(seen["hidden"]), state, values

    def _plain(self) -> bool:
        """Whether a kernel computes what this cell does: its maps are its own and unchanged, outside torch.func."""
        maps: tuple[Any, ...] = (self.map_input, self.map_hidden)
        return all(type(m) is Linear and not is_changed(m) for m in maps) and (
            torch.compiler.is_compiling() or torch._C._functorch.maybe_current_level() is None
        )

    @override
    def extra_repr(self) -> str:
        return f"{self.inputs} → {self.width}"
