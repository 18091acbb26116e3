r"""A recurrent encoder–decoder: one net reads the source in both directions, another writes and looks back at it.

    h = BiLSTM(E[source])                                      memory: a vector for each token of the source
    attention   z⁽ᵗ⁾, c⁽ᵗ⁾ = decoder(E[y⁽ᵗ⁾], h)                  looks at the memory before every step
    thought     z⁽ᵗ⁾ = LSTM(E[y⁽ᵗ⁾]), from z⁽⁰⁾ = the memory's ends   the whole source in one vector
    logits⁽ᵗ⁾ = tanh([z⁽ᵗ⁾, c⁽ᵗ⁾] R) Eᵀ + b                      one matrix E for source, target and output

With "thought" the source must fit into a vector of fixed length, so that long ones suffer; that is what attention was
made for. Sutskever, Vinyals, Le 2014 (thought); Bahdanau, Cho, Bengio 2015 (attention). Notes: N3 §5.5.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from cutaway.blocks.attention.additive_decoder import AdditiveDecoder
from cutaway.blocks.checks import expect_choice, expect_positive, expect_probability
from cutaway.blocks.dense.affine import Linear
from cutaway.blocks.embeddings.tokens import Embedding
from cutaway.blocks.recurrence.lstm import LSTM
from cutaway.blocks.recurrence.states import LSTMState
from cutaway.inside.taps import Tap
from cutaway.models.base import Model, choose_spec
from cutaway.models.generation.next_token import Prompt
from cutaway.models.specs.plain_data import NamedSpec
from cutaway.models.transformers.construction import drop
from cutaway.models.transformers.token_inputs import expect_real, expect_tokens, real_first
from cutaway.overriding import override

READS = ("attention", "thought")


@dataclass(frozen=True)
class Seq2SeqSpec(NamedSpec):
    """What a recurrent encoder–decoder is made of."""

    model: ClassVar[str] = "Seq2Seq"

    vocabulary: int
    width: int = 256  # of the decoder's state, and of the encoder's in each direction
    depth: int = 1  # layers of the encoder
    embedding: int | None = None  # width of a token's vector; None: as the state
    reads: str = "attention"  # attention | thought: how the decoder reads the source
    context: int = 128  # longest text, in tokens
    dropout: float = 0.0  # of embeddings, between layers, and of what the output reads
    start: int = 1  # the token that an answer begins with
    end: tuple[int, ...] = (2,)

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_positive(vocabulary=self.vocabulary, width=self.width, depth=self.depth, context=self.context)
        if self.embedding is not None:
            expect_positive(embedding=self.embedding)
        expect_choice("reads", self.reads, READS)
        expect_probability(dropout=self.dropout)
        for token in (self.start, *self.end):
            if not 0 <= token < self.vocabulary:
                raise ValueError(
                    f"start and end tokens must lie from 0 to {self.vocabulary - 1}, got {token}; see vocabulary"
                )

    @override
    def layers_and_width(self) -> tuple[int, int]:
        return self.depth, self.width


class Seq2Seq(Model):
    """logits = Seq2Seq(tokens, decoder_tokens): scores of the next token of the answer at every position.

    ``mask`` marks the real tokens of the source. Taps: ``memory``, ``logits``, and those of ``encoder`` and
    ``decoder``, among them the alignment ``decoder.weights``.
    """

    kind: ClassVar[type[NamedSpec]] = Seq2SeqSpec
    input_kind: ClassVar[str] = "text pair"
    recurrent_layers: ClassVar[dict[str, str]] = {"encoder": "tokens", "decoder": "written"}
    spec: Seq2SeqSpec

    def __init__(self, spec: Seq2SeqSpec | None = None, **sizes: Any) -> None:
        super().__init__(choose_spec(spec, sizes, Seq2SeqSpec))
        spec = self.spec
        inputs = spec.width if spec.embedding is None else spec.embedding
        self.context = spec.context
        self.embed = Embedding(spec.vocabulary, inputs)
        self.encoder = LSTM(inputs, spec.width, spec.depth, bidirectional=True, dropout=spec.dropout)
        self.bridge = Linear(2 * spec.width, 2 * spec.width)
        self.decoder: AdditiveDecoder | LSTM
        if spec.reads == "attention":
            self.decoder = AdditiveDecoder(inputs, spec.width, 2 * spec.width)
            self.readout = Linear(3 * spec.width, inputs)
        else:
            self.decoder = LSTM(inputs, spec.width)
            self.readout = Linear(spec.width, inputs)
        self.bias = nn.Parameter(torch.zeros(spec.vocabulary))
        self.memory, self.logits = Tap(), Tap()
        nn.init.normal_(self.embed.weight, 0.0, inputs**-0.5)

    @override
    @property
    def writes(self) -> str:
        return "answers"

    @override
    def forward(
        self,
        tokens: Int[Tensor, "b s"],
        decoder_tokens: Int[Tensor, "b t"],
        mask: Bool[Tensor, "b s"] | None = None,
    ) -> Float[Tensor, "b t v"]:
        memory = self.encode(tokens, mask)
        return self.decode(decoder_tokens, memory, mask)[0]

    def encode(self, tokens: Int[Tensor, "b s"], mask: Bool[Tensor, "b s"] | None = None) -> Float[Tensor, "b s m"]:
        """h: a vector for each token of the source, both directions side by side; 0 at padding, on either side."""
        expect_tokens(tokens, self.context)
        expect_real(mask, tokens)
        x = drop(self.embed(tokens), self.spec.dropout, self.training)
        if mask is None:
            h, _ = self.encoder(x)
        else:
            order, back = real_first(mask)
            h, _ = self.encoder(x.gather(1, order[..., None].expand_as(x)), lengths=mask.sum(-1))
            h = h.gather(1, back[..., None].expand_as(h))
        h = drop(h, self.spec.dropout, self.training)
        if self.memory.live:
            h = self.memory(h)
        return h

    def first_state(self, memory: Float[Tensor, "b s m"], mask: Bool[Tensor, "b s"] | None = None) -> LSTMState:
        """z⁽⁰⁾, c⁽⁰⁾ from what each direction knows after its last token: [→h_n, ←h_1], the thought vector."""
        w, rows = self.spec.width, torch.arange(len(memory), device=memory.device)
        first, last = (0, memory.shape[1] - 1) if mask is None else _ends(mask)
        thought = torch.cat([memory[rows, last, :w], memory[rows, first, w:]], -1)
        z, c = self.bridge(thought).tanh().chunk(2, -1)
        return LSTMState(z[:, None, None], c[:, None, None])

    def decode(
        self,
        tokens: Int[Tensor, "b t"],
        memory: Float[Tensor, "b s m"],
        mask: Bool[Tensor, "b s"] | None = None,
        state: LSTMState | None = None,
    ) -> tuple[Float[Tensor, "b t v"], LSTMState]:
        """Logits of the next token of the answer at every position, and the state after the last."""
        expect_tokens(tokens, self.context)
        y = drop(self.embed(tokens), self.spec.dropout, self.training)
        state = self.first_state(memory, mask) if state is None else state
        if isinstance(self.decoder, AdditiveDecoder):
            z, contexts, state = self.decoder(y, memory, mask, state)
            z = torch.cat([z, contexts], -1)
        else:
            z, state = self.decoder(y, state)
        r = drop(self.readout(z).tanh(), self.spec.dropout, self.training)
        logits = nn.functional.linear(r, self.embed.weight, self.bias)
        if self.logits.live:
            logits = self.logits(logits)
        return logits, state

    def begin(self, prompt: Prompt, tokens: int) -> "AnswerDecoder":
        """Answers a prompt with up to ``tokens`` tokens; `generate` and `beam_search` are built on it."""
        return AnswerDecoder(self, prompt, tokens)


def _ends(mask: Bool[Tensor, "b s"]) -> tuple[Int[Tensor, "b"], Int[Tensor, "b"]]:
    """The places of the first and the last real token of each row."""
    first = mask.byte().argmax(-1)
    return first, mask.shape[1] - 1 - mask.flip(-1).byte().argmax(-1)


class AnswerDecoder:
    """The decoder of a recurrent encoder–decoder: it reads its source once, and each token that it writes once."""

    def __init__(self, model: Seq2Seq, prompt: Prompt, tokens: int) -> None:
        if tokens > model.context:
            raise ValueError(
                f"the model's context is {model.context} tokens, got tokens={tokens}; ask for at most {model.context}"
            )
        self.model, self.mask = model, prompt.mask
        self.memory = model.encode(prompt.tokens, self.mask)
        self.state: LSTMState | None = None
        self._text = prompt.tokens.new_full((len(self.memory), tokens + 1), model.spec.start)
        self.length = 1

    @property
    def text(self) -> Int[Tensor, "b t"]:
        return self._text[:, : self.length]

    def logits(self) -> Float[Tensor, "b v"]:
        found, self.state = self.model.decode(self.text[:, -1:], self.memory, self.mask, self.state)
        return found[:, -1]

    def append(self, tokens: Int[Tensor, "b"]) -> None:
        self._text[:, self.length] = tokens
        self.length += 1

    def pick(self, rows: Int[Tensor, "n"]) -> None:
        self.memory, self._text = self.memory[rows], self._text[rows]
        self.mask = None if self.mask is None else self.mask[rows]
        self.state = None if self.state is None else LSTMState(*(part[rows] for part in self.state))


__all__ = ["AnswerDecoder", "Seq2Seq", "Seq2SeqSpec"]
