r"""Encoder–decoder transformers: the one of 2017, and T5.

    memory = encoder(x)
    y ← y + attention(y, causal);  y ← y + cross(y, memory);  y ← y + mlp(y)        depth times
    logits = norm(y) Eᵀ

Two models share one skeleton. `Transformer` (Vaswani et al. 2017): sinusoids added to √width · E, post-norm. `T5`
(Raffel et al. 2020): relative position buckets added to the scores, shared by all layers, RMSNorm, no 1/√d, and a tied
output scaled by width^−½. Notes: N2, N3 §5.9, N4.
"""

from typing import Any, ClassVar

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from cutaway.blocks.attention.caches import Cache
from cutaway.blocks.dense.affine import Linear
from cutaway.blocks.positions.relative import RelativeBias
from cutaway.inside.taps import Tap
from cutaway.models.base import choose_spec
from cutaway.models.generation.next_token import Prompt, Seq2SeqDecoder
from cutaway.models.specs.architectures import ModelSpec, NamedSpec, T5Spec, TransformerSpec
from cutaway.models.transformers.construction import (
    build_decoder_layer,
    build_encoder_layer,
    build_last_norm,
    build_position,
    drop,
    initialise_transformer,
    run_layer,
)
from cutaway.models.transformers.sentence_vectors import build_sentence_layers
from cutaway.models.transformers.token_inputs import expect_real, expect_tokens, real_positions
from cutaway.models.transformers.token_table import TextModel, TokenTable
from cutaway.overriding import override


