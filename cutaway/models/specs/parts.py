r"""The parts of a model's spec: frozen, JSON-able dataclasses that check themselves.

    AttentionSpec(heads=4).but(kv_heads=2).to_dict()
    NormSpec.from_dict({"kind": "rms"}) == NormSpec("rms")

The specs of whole models, made of these, are in architectures.py; what all have in common is in plain_data.py.
"""

from dataclasses import dataclass

from cutaway.blocks.checks import expect_choice, expect_positive, expect_probability
from cutaway.blocks.dense.activations import find_activation
from cutaway.models.specs.plain_data import VERSION, NamedSpec, Spec
from cutaway.overriding import override


@dataclass(frozen=True)
class NormSpec(Spec):
    """LayerNorm or RMSNorm (which has no bias)."""

    kind: str = "layer"  # layer | rms
    epsilon: float = 1e-5
    bias: bool = True

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_choice("norm", self.kind, ("layer", "rms"))
        if self.kind == "rms":
            object.__setattr__(self, "bias", False)


@dataclass(frozen=True)
class AttentionSpec(Spec):
    """Multi-head attention."""

    heads: int = 4
    kv_heads: int | None = None  # None: as many as heads
    head_width: int | None = None  # None: width / heads
    bias: bool | str = True  # True | False | "qkv"
    scale: float | None = None  # None: 1/√head_width
    dropout: float = 0.0
    norm: bool = False  # RMSNorm of queries and keys
    window: int | None = None  # None: all tokens

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        given = {"kv_heads": self.kv_heads, "head_width": self.head_width, "window": self.window}
        expect_positive(heads=self.heads, **{name: value for name, value in given.items() if value is not None})
        expect_probability(dropout=self.dropout)


@dataclass(frozen=True)
class MLPSpec(Spec):
    """The position-wise network."""

    hidden: int | None = None  # None: 4 × width; gated: 8/3 × width
    activation: str = "gelu"
    gated: bool = False
    bias: bool = True
    dropout: float = 0.0

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        if self.hidden is not None:
            expect_positive(hidden=self.hidden)
        find_activation(self.activation)
        expect_probability(dropout=self.dropout)


@dataclass(frozen=True)
class ScalingSpec(Spec):
    """Rotary positions for contexts longer than those trained on: ``factor`` times ``context``."""

    kind: str  # linear | ntk | dynamic | llama3 | yarn
    factor: float
    context: int | None = None  # dynamic, llama3, yarn: that of training
    slow: float | None = None  # llama3, yarn: turns in that context up to which a pair is slowed
    fast: float | None = None  # llama3, yarn: turns from which it is kept
    attention: float | None = None  # yarn: what the turned vectors are multiplied by
    whole: bool = True  # yarn: both ends rounded to whole pairs

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_choice("scaling", self.kind, ("linear", "ntk", "dynamic", "llama3", "yarn"))
        if self.context is None and self.kind not in ("linear", "ntk"):
            raise ValueError(f"{self.kind} scaling needs the context of training, got None; set context=8192 or so")


@dataclass(frozen=True)
class PositionSpec(Spec):
    """How a model knows where a token stands."""

    kind: str = "learned"  # none | learned | sinusoidal | rotary | relative | alibi
    base: float = 10000.0  # rotary, sinusoidal
    layout: str = "half"  # rotary: half | interleaved
    share: float = 1.0  # rotary: the part of each head that turns
    scaling: ScalingSpec | None = None  # rotary
    buckets: int = 32  # relative
    distance: int = 128  # relative

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_choice("position", self.kind, ("none", "learned", "sinusoidal", "rotary", "relative", "alibi"))
        expect_choice("layout", self.layout, ("half", "interleaved"))
        expect_positive(base=self.base, share=self.share, buckets=self.buckets, distance=self.distance)
        expect_probability(share=self.share)


@dataclass(frozen=True)
class HeadSpec(Spec):
    """What stands on top; a model without a head returns hidden states."""

    kind: str = "language"  # language | masked | classes | tags
    tied: bool = True  # language, masked: the output matrix is the embedding's transpose
    classes: int | None = None  # classes, tags
    labels: tuple[str, ...] = ()  # their names
    pooling: str | None = None  # classes: cls | mean | attention | layers | last; None: last if causal, else cls
    hidden: bool = False  # classes: a dense tanh layer before the last (BERT's pooler)
    bias: bool = True  # classes, tags: of the last layer

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_choice("head", self.kind, ("language", "masked", "classes", "tags"))
        expect_choice("pooling", self.pooling or "cls", ("cls", "mean", "attention", "layers", "last"))
        if self.classes is None and self.labels:
            object.__setattr__(self, "classes", len(self.labels))
        if self.kind in ("classes", "tags") and self.classes is None:
            raise ValueError(f"a head for {self.kind} needs their number, got classes=None; try classes=2")
        if self.classes is not None:
            expect_positive(classes=self.classes)
        if self.labels and len(self.labels) != self.classes:
            raise ValueError(
                f"every class needs its label, got {self.classes} classes and {len(self.labels)} labels; "
                "leave classes out to have them counted"
            )


POOLINGS = ("cls", "max", "mean", "mean_sqrt", "weighted", "last")


@dataclass(frozen=True)
class SentenceSpec(Spec):
    """How the hidden states of a text's tokens become one vector, that of the text."""

    pooling: tuple[str, ...] = ("mean",)  # of POOLINGS; the vectors of several stand side by side
    layers: tuple[tuple[int, str, bool], ...] = ()  # dense layers behind: width, activation, and whether it has a bias
    normalize: bool = True  # the vector is brought to length 1
    context: int | None = None  # tokens that a text is cut to; None: the model's context
    prompts: tuple[tuple[str, str], ...] = ()  # texts that can be put before a text, by their names
    prompt: str | None = None  # the name of the one that is, unless another is asked for

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.pooling:
            raise ValueError("a sentence needs a pooling, got none; try pooling=('mean',)")
        for pooling in self.pooling:
            expect_choice("pooling", pooling, POOLINGS)
        for width, activation, _ in self.layers:
            expect_positive(width=width)
            find_activation(activation)
        if self.context is not None:
            expect_positive(context=self.context)
        if self.prompt is not None:
            expect_choice("prompt", self.prompt, tuple(name for name, _ in self.prompts) or ("None",))


__all__ = [
    "POOLINGS",
    "VERSION",
    "AttentionSpec",
    "HeadSpec",
    "MLPSpec",
    "NamedSpec",
    "NormSpec",
    "PositionSpec",
    "ScalingSpec",
    "SentenceSpec",
    "Spec",
]
