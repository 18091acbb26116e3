r"""GPT: a decoder-only transformer, from GPT-2 to Llama and Qwen by its spec.

    x = E[tokens] (+ P[positions])
    x ← x + attention(norm(x));  x ← x + mlp(norm(x))          depth times, each token seeing those before it
    logits = norm(x) Eᵀ  or  norm(x) W

Radford et al. 2019; Touvron et al. 2023. Notes: N2, N3 §5.4.4, §5.9.1, N4.
"""

from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from cutaway.blocks.attention.caches import Cache
from cutaway.blocks.attention_masks.patterns import segments as same_segment
from cutaway.blocks.dense.affine import Linear
from cutaway.blocks.losses.linear_cross_entropy import linear_cross_entropy, score_losses
from cutaway.blocks.positions.rotary import PassPositions
from cutaway.inside.hooks import is_changed, is_read
from cutaway.inside.quiet import equation_of, nobody_looks
from cutaway.inside.taps import Tap
from cutaway.models.base import choose_spec
from cutaway.models.generation.next_token import GPTDecoder, Prompt
from cutaway.models.specs.architectures import GPTSpec, NamedSpec
from cutaway.models.transformers.construction import (
    build_encoder_layer,
    build_last_norm,
    build_position,
    drop,
    initialise_transformer,
    position_bias,
    run_layer,
)
from cutaway.models.transformers.output_heads import build_head
from cutaway.models.transformers.sentence_vectors import build_sentence_layers
from cutaway.models.transformers.token_inputs import (
    expect_prefix,
    expect_real,
    expect_segments,
    expect_tokens,
    prefix_mask,
    real_positions,
    segment_positions,
)
from cutaway.models.transformers.token_table import TextModel, TokenTable
from cutaway.overriding import override


