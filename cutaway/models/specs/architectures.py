r"""The specs of models: each is a design as plain data, frozen, JSON-able, versioned, in nested parts.

    spec = GPTSpec.gpt2(vocabulary=50257, width=768, depth=12, heads=12, context=1024)
    model = GPT.from_spec(spec)
    GPTSpec.from_dict(spec.to_dict()) == spec

Checkpoints, run folders and the studio all keep a model as its spec and its tensors. The parts are in parts.py.
"""

from dataclasses import dataclass, field
from typing import ClassVar, TypeVar

from cutaway.blocks.checks import expect_choice, expect_positive, expect_probability
from cutaway.blocks.dense.activations import find_activation
from cutaway.models.specs.parts import (
    AttentionSpec,
    HeadSpec,
    MLPSpec,
    NormSpec,
    PositionSpec,
    ScalingSpec,
    SentenceSpec,
)
from cutaway.models.specs.plain_data import NamedSpec, Spec
from cutaway.overriding import override

M = TypeVar("M", bound="ModelSpec")


@dataclass(frozen=True)
class ModelSpec(NamedSpec):
    """What all transformer models have in common."""

    positions: ClassVar[tuple[str, ...]] = ()
    orders: ClassVar[tuple[str, ...]] = ("pre", "post", "parallel")
    head_kinds: ClassVar[tuple[str, ...]] = ()

    width: int
    depth: int
    attention: AttentionSpec
    mlp: MLPSpec
    norm: NormSpec
    position: PositionSpec
    head: HeadSpec | None
    order: str = "pre"  # pre | post | parallel
    dropout: float = 0.0
    checkpointing: bool = False  # recompute each layer in backward: less memory, more time

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        sizes = ("width", "depth", "vocabulary", "context", "decoder_depth", "patch", "channels")
        expect_positive(**{name: getattr(self, name) for name in sizes if hasattr(self, name)})
        expect_probability(dropout=self.dropout)
        expect_choice("order", self.order, self.orders)
        expect_choice(f"the position of a {self.model}", self.position.kind, self.positions)
        if self.head is not None:
            expect_choice(f"the head of a {self.model}", self.head.kind, self.head_kinds)

    @override
    def layers_and_width(self) -> tuple[int, int]:
        return self.depth + getattr(self, "decoder_depth", 0), self.width

    def resolved(self: M) -> M:
        """The same design with every size written out: key–value heads, head width, hidden width."""
        hidden = 8 * self.width // 3 if self.mlp.gated else 4 * self.width
        return self.but(
            attention__kv_heads=self.attention.kv_heads or self.attention.heads,
            attention__head_width=self.attention.head_width or self.width // self.attention.heads,
            mlp__hidden=self.mlp.hidden or hidden,
        )


@dataclass(frozen=True)
class TextSpec(ModelSpec):
    """What all models of text have in common."""

    vocabulary: int = field(kw_only=True)
    sentence: SentenceSpec | None = field(default=None, kw_only=True)  # None: the mean of a text's tokens, of length 1


