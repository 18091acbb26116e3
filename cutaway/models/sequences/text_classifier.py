r"""`TextClassifier` says which class a text belongs to: readers of its words and a bag of its n-grams vote.

    x = E[tokens]                                       a vector for every word
    z = φ(conv_k(x)) | BiLSTM(x) | transformer(x)       each word among its neighbours
    v = [max_t z_t, Σ α_t z_t] W + b                    the vote of a reader: what stands out, and what it attends to
    u = b + Σ_{f ∈ n-grams} r_f w_f                     the vote of the n-grams, a linear model
    logits = (1 − τ) mean v + τ u                       what readers and n-grams say together

The linear model is fitted alone, and every reader learns from its own loss, as if it were alone too. If the sum were
trained, the n-grams, which know every training text by heart, would leave the readers nothing to learn. Voters that
read in different ways make different errors, which cancel out.
Kim 2014 (convolutions over words); Lin et al. 2017 (attention); Wang, Manning 2012 (n-grams); Cheng et al. 2016 (wide
and deep). Notes: N3 §5.2 (many inputs, one output).
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from cutaway.blocks.attention.multihead import MultiHeadAttention
from cutaway.blocks.attention.pooling import AttentionPool, pool_max
from cutaway.blocks.attention.transformer_layers import EncoderLayer
from cutaway.blocks.checks import expect_choice, expect_positive, expect_probability, near_divisors
from cutaway.blocks.convolution.one_dimensional import Conv1d
from cutaway.blocks.dense.affine import Linear
from cutaway.blocks.dense.mlps import MLP
from cutaway.blocks.embeddings.naive_bayes import NaiveBayesBag
from cutaway.blocks.embeddings.tokens import Embedding
from cutaway.blocks.norms.layer import LayerNorm
from cutaway.blocks.positions.sinusoidal import SinusoidalPosition
from cutaway.blocks.recurrence.lstm import LSTM
from cutaway.inside.taps import Tap
from cutaway.models.base import Model, choose_spec
from cutaway.models.specs.plain_data import NamedSpec
from cutaway.models.transformers.construction import drop
from cutaway.overriding import override

READERS = ("cnn", "rnn", "transformer", "none")
PAD, UNKNOWN = 0, 1
_SPREAD = 0.1  # of the first vectors of words
_INPUTS = 0.4  # of the dropout, for the vectors of words: every number of them may matter


@dataclass(frozen=True)
class TextClassifierSpec(NamedSpec):
    """How many words, n-grams and classes there are, who reads, and the widths of what they make."""

    model: ClassVar[str] = "TextClassifier"

    classes: int
    vocabulary: int
    features: int = 0  # n-grams, the first for none; 0: no bag of n-grams
    reader: str = "cnn"  # cnn | rnn | transformer | none
    readers: int = 1
    vector_width: int = 64  # of a word
    width: int = 64  # filters of each kernel; units each way; the transformer's stream
    kernels: tuple[int, ...] = (3, 4, 5)  # words that a filter sees at once
    depth: int = 1
    heads: int = 4
    dropout: float = 0.5
    hide: float = 0.0  # share of words taken for unknown while training
    trust: float = 0.67  # τ, the weight of the n-grams' vote beside the readers'

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_choice("reader", self.reader, READERS)
        sized = ("classes", "vocabulary", "readers", "vector_width", "width", "depth", "heads")
        expect_positive(**{name: getattr(self, name) for name in sized})
        expect_probability(dropout=self.dropout, hide=self.hide, trust=self.trust)
        if self.reader == "none" and not self.features:
            raise ValueError("a classifier needs a voter, got reader='none' and features=0; give it one of the two")
        if self.reader == "cnn" and not (self.kernels and all(kernel > 0 for kernel in self.kernels)):
            raise ValueError(f"kernels must be sizes above 0, got {self.kernels}; try kernels=(3, 4, 5)")
        if self.reader == "transformer" and self.width % self.heads:
            near = near_divisors(self.width, self.heads, 1)[0]
            raise ValueError(
                f"width must be a multiple of heads, got width={self.width}, heads={self.heads}; try heads={near}"
            )

    @override
    def layers_and_width(self) -> tuple[int, int]:
        return 0, 0 if self.reader == "none" else self.vector_width


class Convolutions(nn.Module):
    """z = [φ(conv_k(x)) for every kernel size k], φ = ReLU. Kim 2014."""

    def __init__(self, spec: TextClassifierSpec) -> None:
        super().__init__()
        self.kernels = nn.ModuleList(Conv1d(spec.vector_width, spec.width, kernel) for kernel in spec.kernels)
        self.outputs = spec.width * len(spec.kernels)

    @override
    def forward(self, x: Float[Tensor, "b t w"], lengths: Int[Tensor, "b"]) -> Float[Tensor, "b t h"]:
        return torch.cat([torch.relu(conv(x, lengths)) for conv in self.kernels], -1)


class Recurrence(nn.Module):
    """z = BiLSTM(x): every word with what came before it and what comes after."""

    def __init__(self, spec: TextClassifierSpec) -> None:
        super().__init__()
        self.lstm = LSTM(spec.vector_width, spec.width, spec.depth, bidirectional=True, dropout=spec.dropout)
        self.outputs = 2 * spec.width

    @override
    def forward(self, x: Float[Tensor, "b t w"], lengths: Int[Tensor, "b"]) -> Float[Tensor, "b t h"]:
        return self.lstm(x, None, lengths)[0]


class Attention(nn.Module):
    """z = transformer(x W + positions), pre-norm, both directions."""

    def __init__(self, spec: TextClassifierSpec) -> None:
        super().__init__()
        width = spec.width
        self.map = Linear(spec.vector_width, width)
        self.position = SinusoidalPosition(width)
        self.blocks = nn.ModuleList(
            EncoderLayer(
                MultiHeadAttention(width, spec.heads), MLP(width, 4 * width), lambda: LayerNorm(width), "pre", 0.1
            )
            for _ in range(spec.depth)
        )
        self.norm = LayerNorm(width)
        self.outputs = width

    @override
    def forward(self, x: Float[Tensor, "b t w"], lengths: Int[Tensor, "b"]) -> Float[Tensor, "b t h"]:
        real = torch.arange(x.shape[1], device=x.device) < lengths[:, None]
        z = self.position(self.map(x))
        for block in self.blocks:
            z = block(z, mask=real[:, None, None, :])
        return self.norm(z)


_ENCODERS: dict[str, Any] = {"cnn": Convolutions, "rnn": Recurrence, "transformer": Attention}


class Reader(nn.Module):
    """v = [max_t z_t, Σ α_t z_t] W + b with α = softmax(Z θ). Taps: ``states`` (z), ``pool.weights`` (α), ``vote``."""

    def __init__(self, spec: TextClassifierSpec) -> None:
        super().__init__()
        self.dropout = spec.dropout
        self.encoder = _ENCODERS[spec.reader](spec)
        self.pool = AttentionPool(self.encoder.outputs)
        self.classify = Linear(2 * self.encoder.outputs, spec.classes)
        self.states, self.vote = Tap(), Tap()

    @override
    def forward(self, x: Float[Tensor, "b t w"], lengths: Int[Tensor, "b"]) -> Float[Tensor, "b c"]:
        real = torch.arange(x.shape[1], device=x.device) < lengths[:, None]
        z = self.encoder(x, lengths)
        if self.states.live:
            z = self.states(z)
        pooled = torch.cat([pool_max(z, real), self.pool(z, real)], -1)
        v = self.classify(drop(pooled, self.dropout, self.training))
        if self.vote.live:
            v = self.vote(v)
        return v


class TextClassifier(Model):
    """logits = (1 − τ) mean v + τ u: the votes of readers of the words, and that of a bag of n-grams.

    ``classifier(tokens, features)`` gives (batch, classes); tokens are padded with 0 at the end, features with 0
    anywhere. Taps: ``vectors`` (x), ``readers.0.states``, ``readers.0.pool.weights``, ``readers.0.vote`` and so on,
    ``ngrams.output``.
    """

    kind: ClassVar[type[NamedSpec]] = TextClassifierSpec
    spec: TextClassifierSpec

    def __init__(self, spec: TextClassifierSpec | None = None, **sizes: Any) -> None:
        super().__init__(choose_spec(spec, sizes, TextClassifierSpec))
        spec = self.spec
        reads = spec.reader != "none"
        self.embed = Embedding(spec.vocabulary, spec.vector_width) if reads else None
        self.vectors = Tap() if reads else None
        self.readers = nn.ModuleList(Reader(spec) for _ in range(spec.readers if reads else 0))
        self.ngrams = NaiveBayesBag(spec.features, spec.classes) if spec.features else None
        self.reset_parameters()

    @property
    def recurrent_layers(self) -> dict[str, str]:
        """Where its gates are, if its readers have any, and what their steps are."""
        count = len(self.readers) if self.spec.reader == "rnn" else 0
        return {f"readers.{i}.encoder.lstm": "tokens" for i in range(count)}

    def reset_parameters(self) -> None:
        if self.embed is not None:
            nn.init.normal_(self.embed.weight, 0, _SPREAD)
            nn.init.zeros_(self.embed.weight[PAD])

    @torch.no_grad()
    def set_vectors(self, ids: Int[Tensor, "n"], matrix: Float[Tensor, "n v"]) -> None:
        """Takes given vectors for some words."""
        assert self.embed is not None
        self.embed.weight[ids] = matrix.to(self.embed.weight)

    @override
    def forward(
        self, tokens: Int[Tensor, "b t"], features: Int[Tensor, "b n"] | None = None, apart: bool = False
    ) -> Float[Tensor, "*m b c"]:
        """With ``apart``, the votes of the readers one by one, which is what they are trained by."""
        if apart:
            return torch.stack(self.read(tokens))
        if self.ngrams is None:
            return torch.stack(self.read(tokens)).mean(0)
        if features is None:
            raise ValueError("this classifier reads n-grams too, got features=None; pass their ids")
        u = self.ngrams(features)
        if not self.readers:
            return u
        return torch.lerp(torch.stack(self.read(tokens)).mean(0), u, self.spec.trust)

    def read(self, tokens: Int[Tensor, "b t"]) -> list[Tensor]:
        """The vote of each reader."""
        if self.embed is None or self.vectors is None:
            return []
        lengths = (tokens != PAD).sum(-1).clamp(min=1)
        x = self.embed(self._hidden(tokens))
        if self.vectors.live:
            x = self.vectors(x)
        x = drop(x, _INPUTS * self.spec.dropout, self.training)
        return [reader(x, lengths) for reader in self.readers]

    def _hidden(self, tokens: Tensor) -> Tensor:
        """Some words taken for unknown, in training."""
        if not (self.training and self.spec.hide):
            return tokens
        hidden = (torch.rand(tokens.shape, device=tokens.device) < self.spec.hide) & (tokens != PAD)
        return tokens.masked_fill(hidden, UNKNOWN)


__all__ = ["READERS", "TextClassifier", "TextClassifierSpec"]
