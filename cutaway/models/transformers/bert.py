r"""BERT: an encoder-only transformer that reads text in both directions.

    x = norm(E[tokens] + P[positions] + S[segments])
    x ← norm(x + attention(x));  x ← norm(x + mlp(x))           depth times
    logits by the head: masked tokens, classes, tags; none: the hidden states x

RoBERTa and MiniLM are the same network with other numbers. Devlin et al. 2019; Liu et al. 2019. Notes: N3 §5.8.
"""

from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from cutaway.blocks.dense.affine import Dense
from cutaway.blocks.embeddings.tokens import Embedding
from cutaway.models.base import choose_spec
from cutaway.models.specs.architectures import BERTSpec, NamedSpec
from cutaway.models.transformers.construction import (
    build_encoder_layer,
    build_last_norm,
    build_norm,
    build_position,
    drop,
    initialise_transformer,
    position_bias,
    run_layer,
)
from cutaway.models.transformers.output_heads import ClassHead, MaskedHead, TagHead, build_head
from cutaway.models.transformers.sentence_vectors import build_sentence_layers
from cutaway.models.transformers.token_inputs import expect_real, expect_segments, expect_tokens, real_positions
from cutaway.models.transformers.token_table import TextModel, TokenTable
from cutaway.overriding import override


class BERT(TextModel):
    """logits = BERT(tokens): by the spec's head, or the hidden states if it has none.

    ``mask`` marks real tokens, ``segments`` says which sentence each token belongs to. ``model.embed(texts)`` gives a
    vector for each text.
    """

    kind: ClassVar[type[NamedSpec]] = BERTSpec
    input_kind: ClassVar[str] = "masked text"
    tasks: ClassVar[tuple[str, ...]] = ("classify", "tag", "language", "pairs")
    tuned_by: ClassVar[str] = "lora"
    hidden_before_classes: ClassVar[bool] = True
    spec: BERTSpec

    def __init__(self, spec: BERTSpec | None = None, **sizes: Any) -> None:
        super().__init__(choose_spec(spec, sizes, BERTSpec.bert))
        spec = self.spec
        self.embed = TokenTable(spec.vocabulary, spec.width, self)
        self.position = build_position(spec.position, spec.context + spec.position_start, spec.width)
        self.segment = Embedding(spec.segments, spec.width) if spec.segments else None
        self.norm = build_norm(spec.norm, spec.width)
        self.blocks = nn.ModuleList(build_encoder_layer(spec) for _ in range(spec.depth))
        self.last_norm = build_last_norm(spec)
        self.pooler = Dense(spec.width, spec.width, torch.tanh) if spec.pooler else None
        masked = spec.head is not None and spec.head.kind == "masked"
        self.head: MaskedHead | ClassHead | TagHead | None = (
            MaskedHead(spec, spec.vocabulary) if masked else build_head(spec, "cls", spec.dropout)
        )
        self.sentence_layers = build_sentence_layers(spec)
        initialise_transformer(self, spec.depth)

    @override
    def forward(
        self,
        tokens: Int[Tensor, "b t"],
        segments: Int[Tensor, "b t"] | None = None,
        mask: Bool[Tensor, "b t"] | None = None,
        at: Bool[Tensor, "b t"] | None = None,
    ) -> Float[Tensor, "..."]:
        """With ``at``, a head for masked tokens gives the logits (n, vocabulary) of those tokens alone."""
        if isinstance(self.head, MaskedHead):
            z = self.encode(tokens, segments, mask)
            return self.head(z if at is None else z[at], self.embed.weight)
        if at is not None:
            raise ValueError("only a head for masked tokens takes some of them, got at with another; leave it out")
        if self.head is None:
            return self.encode(tokens, segments, mask)
        return self.head.decide(self.represent(tokens, mask, segments), mask)

    def encode(
        self,
        tokens: Int[Tensor, "b t"],
        segments: Int[Tensor, "b t"] | None = None,
        mask: Bool[Tensor, "b t"] | None = None,
        states: list[Tensor] | None = None,
    ) -> Float[Tensor, "b t w"]:
        """The hidden states: one vector a token, each having seen all the others.

        With a ``mask`` positions count real tokens, so that padding changes nothing, on the left either. transformers'
        BERT counts padding on the left unless it is given ``position_ids``; its RoBERTa counts as we do.

        ``states``, an empty list, is given those of all layers, from the embeddings to the last.
        """
        expect_tokens(tokens, self.spec.context)
        expect_real(mask, tokens)
        expect_segments(segments, tokens)
        x = self.embed(tokens)
        if self.segment is not None:
            x = x + self.segment(torch.zeros_like(tokens) if segments is None else segments)
        elif segments is not None:
            raise ValueError("this model has no segments, got some; leave segments out")
        positions = placed = None
        first = self.spec.position_start
        if mask is not None:
            positions = real_positions(mask)
            # RoBERTa's padding stands just before its first token.
            placed = torch.where(mask, positions + first, first - 1) if first else positions
        if self.position is not None:
            x = self.position(x, offset=first, positions=placed)
        x = drop(self.norm(x), self.spec.dropout, self.training)
        options = {
            "mask": None if mask is None else mask[:, None, None, :],
            "window": self.spec.attention.window,
            "bias": position_bias(self.spec, tokens.shape[1], 0, self.embed.weight),
            "positions": positions,
        }
        for block in self.blocks:
            if states is not None:
                states.append(x)
            x = run_layer(block, self.spec.checkpointing, x, **options)
        x = x if self.last_norm is None else self.last_norm(x)
        if states is not None:
            states.append(x)
        return x

    @override
    def token_states(
        self,
        tokens: Int[Tensor, "b t"],
        mask: Bool[Tensor, "b t"] | None = None,
        segments: Int[Tensor, "b t"] | None = None,
        states: list[Tensor] | None = None,
    ) -> Float[Tensor, "b t w"]:
        return self.encode(tokens, segments, mask, states)

    def pool(self, z: Float[Tensor, "b t w"]) -> Float[Tensor, "b w"]:
        """The first hidden state through the pooler, as next-sentence prediction trained it."""
        if self.pooler is None:
            raise ValueError("this model has no pooler; use cutaway.blocks.pool_mean or pool_first")
        return self.pooler(z[:, 0])
