r"""Edits of the values inside a loop over time: whoever patches a gate changes it at every step.

    v⁽ᵗ⁾ ← edit(v⁽¹⁾, …, v⁽ᵗ⁾)⁽ᵗ⁾

An edit is given the values of all steps, (batch, steps, width), as a trace shows them: those up to now as they were
changed, those to come as zeros. What it makes of the step that is being taken goes on, to this step's output and to
all later steps. So ``{"layers.0.forwards.forget_gate": 1.0}`` holds the gate open, and a function may change one unit
at one step: ``lambda f: f.index_fill(1, torch.tensor([5]), 0.0)``.
"""

from typing import Any

import torch
from torch import Tensor

from cutaway.blocks.recurrence.equations import Name, unnamed
from cutaway.inside.taps import Tap, Unread, Whole
from cutaway.overriding import override


class StepEdits:
    """The edits of one pass over the sums ``a`` (t, b, …), for the taps that somebody edits or wants gradients of."""

    def __init__(self, taps: dict[str, Tap], a: Tensor) -> None:
        self.taps, self.a = taps, a
        self.past: dict[str, list[Tensor | None]] = {name: [None] * a.shape[0] for name in taps}
        # Zeros, added to the values as they flow on, so that the gradient of all steps arrives at one tensor.
        self.sources: dict[str, Tensor] = {}

    def at(self, t: int) -> Name:
        """The function that changes the values of step t."""
        return (lambda name, value: self._edit(name, value, t)) if self.taps else unnamed

    def _edit(self, name: str, value: Tensor, t: int) -> Tensor:
        if name not in self.taps:
            return value
        past = self.past[name]
        past[t] = value
        zero = torch.zeros_like(value)
        whole = torch.stack([zero if v is None else v for v in past], -2)
        new = self.taps[name](Unread(whole)).value
        if not isinstance(new, Tensor) or new.shape != whole.shape:
            came = tuple(new.shape) if isinstance(new, Tensor) else type(new).__name__
            raise ValueError(
                f"an edit of {name} must keep its shape (batch, ..., steps, width) = {tuple(whole.shape)}, got {came}; "
                "return a tensor of that shape"
            )
        value = new.select(-2, t)
        if torch.is_grad_enabled():
            if name not in self.sources:
                self.sources[name] = _Zeros.apply(self.a, whole.shape)
            value = value + self.sources[name].select(-2, t)
        past[t] = value
        return value

    def whole(self, name: str, value: Tensor) -> Whole:
        """All steps of a value, for traces; with gradients, the tensor at which its gradient arrives."""
        return Whole(value, self.sources.get(name))


class _Zeros(torch.autograd.Function):
    """Zeros that count as made of ``a``, so that whoever asks for a's gradient has theirs computed too."""

    @override
    @staticmethod
    def forward(ctx: Any, a: Tensor, shape: tuple[int, ...]) -> Tensor:
        ctx.made_of = a.shape
        return a.new_zeros(shape)

    @override
    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return gradient.new_zeros(()).expand(ctx.made_of), None
