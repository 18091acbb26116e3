r"""A recurrent language model: a state runs along the text, and each state predicts the token that comes next.

    x⁽ᵗ⁾ = E[token t]
    z⁽ᵗ⁾ = cell(x⁽ᵗ⁾, z⁽ᵗ⁻¹⁾)              depth times, one above the other
    logits⁽ᵗ⁾ = z⁽ᵗ⁾ W + b                 or z⁽ᵗ⁾ (P) Eᵀ, if the output is tied to the embedding

The state has a fixed size, so reading a token costs the same however long the text is; what the state does not hold is
forgotten. Mikolov et al. 2010; Graves 2013 (LSTM); Press, Wolf 2017 (tied). Notes: N3 §5.4.3.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from cutaway.blocks.checks import expect_choice, expect_positive, expect_probability
from cutaway.blocks.dense.affine import Linear
from cutaway.blocks.embeddings.tokens import Embedding
from cutaway.blocks.recurrence.gru import GRU
from cutaway.blocks.recurrence.lstm import LSTM
from cutaway.blocks.recurrence.rnn import RNN
from cutaway.inside.taps import Tap
from cutaway.models.base import Model, choose_spec
from cutaway.models.generation.next_token import Prompt
from cutaway.models.recurrent.carried_state import CarriedState, RecurrentDecoder
from cutaway.models.specs.plain_data import NamedSpec
from cutaway.models.transformers.construction import drop
from cutaway.models.transformers.token_inputs import expect_real, expect_tokens, real_first
from cutaway.overriding import override

CELLS: dict[str, Any] = {
    "rnn": RNN,
    "lstm": LSTM,
    "peephole-lstm": partial(LSTM, peephole=True),
    "coupled-lstm": partial(LSTM, coupled=True),
    "gru": GRU,
}


@dataclass(frozen=True)
class RecurrentLMSpec(NamedSpec):
    """What a recurrent language model is made of."""

    model: ClassVar[str] = "RecurrentLM"

    vocabulary: int
    cell: str = "lstm"  # rnn | lstm | peephole-lstm | coupled-lstm | gru
    width: int = 256  # of the state
    depth: int = 1
    embedding: int | None = None  # width of a token's vector; None: as the state
    dropout: float = 0.0  # of embeddings, between layers, and of what the output reads
    tied: bool = False  # the output compares with the embeddings, through a map where the widths differ
    end: tuple[int, ...] = ()  # tokens that end a text

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_positive(vocabulary=self.vocabulary, width=self.width, depth=self.depth)
        expect_choice("cell", self.cell, CELLS)
        if self.embedding is not None:
            expect_positive(embedding=self.embedding)
        expect_probability(dropout=self.dropout)
        for token in self.end:
            if not 0 <= token < self.vocabulary:
                raise ValueError(f"an end token must lie from 0 to {self.vocabulary - 1}, got {token}; see vocabulary")

    @override
    def layers_and_width(self) -> tuple[int, int]:
        return self.depth, self.width


class RecurrentLM(Model):
    """logits = RecurrentLM(tokens): scores of the next token at every position.

    ``mask`` marks real tokens; padding, wherever it stands, is skipped. ``state`` is what earlier calls left behind
    (`CarriedState`): the model goes on from it, and leaves its own. ``recurrent_layers`` says where its gates are,
    and what their steps are.
    """

    kind: ClassVar[type[NamedSpec]] = RecurrentLMSpec
    input_kind: ClassVar[str] = "text"
    output_layers: ClassVar[tuple[str, ...]] = ("unembed",)
    recurrent_layers: ClassVar[dict[str, str]] = {"recurrence": "tokens"}
    spec: RecurrentLMSpec

    def __init__(self, spec: RecurrentLMSpec | None = None, **sizes: Any) -> None:
        super().__init__(choose_spec(spec, sizes, RecurrentLMSpec))
        spec = self.spec
        inputs = spec.width if spec.embedding is None else spec.embedding
        self.embed = Embedding(spec.vocabulary, inputs)
        self.recurrence = CELLS[spec.cell](inputs, spec.width, spec.depth, dropout=spec.dropout)
        self.project = Linear(spec.width, inputs, bias=False) if spec.tied and inputs != spec.width else None
        self.unembed = None if spec.tied else Linear(spec.width, spec.vocabulary)
        self.logits = Tap()
        if spec.tied:  # logits of spread 1 to begin with
            nn.init.normal_(self.embed.weight, 0.0, inputs**-0.5)

    @override
    @property
    def writes(self) -> str:
        return "continuations"

    @override
    def forward(
        self,
        tokens: Int[Tensor, "b t"],
        mask: Bool[Tensor, "b t"] | None = None,
        state: CarriedState | None = None,
    ) -> Float[Tensor, "b t v"]:
        return self.read_out(self.hidden(tokens, mask, state))

    def hidden(
        self,
        tokens: Int[Tensor, "b t"],
        mask: Bool[Tensor, "b t"] | None = None,
        state: CarriedState | None = None,
    ) -> Float[Tensor, "b t w"]:
        """The states of the last layer, one for each token; 0 at padding."""
        expect_tokens(tokens)
        expect_real(mask, tokens)
        x = drop(self.embed(tokens), self.spec.dropout, self.training)
        before = None if state is None else state.value
        if mask is None:
            y, after = self.recurrence(x, before)
        else:
            order, back = real_first(mask)
            y, after = self.recurrence(x.gather(1, order[..., None].expand_as(x)), before, mask.sum(-1))
            y = y.gather(1, back[..., None].expand_as(y))
        if state is not None:
            state.value = after
        return drop(y, self.spec.dropout, self.training)

    def read_out(self, z: Float[Tensor, "*b w"]) -> Float[Tensor, "*b v"]:
        """logits = z W + b, or if tied z (P) Eᵀ."""
        if self.unembed is not None:
            y = self.unembed(z)
        else:
            y = nn.functional.linear(z if self.project is None else self.project(z), self.embed.weight)
        if self.logits.live:
            y = self.logits(y)
        return y

    def as_state(self, parts: dict[str, Tensor]) -> CarriedState:
        """The state of such parts; see `CarriedState.parts`."""
        return CarriedState(self.recurrence.State(**parts))

    def begin(self, prompt: Prompt, tokens: int) -> RecurrentDecoder:
        """Goes on from a prompt for up to ``tokens`` tokens; `generate` and `beam_search` are built on it."""
        return RecurrentDecoder(self, prompt, tokens)


__all__ = ["CELLS", "RecurrentLM", "RecurrentLMSpec"]