@dataclass(frozen=True)
class GPTSpec(TextSpec):
    """A decoder-only language model."""

    model: ClassVar[str] = "GPT"
    positions: ClassVar[tuple[str, ...]] = ("none", "learned", "sinusoidal", "rotary", "alibi")
    head_kinds: ClassVar[tuple[str, ...]] = ("language", "classes", "tags")
    context: int = field(kw_only=True)
    end: tuple[int, ...] = field(default=(), kw_only=True)  # tokens that end a text
    padding: int | None = field(default=None, kw_only=True)  # the token that fills up rows; a mask says where
    prefix: bool = field(default=False, kw_only=True)  # prompts are read in both directions: a prefix language model

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        if self.prefix and self.attention.window is not None:
            raise ValueError(
                f"a prefix is seen by all that follows it, got prefix=True with window={self.attention.window}; "
                "leave one of them out"
            )
        if self.head is not None and self.head.pooling == "cls":
            raise ValueError(
                "the first token of a causal model has seen no other, got pooling='cls'; try pooling='last' or 'mean'"
            )

    @staticmethod
    def gpt2(*, vocabulary: int, width: int, depth: int, heads: int, context: int, dropout: float = 0.0) -> "GPTSpec":
        """GPT-2: learned positions, pre-norm LayerNorm, GELU (tanh), tied output. Radford et al. 2019."""
        return GPTSpec(
            vocabulary=vocabulary,
            width=width,
            depth=depth,
            context=context,
            attention=AttentionSpec(heads=heads, dropout=dropout),
            mlp=MLPSpec(hidden=4 * width, activation="gelu_tanh"),
            norm=NormSpec("layer", 1e-5),
            position=PositionSpec("learned"),
            head=HeadSpec("language", tied=True),
            dropout=dropout,
        )

    @staticmethod
    def llama(
        *,
        vocabulary: int,
        width: int,
        depth: int,
        heads: int,
        context: int,
        kv_heads: int | None = None,
        hidden: int | None = None,
        tied: bool = False,
    ) -> "GPTSpec":
        """Llama: rotary positions, pre-norm RMSNorm, SwiGLU, grouped queries, no biases. Touvron et al. 2023."""
        return GPTSpec(
            vocabulary=vocabulary,
            width=width,
            depth=depth,
            context=context,
            attention=AttentionSpec(heads=heads, kv_heads=kv_heads, bias=False),
            mlp=MLPSpec(hidden=hidden or 8 * width // 3, activation="silu", gated=True, bias=False),
            norm=NormSpec("rms", 1e-5),
            position=PositionSpec("rotary"),
            head=HeadSpec("language", tied=tied),
        )

    @staticmethod
    def quick(*, vocabulary: int, width: int, depth: int, heads: int, context: int) -> "GPTSpec":
        """Learns fast at small sizes: rotary, QK-norm, ReLU², no biases, untied (Jordan et al. 2024).

        LayerNorm where Jordan et al. have RMSNorm: it learns as well, and torch has a fused one on CPUs, which makes a
        step of a small model shorter by about a tenth.
        """
        return GPTSpec(
            vocabulary=vocabulary,
            width=width,
            depth=depth,
            context=context,
            attention=AttentionSpec(heads=heads, bias=False, norm=True),
            mlp=MLPSpec(hidden=4 * width, activation="relu_squared", bias=False),
            norm=NormSpec("layer", 1e-6, bias=False),
            position=PositionSpec("rotary"),
            head=HeadSpec("language", tied=False),
        )


@dataclass(frozen=True)
class BERTSpec(TextSpec):
    """An encoder-only model of text."""

    model: ClassVar[str] = "BERT"
    positions: ClassVar[tuple[str, ...]] = ("none", "learned", "sinusoidal", "rotary", "alibi")
    head_kinds: ClassVar[tuple[str, ...]] = ("masked", "classes", "tags")
    context: int = field(kw_only=True)
    segments: int = field(default=2, kw_only=True)  # kinds of sentences; 0: none
    pooler: bool = field(default=False, kw_only=True)  # a dense tanh layer on CLS, beside the hidden states
    position_start: int = field(default=0, kw_only=True)  # RoBERTa counts from padding + 1

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        if self.pooler and self.head is not None and self.head.kind == "classes":
            raise ValueError("a head for classes has a pooler of its own, got pooler=True; set its hidden=True instead")
        if self.position_start and self.position.kind != "learned":
            raise ValueError(
                f"position_start is for learned positions, got {self.position_start} with {self.position.kind} ones; "
                "set it to 0"
            )

    @staticmethod
    def bert(
        *,
        vocabulary: int,
        width: int,
        depth: int,
        heads: int,
        context: int,
        head: HeadSpec | None = None,
        dropout: float = 0.0,
    ) -> "BERTSpec":
        """BERT: learned positions, segments, post-norm LayerNorm, GELU. Devlin et al. 2019."""
        return BERTSpec(
            vocabulary=vocabulary,
            width=width,
            depth=depth,
            context=context,
            attention=AttentionSpec(heads=heads, dropout=dropout),
            mlp=MLPSpec(hidden=4 * width, activation="gelu"),
            norm=NormSpec("layer", 1e-12),
            position=PositionSpec("learned"),
            head=head,
            order="post",
            dropout=dropout,
        )


@dataclass(frozen=True)
class T5Spec(TextSpec):
    """An encoder–decoder with relative positions. ``depth`` layers in the encoder, ``decoder_depth`` in the decoder."""

    model: ClassVar[str] = "T5"
    positions: ClassVar[tuple[str, ...]] = ("relative",)
    orders: ClassVar[tuple[str, ...]] = ("pre", "post")
    head_kinds: ClassVar[tuple[str, ...]] = ("language",)
    decoder_depth: int = field(kw_only=True)
    start: int = field(default=0, kw_only=True)  # the token that a decoder begins with
    end: tuple[int, ...] = field(default=(), kw_only=True)  # tokens that end a text
    scale_output: bool = field(default=True, kw_only=True)  # hidden states times width^−½ before the output matrix

    @staticmethod
    def t5(
        *,
        vocabulary: int,
        width: int,
        depth: int,
        heads: int,
        head_width: int | None = None,
        hidden: int | None = None,
        gated: bool = False,
        dropout: float = 0.0,
    ) -> "T5Spec":
        """T5 (gated: v1.1): RMSNorm, relative buckets, no 1/√d, no biases. Raffel et al. 2020."""
        activation = "gelu_tanh" if gated else "relu"
        return T5Spec(
            vocabulary=vocabulary,
            width=width,
            depth=depth,
            decoder_depth=depth,
            attention=AttentionSpec(heads=heads, head_width=head_width, bias=False, scale=1.0, dropout=dropout),
            mlp=MLPSpec(hidden or 4 * width, activation, gated, bias=False, dropout=dropout),
            norm=NormSpec("rms", 1e-6),
            position=PositionSpec("relative"),
            head=HeadSpec("language", tied=not gated),
            dropout=dropout,
            scale_output=not gated,
        )


@dataclass(frozen=True)
class TransformerSpec(TextSpec):
    """The encoder–decoder of 2017."""

    model: ClassVar[str] = "Transformer"
    positions: ClassVar[tuple[str, ...]] = ("sinusoidal",)
    orders: ClassVar[tuple[str, ...]] = ("pre", "post")
    head_kinds: ClassVar[tuple[str, ...]] = ("language",)
    context: int = field(kw_only=True)
    start: int = field(default=0, kw_only=True)  # the token that a decoder begins with
    end: tuple[int, ...] = field(default=(), kw_only=True)  # tokens that end a text

    @staticmethod
    def base(
        *,
        vocabulary: int,
        width: int = 512,
        depth: int = 6,
        heads: int = 8,
        context: int = 512,
        order: str = "post",
        dropout: float = 0.1,
    ) -> "TransformerSpec":
        """Sinusoids, post-norm, ReLU, one matrix for both embeddings and the output. Vaswani et al. 2017."""
        return TransformerSpec(
            vocabulary=vocabulary,
            width=width,
            depth=depth,
            context=context,
            attention=AttentionSpec(heads=heads, dropout=dropout),
            mlp=MLPSpec(hidden=4 * width, activation="relu", dropout=dropout),
            norm=NormSpec("layer", 1e-5),
            position=PositionSpec("sinusoidal"),
            head=HeadSpec("language", tied=True),
            order=order,
            dropout=dropout,
        )


@dataclass(frozen=True)
class ViTSpec(ModelSpec):
    """A vision transformer over square patches."""

    model: ClassVar[str] = "ViT"
    positions: ClassVar[tuple[str, ...]] = ("learned",)
    head_kinds: ClassVar[tuple[str, ...]] = ("classes",)
    image: tuple[int, int] = field(default=(224, 224), kw_only=True)
    patch: int = field(default=16, kw_only=True)
    channels: int = field(default=3, kw_only=True)
    pooler: bool = field(default=False, kw_only=True)  # a dense layer on CLS, beside the hidden states
    pooler_activation: str = field(default="tanh", kw_only=True)
    scaled: bool = field(default=False, kw_only=True)  # brings pixels from 0 to 1 to its own scale

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_positive(image=min(self.image))
        find_activation(self.pooler_activation)
        if self.image[0] % self.patch or self.image[1] % self.patch:
            near = tuple(self.patch * max(1, round(side / self.patch)) for side in self.image)
            raise ValueError(
                f"image sides must be multiples of patch, got image={self.image}, patch={self.patch}; try image={near}"
            )

    @staticmethod
    def vit(
        *,
        image: int | tuple[int, int],
        patch: int,
        width: int,
        depth: int,
        heads: int,
        classes: int | None = None,
        channels: int = 3,
        dropout: float = 0.0,
    ) -> "ViTSpec":
        """ViT: patches, CLS, learned positions, pre-norm LayerNorm, GELU. Dosovitskiy et al. 2021."""
        return ViTSpec(
            image=(image, image) if isinstance(image, int) else image,
            patch=patch,
            channels=channels,
            width=width,
            depth=depth,
            attention=AttentionSpec(heads=heads, dropout=dropout),
            mlp=MLPSpec(hidden=4 * width, activation="gelu"),
            norm=NormSpec("layer", 1e-12),
            position=PositionSpec("learned"),
            head=None if classes is None else HeadSpec("classes", classes=classes),
            dropout=dropout,
        )


__all__ = [
    "AttentionSpec",
    "BERTSpec",
    "GPTSpec",
    "HeadSpec",
    "MLPSpec",
    "ModelSpec",
    "NamedSpec",
    "NormSpec",
    "PositionSpec",
    "ScalingSpec",
    "SentenceSpec",
    "Spec",
    "T5Spec",
    "TextSpec",
    "TransformerSpec",
    "ViTSpec",
]
