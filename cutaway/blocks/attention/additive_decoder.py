r"""Bahdanau's decoder: a recurrent net that looks back at the whole source before every word it writes.

    e_tj = v·tanh(s⁽ᵗ⁻¹⁾ W_q + h_j W_k + b)      scores: the last state asks, q = s⁽ᵗ⁻¹⁾, k = v = h_j
    α_t = softmax(e_t)                            weights: how the word to come is aligned with the source
    c_t = Σ_j α_tj h_j                            context
    s⁽ᵗ⁾ = cell([x⁽ᵗ⁾ c_t], s⁽ᵗ⁻¹⁾)                x⁽ᵗ⁾ is the word before
    s⁽⁰⁾ = tanh(h_1 W_s + b_s)                    the encoder's way back ends at h_1: it has read everything

The source h is what an encoder, mostly bidirectional, made of it; its keys h W_k are computed once. Without attention
the decoder would have the thought vector alone, whose length is fixed however long the source is.
Bahdanau, Cho, Bengio 2015, §3 and A.1.2 (theirs is a GRU). Notes: N3 §5.5.2. Axis letters: docs/notation.md.
"""

from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from cutaway.blocks.attention.weightings import soft_weights
from cutaway.blocks.checks import expect_choice, expect_positive, expect_width
from cutaway.blocks.dense.affine import Linear
from cutaway.blocks.recurrence.cells import Cell
from cutaway.blocks.recurrence.edits import StepEdits
from cutaway.blocks.recurrence.equations import Name, unnamed
from cutaway.blocks.recurrence.gru import GRUCell
from cutaway.blocks.recurrence.loops import Parts
from cutaway.blocks.recurrence.lstm import LSTMCell
from cutaway.blocks.recurrence.rnn import RNNCell
from cutaway.blocks.recurrence.states import GRUState, LSTMState, RNNState, State
from cutaway.inside.taps import Tap
from cutaway.overriding import override

CELLS: dict[str, tuple[Any, Any]] = {
    "lstm": (LSTMCell, LSTMState),
    "gru": (GRUCell, GRUState),
    "rnn": (RNNCell, RNNState),
}


class Source(NamedTuple):
    """What a decoder looks at: the encoder's states h (b, s, m), their keys h W_k, and True for those that are real."""

    values: Tensor
    keys: Tensor
    mask: Tensor | None


class Decoded(NamedTuple):
    """A decoder's states s⁽ᵗ⁾ (b, t, w), the contexts c_t (b, t, m) that they took in, and the state after the last."""

    outputs: Tensor
    contexts: Tensor
    state: State