class EncoderDecoder(TextModel):
    """What the two models share: memory = encode(tokens), logits = decode(decoder_tokens, memory).

    The spec's positions say how they differ: sinusoidal ones are added to the input, relative ones to the scores.
    ``model.embed(texts)`` gives a vector for each text, by the encoder.
    """

    input_kind: ClassVar[str] = "text pair"
    output_layers: ClassVar[tuple[str, ...]] = ("unembed",)
    spec: TransformerSpec | T5Spec

    def __init__(self, spec: TransformerSpec | T5Spec) -> None:
        super().__init__(spec)
        self.context = spec.context if isinstance(spec, TransformerSpec) else None
        decoder_depth = spec.decoder_depth if isinstance(spec, T5Spec) else spec.depth
        self.embed = TokenTable(spec.vocabulary, spec.width, self)
        self.position = build_position(spec.position, self.context or 0, spec.width)
        relative = spec.position.kind == "relative"
        self.encoder_bias = _build_bias(spec, bidirectional=True) if relative else None
        self.decoder_bias = _build_bias(spec, bidirectional=False) if relative else None
        self.encoder = nn.ModuleList(build_encoder_layer(spec) for _ in range(spec.depth))
        self.decoder = nn.ModuleList(build_decoder_layer(spec) for _ in range(decoder_depth))
        self.encoder_norm, self.decoder_norm = build_last_norm(spec), build_last_norm(spec)
        tied = spec.head is None or spec.head.tied
        self.unembed = None if tied else Linear(spec.width, spec.vocabulary, bias=False)
        self.memory = Tap()
        self.logits = Tap() if spec.head is not None else None
        self.sentence_layers = build_sentence_layers(spec)
        initialise_transformer(self, spec.depth)

    @override
    @property
    def writes(self) -> str:
        return "" if self.logits is None else "answers"

    @override
    def forward(
        self,
        tokens: Int[Tensor, "b s"],
        decoder_tokens: Int[Tensor, "b t"],
        mask: Bool[Tensor, "b s"] | None = None,
        decoder_mask: Bool[Tensor, "b t"] | None = None,
    ) -> Float[Tensor, "b t v"]:
        """``mask`` and ``decoder_mask`` mark real tokens."""
        return self.decode(decoder_tokens, self.encode(tokens, mask), mask=mask, decoder_mask=decoder_mask)

    def encode(self, tokens: Int[Tensor, "b s"], mask: Bool[Tensor, "b s"] | None = None) -> Float[Tensor, "b s w"]:
        """The memory: one vector for each input token."""
        expect_tokens(tokens, self.context)
        expect_real(mask, tokens)
        x = self._place(tokens, mask, 0)
        options = {
            "mask": None if mask is None else mask[:, None, None, :],
            "bias": None if self.encoder_bias is None else self.encoder_bias(tokens.shape[1], tokens.shape[1]),
            "window": self.spec.attention.window,
        }
        for layer in self.encoder:
            x = run_layer(layer, self.spec.checkpointing, x, **options)
        x = self._finish(x, self.encoder_norm)
        if self.memory.live:
            x = self.memory(x)
        return x

    @override
    def token_states(
        self,
        tokens: Int[Tensor, "b t"],
        mask: Bool[Tensor, "b t"] | None = None,
        segments: Int[Tensor, "b t"] | None = None,
        states: list[Tensor] | None = None,
    ) -> Float[Tensor, "b t w"]:
        """The hidden states of the encoder, which sentence vectors are made of."""
        if segments is not None or states is not None:
            raise ValueError("a model of pairs of texts has neither segments nor a head of labels; leave them out")
        return self.encode(tokens, mask)

    def decode(
        self,
        tokens: Int[Tensor, "b t"],
        memory: Float[Tensor, "b s w"],
        cache: Cache | None = None,
        mask: Bool[Tensor, "b s"] | None = None,
        decoder_mask: Bool[Tensor, "b t"] | None = None,
    ) -> Float[Tensor, "b t v"]:
        """Logits of the next output token at every position; ``mask`` marks the real tokens of the memory."""
        t, start = tokens.shape[-1], 0 if cache is None else cache.length
        expect_tokens(tokens, self.context, start)
        expect_real(decoder_mask, tokens)
        real = decoder_mask if cache is None else cache.see(tokens, decoder_mask)
        x = self._place(tokens, real, start)
        options: dict[str, Any] = {
            "mask": None if real is None else real[:, None, None, :],
            "bias": None if self.decoder_bias is None else self.decoder_bias(t, start + t, start),
            "window": self.spec.attention.window,
            "memory_mask": None if mask is None else mask[:, None, None, :],
        }
        for i, layer in enumerate(self.decoder):
            if cache is not None:
                options |= {"cache": cache.layers[i], "memory_cache": cache.memories[i]}
            x = run_layer(layer, self.spec.checkpointing, x, memory, **options)
        x = self._finish(x, self.decoder_norm)
        return x if self.logits is None else self.read_out(x)

    def read_out(self, x: Float[Tensor, "*b w"]) -> Float[Tensor, "*b v"]:
        """logits = x Eᵀ if tied, else x W; T5 scales x by width^−½ first."""
        if isinstance(self.spec, T5Spec) and self.spec.scale_output:
            x = x * self.spec.width**-0.5
        y = nn.functional.linear(x, self.embed.weight) if self.unembed is None else self.unembed(x)
        if self.logits is not None and self.logits.live:
            y = self.logits(y)
        return y

    def new_cache(self, batch: int, context: int) -> Cache:
        """An empty cache for decoding ``batch`` sequences of up to ``context`` tokens."""
        attention = self.spec.resolved().attention
        assert attention.kv_heads is not None
        assert attention.head_width is not None
        return Cache(len(self.decoder), batch, attention.kv_heads, context, attention.head_width, self.embed.weight)

    def begin(self, prompt: Prompt, tokens: int) -> Seq2SeqDecoder:
        """Answers a prompt with up to ``tokens`` tokens; `generate` and `beam_search` are built on it."""
        if self.logits is None:
            raise ValueError("a model needs a language head to answer a text, got one without; see with_head")
        return Seq2SeqDecoder(self, prompt, tokens)

    def _place(self, tokens: Tensor, real: Tensor | None, start: int) -> Tensor:
        x = self.embed(tokens)
        if self.position is not None:
            positions = None if real is None else real_positions(real)[:, start:]
            x = self.position(x * self.spec.width**0.5, offset=start, positions=positions)
        return drop(x, self.spec.dropout, self.training)

    def _finish(self, x: Tensor, norm: nn.Module | None) -> Tensor:
        return x if norm is None else drop(norm(x), self.spec.dropout, self.training)


def _build_bias(spec: ModelSpec, bidirectional: bool) -> RelativeBias:
    return RelativeBias(spec.attention.heads, spec.position.buckets, spec.position.distance, bidirectional)


class Transformer(EncoderDecoder):
    """The encoder–decoder of 2017: x = √width · E[tokens] + sinusoids, post-norm layers, one matrix E for all."""

    kind: ClassVar[type[NamedSpec]] = TransformerSpec
    spec: TransformerSpec

    def __init__(self, spec: TransformerSpec | None = None, **sizes: Any) -> None:
        super().__init__(choose_spec(spec, sizes, TransformerSpec.base))
        # So that √width · E starts with entries of variance one beside the sinusoids.
        nn.init.normal_(self.embed.weight, 0.0, self.spec.width**-0.5)


class T5(EncoderDecoder):
    """logits = T5(tokens, decoder_tokens); gated it is v1.1: relative position buckets, RMSNorm, scores not scaled."""

    kind: ClassVar[type[NamedSpec]] = T5Spec
    spec: T5Spec

    def __init__(self, spec: T5Spec | None = None, **sizes: Any) -> None:
        super().__init__(choose_spec(spec, sizes, T5Spec.t5))
