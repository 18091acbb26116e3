r"""Output heads turn a model's hidden states into logits, for each token or for the whole sequence.

    masked tokens   logits = norm(φ(z W)) Eᵀ + b        what the hidden token was
    classes         logits = pool(z) W + b              one for the sequence
    tags            logits = z W + b                    one for each token

Each of the last two is read, then decide: what of z the learned part needs, and what it makes of that. Where the rest
of a model is frozen, the first can be kept.

Devlin et al. 2019, §3. Notes: N3 §5.6.4, §5.8.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from cutaway.blocks.attention.pooling import AttentionPool, pool_first, pool_last, pool_mean
from cutaway.blocks.dense.activations import find_activation
from cutaway.blocks.dense.affine import Dense, Linear
from cutaway.inside.taps import Tap
from cutaway.models.specs.architectures import HeadSpec, ModelSpec
from cutaway.models.transformers.construction import build_norm, drop
from cutaway.overriding import override


class MaskedHead(nn.Module):
    """logits = norm(φ(z W + b)) Eᵀ + c: guesses masked tokens; E is the embedding's matrix if tied. Tap: ``logits``."""

    output_layers = ("unembed",)

    def __init__(self, spec: ModelSpec, vocabulary: int) -> None:
        super().__init__()
        assert spec.head is not None
        self.transform = Dense(spec.width, spec.width, find_activation(spec.mlp.activation))
        self.norm = build_norm(spec.norm, spec.width)
        self.unembed = None if spec.head.tied else Linear(spec.width, vocabulary, bias=False)
        self.bias = nn.Parameter(torch.zeros(vocabulary))
        self.logits = Tap()

    @override
    def forward(self, z: Float[Tensor, "*b w"], table: Float[Tensor, "v w"]) -> Float[Tensor, "*b v"]:
        """``table`` is E."""
        h = self.norm(self.transform(z))
        y = nn.functional.linear(h, table, self.bias) if self.unembed is None else self.unembed(h) + self.bias
        if self.logits.live:
            y = self.logits(y)
        return y


class ClassHead(nn.Module):
    """logits = φ(pool(z) U + c) W + b, the hidden layer φ(… U + c) only if the spec says so. Tap: ``logits``.

    Pooled over the real tokens: the first (cls), the last, their mean, a mean weighted by attention, or the means of
    all layers' states side by side (layers).
    """

    output_layers = ("classify",)
    context: int | None = None  # tokens of a text that it read when it was tuned, if that was said

    def __init__(self, width: int, spec: HeadSpec, pooling: str, dropout: float = 0.0, layers: int = 0) -> None:
        super().__init__()
        assert spec.classes is not None
        self.pooling, self.dropout = pooling, dropout
        inputs = width * (layers + 1) if pooling == "layers" else width
        self.pool = AttentionPool(width) if pooling == "attention" else None
        self.hidden = Dense(inputs, width, torch.tanh) if spec.hidden else None
        self.classify = Linear(width if spec.hidden else inputs, spec.classes, spec.bias)
        self.logits = Tap()

    @property
    def wants_layers(self) -> bool:
        """Whether it reads the states of all layers, from the embeddings to the last."""
        return self.pooling == "layers"

    @override
    def forward(
        self, z: Float[Tensor, "b t w"] | list[Tensor], mask: Bool[Tensor, "b t"] | None = None
    ) -> Float[Tensor, "b c"]:
        return self.decide(self.read(z, mask), mask)

    def read(
        self, z: Float[Tensor, "b t w"] | list[Tensor], mask: Bool[Tensor, "b t"] | None = None
    ) -> Float[Tensor, "b *t w"]:
        """The pooled states; all of them where pooling is learned."""
        if isinstance(z, list):
            return torch.cat([pool_mean(state, mask) for state in z], -1)
        return z if self.pool is not None else self._pool(z, mask)

    def decide(self, s: Float[Tensor, "b *t w"], mask: Bool[Tensor, "b t"] | None = None) -> Float[Tensor, "b c"]:
        """The logits of what `read` gave."""
        if self.pool is not None:
            s = self.pool(s, mask)
        if self.hidden is not None:
            s = self.hidden(s)
        y = self.classify(drop(s, self.dropout, self.training))
        if self.logits.live:
            y = self.logits(y)
        return y

    def _pool(self, z: Tensor, mask: Tensor | None) -> Tensor:
        if self.pooling == "cls" and mask is not None:
            return pool_last(z.flip(-2), mask.flip(-1))  # the first real one: padding may stand before it
        return {"cls": pool_first, "last": pool_last, "mean": pool_mean}[self.pooling](z, mask)


class TagHead(nn.Module):
    """logits = z W + b for every token. Tap: ``logits``."""

    output_layers = ("classify",)
    wants_layers = False
    context: int | None = None

    def __init__(self, width: int, spec: HeadSpec, dropout: float = 0.0) -> None:
        super().__init__()
        assert spec.classes is not None
        self.dropout = dropout
        self.classify = Linear(width, spec.classes, spec.bias)
        self.logits = Tap()

    @override
    def forward(self, z: Float[Tensor, "b t w"], mask: Bool[Tensor, "b t"] | None = None) -> Float[Tensor, "b t c"]:
        """``mask`` is not needed: each token is tagged by itself."""
        return self.decide(z)

    def read(self, z: Float[Tensor, "b t w"], mask: Bool[Tensor, "b t"] | None = None) -> Float[Tensor, "b t w"]:
        """The states themselves."""
        return z

    def decide(self, z: Float[Tensor, "*b w"], mask: Bool[Tensor, "b t"] | None = None) -> Float[Tensor, "*b c"]:
        """The logits of states, whatever their places."""
        y = self.classify(drop(z, self.dropout, self.training))
        if self.logits.live:
            y = self.logits(y)
        return y


def build_head(spec: ModelSpec, pooling: str, dropout: float = 0.0) -> ClassHead | TagHead | None:
    """The head for classes (``pooling`` where the spec leaves it open) or tags; None for other kinds."""
    head = spec.head
    if head is None or head.kind not in ("classes", "tags"):
        return None
    if head.kind == "tags":
        return TagHead(spec.width, head, dropout)
    return ClassHead(spec.width, head, head.pooling or pooling, dropout, spec.depth)