class AdditiveDecoder(nn.Module):
    """s⁽ᵗ⁾ = cell([x⁽ᵗ⁾ c_t], s⁽ᵗ⁻¹⁾) with c_t = Σ_j α_tj h_j and α_t = softmax(v·tanh(s⁽ᵗ⁻¹⁾ W_q + h W_k + b)).

    ``inputs`` is the width of the words, ``memory_width`` that of the source's states, ``hidden`` that of the scores'
    layer (default: ``width``), ``cell`` one of "lstm", "gru", "rnn". Calling it takes all words at once (teacher
    forcing); ``step`` takes one. Taps: ``scores`` (−∞ where padded), ``weights`` (batch, 1, words, source) and
    ``context`` (batch, words, memory width), and those of the cell, ``cell.forget_gate`` and so on.
    """

    attention_weights = {"weights": ("written", "tokens")}

    def __init__(
        self, inputs: int, width: int, memory_width: int, hidden: int | None = None, cell: str = "lstm"
    ) -> None:
        super().__init__()
        expect_positive(inputs=inputs, width=width, memory_width=memory_width)
        expect_choice("cell", cell, CELLS)
        hidden = width if hidden is None else hidden
        self.inputs, self.width, self.memory_width = inputs, width, memory_width
        make, self.State = CELLS[cell]
        self.cell: Cell = make(inputs, width)
        self.map_context = Linear(memory_width, self.cell.gates * width, bias=False)
        self.map_query = Linear(width, hidden)
        self.map_keys = Linear(memory_width, hidden, bias=False)
        self.map_scores = Linear(hidden, 1, bias=False)
        self.map_first = Linear(memory_width, width)
        self.scores, self.weights, self.context = Tap(), Tap(), Tap()

    @property
    def cells(self) -> dict[str, Cell]:
        """Its one cell, by its address, as a stack of recurrent layers gives its own."""
        return {"cell": self.cell}

    def prepare(self, memory: Float[Tensor, "b s m"], mask: Bool[Tensor, "b s"] | None = None) -> Source:
        """The source with its keys, to be computed once; ``mask`` is True where it is real."""
        expect_width("memory", memory, self.memory_width)
        if memory.ndim != 3 or memory.shape[1] == 0:
            raise ValueError(
                f"memory must have shape (batch, source, width) with at least one state, got {tuple(memory.shape)}; "
                "leave empty sources out"
            )
        if mask is not None and mask.shape != memory.shape[:2]:
            raise ValueError(
                f"mask must have the shape of the source, {tuple(memory.shape[:2])}, got {tuple(mask.shape)}; "
                "it is True where a state is real"
            )
        return Source(memory, self.map_keys(memory), mask)

    def first_state(self, source: Source) -> State:
        """s⁽⁰⁾ = tanh(h_1 W_s + b_s); an LSTM's cell state is 0."""
        hidden = torch.tanh(self.map_first(source.values[:, 0]))[:, None, None]
        return self.State(hidden, *(torch.zeros_like(hidden) for _ in self.State._fields[1:]))

    @override
    def forward(
        self,
        x: Float[Tensor, "b t i"],
        memory: Float[Tensor, "b s m"] | Source,
        mask: Bool[Tensor, "b s"] | None = None,
        state: State | None = None,
    ) -> Decoded:
        """Every state from the words before it: x are the words shifted by one, all given (teacher forcing)."""
        source = memory if isinstance(memory, Source) else self.prepare(memory, mask)
        _expect_words(x, self.inputs, source)
        parts: Parts = tuple(part[:, 0, 0] for part in (self.first_state(source) if state is None else state))
        taps: dict[str, Tap] = {"scores": self.scores, "weights": self.weights, "context": self.context}
        taps |= {name: getattr(self.cell, name) for name in self.cell.names}
        a = self.cell.map_input(x.transpose(0, 1))
        edits = StepEdits({name: tap for name, tap in taps.items() if tap.edited}, a)
        seen: dict[str, list[Tensor]] = {}
        for t in range(a.shape[0]):
            values = self._advance(a[t], parts, source, edits.at(t))
            parts = tuple(values[name] for name in self.cell.kept)
            for name, value in values.items():
                seen.setdefault(name, []).append(value)
        for name, tap in taps.items():
            if tap.live:
                tap(edits.whole(name, torch.stack(seen[name], -2)))
        outputs, contexts = torch.stack(seen["hidden"], 1), torch.stack(seen["context"], 1)
        return Decoded(outputs, contexts, self.State(*(part[:, None, None] for part in parts)))

    def step(self, x: Float[Tensor, "b i"], source: Source, state: State | None = None) -> Decoded:
        """One word: its state (b, w), its context (b, m), and the state to go on with."""
        y = self(x[:, None], source, state=state)
        return Decoded(y.outputs[:, 0], y.contexts[:, 0], y.state)

    def _advance(self, a: Tensor, state: Parts, source: Source, name: Name = unnamed) -> dict[str, Tensor]:
        """The values of one step, by name: the equation above."""
        e = self.map_scores(torch.tanh(self.map_query(state[0])[:, None] + source.keys)).mT  # (b, 1, s)
        if source.mask is not None:
            e = e.masked_fill(~source.mask[:, None], -torch.inf)
        e = name("scores", e)
        α = name("weights", soft_weights(e))
        c = name("context", (α @ source.values).squeeze(1))
        return {"scores": e, "weights": α, "context": c} | self.cell.advance(a + self.map_context(c), state, name)

    @property
    def fused_parts(self) -> dict[str, int]:
        """The gates side by side in one matrix, for optimizers that treat each by itself."""
        return {"map_context": self.cell.gates}


def _expect_words(x: Tensor, inputs: int, source: Source) -> None:
    expect_width("x", x, inputs)
    if x.ndim != 3 or x.shape[1] == 0 or x.shape[0] != source.values.shape[0]:
        raise ValueError(
            f"x must have shape (batch, words, {inputs}) with at least one word and the source's batch of "
            f"{source.values.shape[0]}, got {tuple(x.shape)}; begin with the word that starts a text"
        )
