r"""A cell is one layer of a recurrent net in one direction: it reads a sequence, one step after the other.

    a⁽ᵗ⁾ = x⁽ᵗ⁾ W + b                      for all steps at once
    state⁽ᵗ⁾ = f(a⁽ᵗ⁾, state⁽ᵗ⁻¹⁾)          one step after the other

What f is, the families say: rnn.py, lstm.py, gru.py. Elman 1990. Notes: N3 §5.1. Axis letters: docs/notation.md.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

import torch
from torch import Tensor, nn

from cutaway.blocks.dense.affine import Linear
from cutaway.inside.taps import Tap

Parts = tuple[Tensor, ...]  # of a state, for one layer and direction: hidden (b, w), and cell (b, w) for an LSTM
Name = Callable[[str, Tensor], Tensor]  # gives a value its name, where somebody may change it


def unnamed(name: str, value: Tensor) -> Tensor:
    """Nobody changes the value."""
    return value


class Cell(nn.Module, ABC):
    """state⁽ᵗ⁾ = f(x⁽ᵗ⁾ W + b, state⁽ᵗ⁻¹⁾): one layer in one direction. Families derive from it."""

    names: ClassVar[tuple[str, ...]]  # the values of one step, each of which has a tap
    kept: ClassVar[tuple[str, ...]]  # those that are the state

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

    def forward(
        self, x: Tensor, state: Parts, mask: Tensor | None = None, reverse: bool = False
    ) -> tuple[Tensor, Parts]:
        """x (b, t, i) → hidden states (b, t, w) and the last state; steps where ``mask`` is False are skipped."""
        steps = x.shape[1]
        a = self.map_input(x)
        seen: list[dict[str, Tensor]] = []
        for t in reversed(range(steps)) if reverse else range(steps):
            values = self.advance(a[:, t], state)
            new = tuple(values[name] for name in self.kept)
            if mask is None:
                state = new
            else:
                state = tuple(torch.where(mask[:, t, None], n, s) for n, s in zip(new, state, strict=True))
            seen.append(values)
        if reverse:
            seen.reverse()
        shown = {name: torch.stack([values[name] for values in seen], 1) for name in self.names}
        if mask is not None:
            shown = {name: value * mask[..., None] for name, value in shown.items()}
        for name in self.names:
            tap = getattr(self, name)
            if tap.live:
                shown[name] = tap(shown[name])
        return shown["hidden"], state

    def extra_repr(self) -> str:
        return f"{self.inputs} → {self.width}"