class GPT(TextModel):
    """logits = GPT(tokens): scores of the next token at every position; hidden states if the spec has no head.

    ``GPT(vocabulary=…, width=…, depth=…, heads=…, context=…)`` is GPT-2's design; ``GPT.llama(…)`` today's.
    ``mask`` marks real tokens (padding may stand left or right), ``segments`` numbers packed documents that must not
    see each other, ``cache`` holds the keys and values of earlier calls. The first ``prefix`` tokens, a number for all
    rows or one for each, are read in both directions, as in a prefix language model (Raffel et al. 2020, §3.2.1);
    generation reads its prompt so if the spec says ``prefix``. Heads for classes and tags work as in BERT.
    ``model.embed(texts)`` gives a vector for each text.
    """

    kind: ClassVar[type[NamedSpec]] = GPTSpec
    input_kind: ClassVar[str] = "text"
    tasks: ClassVar[tuple[str, ...]] = ("language", "chat", "classify", "tag", "pairs")
    tuned_by: ClassVar[str] = "lora"
    bias_of_classes: ClassVar[bool] = False  # as transformers has them
    output_layers: ClassVar[tuple[str, ...]] = ("unembed",)
    spec: GPTSpec

    def __init__(self, spec: GPTSpec | None = None, **sizes: Any) -> None:
        super().__init__(choose_spec(spec, sizes, GPTSpec.gpt2))
        spec = self.spec
        self.embed = TokenTable(spec.vocabulary, spec.width, self)
        self.position = build_position(spec.position, spec.context, spec.width)
        self.blocks = nn.ModuleList(build_encoder_layer(spec) for _ in range(spec.depth))
        self.norm = build_last_norm(spec)
        self.head = build_head(spec, "last", spec.dropout)
        language = spec.head is not None and spec.head.kind == "language"
        tied = spec.head is None or spec.head.tied
        self.unembed = Linear(spec.width, spec.vocabulary, bias=False) if language and not tied else None
        self.logits = Tap() if language else None
        self.sentence_layers = build_sentence_layers(spec)
        initialise_transformer(self, spec.depth)

    @classmethod
    def gpt2(cls, **sizes: Any) -> "GPT":
        """GPT-2's design: see GPTSpec.gpt2 for the sizes."""
        return cls(GPTSpec.gpt2(**sizes))

    @classmethod
    def llama(cls, **sizes: Any) -> "GPT":
        """Llama's design: see GPTSpec.llama for the sizes."""
        return cls(GPTSpec.llama(**sizes))

    @override
    @property
    def writes(self) -> str:
        return "" if self.logits is None else "continuations"

    @property
    def residual_stream(self) -> dict[str, str | None] | None:
        """Where its parts are, for what reads the residual stream (the logit lens); None without a language head."""
        if self.logits is None:
            return None
        ends = {"norm": None if self.norm is None else "norm", "unembed": None if self.unembed is None else "unembed"}
        return {
            "stream": "blocks.*",
            "embed": "embed",
            "attention": "blocks.*.attention.out",
            "mlp": "blocks.*.mlp",
        } | ends

    @override
    def forward(
        self,
        tokens: Int[Tensor, "b t"],
        mask: Bool[Tensor, "b t"] | None = None,
        segments: Int[Tensor, "b t"] | None = None,
        cache: Cache | None = None,
        prefix: int | Int[Tensor, "b"] | None = None,
        at: Bool[Tensor, "b t"] | None = None,
        targets: Int[Tensor, "*n"] | None = None,
    ) -> Float[Tensor, "..."]:
        """With ``at``, a language head reads those positions alone; with ``targets``, the token that is right at each
        position read, it gives the losses −log p of these instead of the logits, which are not kept."""
        if (at is not None or targets is not None) and self.logits is None:
            raise ValueError(
                "only a language head takes positions and targets, got at or targets with another; leave them out"
            )
        if self.head is not None and cache is None and prefix is None:
            return self.head.decide(self.represent(tokens, mask, segments), mask)
        x = self.hidden(tokens, mask, segments, cache, prefix)
        if self.logits is not None:
            x = x if at is None else x[at]
            return self.read_out(x) if targets is None else self.losses(x, targets)
        return x if self.head is None else self.head(x, mask)

    def hidden(
        self,
        tokens: Int[Tensor, "b t"],
        mask: Bool[Tensor, "b t"] | None = None,
        segments: Int[Tensor, "b t"] | None = None,
        cache: Cache | None = None,
        prefix: int | Int[Tensor, "b"] | None = None,
        states: list[Tensor] | None = None,
    ) -> Float[Tensor, "b t w"]:
        """The last hidden states, after the final norm; ``states``, an empty list, is given those of all layers."""
        start = 0 if cache is None else cache.length
        expect_tokens(tokens, self.spec.context, start)
        expect_real(mask, tokens)
        expect_segments(segments, tokens)
        options = self._attention_options(tokens, mask, segments, cache, start)
        if prefix is not None:
            expect_prefix(prefix, tokens, segments, start, self.spec.attention.window)
            options |= {"causal": False, "mask": prefix_mask(tokens, prefix, mask)}
        x = self.embed(tokens)
        if self.position is not None:
            x = self.position(x, offset=start, positions=options["positions"])
        if cache is not None and nobody_looks(self):
            return self._equations_only(x, cache, options)
        x = drop(x, self.spec.dropout, self.training)
        for i, block in enumerate(self.blocks):
            if states is not None:
                states.append(x)
            layer_cache = None if cache is None else cache.layers[i]
            x = run_layer(block, self.spec.checkpointing, x, cache=layer_cache, **options)
        x = x if self.norm is None else self.norm(x)
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
        return self.hidden(tokens, mask, segments, states=states)

    def _equations_only(self, x: Tensor, cache: Cache, options: dict[str, Any]) -> Tensor:
        """The layers as bare equations, for generating while no tap is read; a single token is passed as a vector."""
        shape = x.shape
        if x.numel() == shape[-1]:
            x = x.view(-1)
        for block, layer_cache in zip(self.blocks, cache.layers, strict=True):
            x = equation_of(block)(x, cache=layer_cache, **options)
        if self.norm is not None:
            x = equation_of(self.norm)(x)
        return x.view(shape)

    def read_out(self, x: Float[Tensor, "*b w"]) -> Float[Tensor, "*b v"]:
        """logits = x Eᵀ if tied, else x W. Any direction of the residual stream can be read so (the logit lens)."""
        y = nn.functional.linear(x, self.embed.weight) if self.unembed is None else self.unembed(x)
        if self.logits is not None and self.logits.live:
            y = self.logits(y)
        return y

    def losses(self, x: Float[Tensor, "*b w"], targets: Int[Tensor, "*b"]) -> Float[Tensor, "*b"]:
        """−log p(target) of each hidden state; the logits as such only where somebody looks at them."""
        assert self.logits is not None
        plain = self.unembed is None or (type(self.unembed) is Linear and not is_changed(self.unembed))
        if self.logits.edited or not plain:
            return score_losses(self.read_out(x), targets)
        if self.logits.live or (self.unembed is not None and is_read(self.unembed)):
            self.read_out(x)  # beside: looking does not change the losses by a bit
        return linear_cross_entropy(x, self.embed.weight if self.unembed is None else self.unembed.weight.T, targets)

    def new_cache(self, batch: int, context: int | None = None) -> Cache:
        """An empty cache for ``batch`` sequences of up to ``context`` tokens (default: the model's)."""
        attention = self.spec.resolved().attention
        assert attention.kv_heads is not None
        assert attention.head_width is not None
        context = self.spec.context if context is None else context
        return Cache(self.spec.depth, batch, attention.kv_heads, context, attention.head_width, self.embed.weight)

    def begin(self, prompt: Prompt, tokens: int) -> GPTDecoder:
        """Goes on from a prompt for up to ``tokens`` tokens; `generate` and `beam_search` are built on it."""
        if self.logits is None:
            raise ValueError("a model needs a language head to go on with a text, got one without; see with_head")
        return GPTDecoder(self, prompt, tokens)

    def _attention_options(
        self, tokens: Tensor, mask: Tensor | None, segments: Tensor | None, cache: Cache | None, start: int
    ) -> dict[str, Any]:
        """Options for attention: positions of the tokens (None: counted from ``start``), masks, bias and window."""
        t = tokens.shape[1]
        options: dict[str, Any] = {"causal": True, "window": self.spec.attention.window, "positions": None}
        options["bias"] = position_bias(self.spec, t, start, self.embed.weight)
        real = mask if cache is None else cache.see(tokens, mask)
        if real is not None:
            options["positions"] = real_positions(real)[:, start:]
            options["mask"] = real[:, None, None, :]
        if segments is not None:
            if cache is not None:
                raise ValueError("segments are for packed training batches, got a cache too; decode one document a row")
            options["positions"] = segment_positions(segments, mask)
            packed = same_segment(segments)
            options["mask"] = packed if mask is None else packed.dense(t, t, device=tokens.device) & options["mask"]
        if self.spec.position.kind == "rotary" and not torch.compiler.is_compiling():  # a compiler sees it by itself
            placed = (
                torch.arange(start, start + t, device=tokens.device)
                if options["positions"] is None
                else options["positions"]
            )
            options["positions"] = PassPositions(placed)  # the angles are the same in all layers
        return options
