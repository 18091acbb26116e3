r"""`WordVectors` guesses a word from the words around it (CBOW) or from one of them (skip-gram), and keeps the vectors.

    CBOW        z = Σ_{c in context} v_c          (or the mean)
    skip-gram   z = v_c
    log p(w | z)                                  by an output layer for many classes

The input vectors v are the word vectors: words that are used alike are guessed from the same contexts, so they get
vectors that point alike. Mikolov et al. 2013 (both); Bojanowski et al. 2017 (subwords). Notes: N3 §4.2–4.4.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from cutaway.blocks.checks import expect_choice, expect_positive
from cutaway.blocks.embeddings.hierarchical import HierarchicalSoftmax
from cutaway.blocks.embeddings.output_layers import FullSoftmax, OutputLayer
from cutaway.blocks.embeddings.sampled import NCE, NegativeSampling, SampledSoftmax
from cutaway.blocks.embeddings.tokens import Embedding
from cutaway.inside.taps import Tap
from cutaway.models.base import Model, choose_spec
from cutaway.models.specs.plain_data import NamedSpec
from cutaway.models.words.subwords import piece_rows, subword_table
from cutaway.overriding import override

OUTPUTS = ("negative", "full", "hierarchical", "sampled", "nce", "none")


@dataclass(frozen=True)
class WordVectorsSpec(NamedSpec):
    """How many words there are, how wide their vectors are, and by what they are learned."""

    model: ClassVar[str] = "WordVectors"

    vocabulary: int
    width: int = 100
    context: str = "sum"  # sum | mean of the vectors around a word
    output: str = "negative"  # one of OUTPUTS; none: vectors that are not trained any more
    samples: int = 5  # of the layers that sample: negative, sampled, nce
    buckets: int = 0  # rows that pieces of words share; 0: whole words alone
    entries: int = 0  # rows that make up all words, with buckets

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_positive(vocabulary=self.vocabulary, width=self.width, samples=self.samples)
        expect_choice("context", self.context, ("sum", "mean"))
        expect_choice("output", self.output, OUTPUTS)
        if self.buckets < 0 or self.entries < 0:
            raise ValueError(f"buckets and entries must be 0 or more, got {self.buckets} and {self.entries}; try 0")

    @override
    def layers_and_width(self) -> tuple[int, int]:
        return 1, self.width


class WordVectors(Model):
    """log p(word) = WordVectors(contexts): of the word in the middle of each context, (batch, vocabulary).

    ``mask`` marks the real words of each context. `vectors` are those of all words. Taps: ``hidden`` (z).
    """

    kind: ClassVar[type[NamedSpec]] = WordVectorsSpec
    subword_rows: Tensor | None
    subword_starts: Tensor | None

    def __init__(
        self, spec: WordVectorsSpec | None = None, counts: Sequence[float] | Tensor | None = None, **sizes: Any
    ) -> None:
        spec = choose_spec(spec, sizes, WordVectorsSpec)
        super().__init__(spec)
        self.embed = Embedding(spec.vocabulary + spec.buckets, spec.width)
        nn.init.uniform_(self.embed.weight, -0.5 / spec.width, 0.5 / spec.width)
        for name, size in (("subword_rows", spec.entries), ("subword_starts", spec.vocabulary)):
            self.register_buffer(name, torch.zeros(size, dtype=torch.long) if spec.buckets else None)
        self.hidden = Tap()
        self.output = _output(spec, counts)
        if isinstance(self.output, NegativeSampling):
            nn.init.zeros_(self.output.weight)  # as in word2vec: all scores begin at 0

    @classmethod
    def of_words(cls, spec: WordVectorsSpec, words: Sequence[str], counts: Any = None) -> "WordVectors":
        """A model for these words; with ``spec.buckets``, it knows their pieces."""
        if not spec.buckets:
            return cls(spec, counts)
        rows, starts = subword_table(words, spec.buckets)
        model = cls(spec.but(entries=len(rows)), counts)
        model.subword_rows, model.subword_starts = torch.from_numpy(rows), torch.from_numpy(starts)
        return model

    def input_vectors(self, words: Int[Tensor, "*b"]) -> Float[Tensor, "*b d"]:
        """v of some words: a row each, or the sum of the rows of their pieces."""
        if self.subword_rows is None:
            return self.embed(words)
        rows, starts = self.rows_of(words.flatten())
        summed = nn.functional.embedding_bag(rows, self.embed.weight, starts, mode="sum")
        return summed.view(*words.shape, -1)

    def rows_of(self, words: Int[Tensor, "n"]) -> tuple[Int[Tensor, "m"], Int[Tensor, "n"]]:
        """The rows that make up some words, one word after another, and where those of each begin."""
        assert self.subword_rows is not None
        assert self.subword_starts is not None
        ends = torch.cat([self.subword_starts[1:], self.subword_starts.new_tensor([len(self.subword_rows)])])
        sizes = (ends - self.subword_starts)[words]
        starts = sizes.cumsum(0) - sizes
        shift = torch.repeat_interleave(self.subword_starts[words] - starts, sizes)
        return self.subword_rows[shift + torch.arange(len(shift), device=words.device)], starts

    def vectors(self) -> Float[Tensor, "v d"]:
        """The vectors of all words."""
        if self.subword_rows is None:
            return self.embed.weight
        return nn.functional.embedding_bag(self.subword_rows, self.embed.weight, self.subword_starts, mode="sum")

    def vector_of_pieces(self, word: str) -> Float[Tensor, "d"] | None:
        """The vector of a word that was never seen, from its pieces; None for a model of whole words."""
        rows = piece_rows(word, self.spec.vocabulary, self.spec.buckets) if self.spec.buckets else []
        return self.embed.weight[torch.tensor(rows)].sum(0) if rows else None

    def encode(self, contexts: Int[Tensor, "b c"], mask: Bool[Tensor, "b c"] | None = None) -> Float[Tensor, "b d"]:
        """z: the sum, or the mean, of the vectors of each context."""
        v = self.input_vectors(contexts)
        if mask is not None:
            v = v * mask[..., None]
        z = v.sum(1)
        if self.spec.context == "mean":
            size = contexts.shape[1] if mask is None else mask.sum(1, keepdim=True).clamp(min=1)
            z = z / size
        return self.hidden(z) if self.hidden.live else z

    @override
    def forward(self, contexts: Int[Tensor, "b c"], mask: Bool[Tensor, "b c"] | None = None) -> Float[Tensor, "b v"]:
        if self.output is None:
            raise ValueError(
                "imported vectors have no output layer to guess words with, got a context; train a run of your own"
            )
        return self.output.log_probabilities(self.encode(contexts, mask))


def _output(spec: WordVectorsSpec, counts: Any) -> OutputLayer | None:
    """The output layer; that of a run takes its counts, or its tree, from the stored weights."""
    size = (spec.width, spec.vocabulary)
    if spec.output == "none":
        return None
    if spec.output == "full":
        return FullSoftmax(*size)
    if spec.output == "hierarchical":
        with torch.device("cpu"):  # a tree is planted from its values, which the meta device has not
            return HierarchicalSoftmax(*size, tree="balanced" if counts is None else "huffman", counts=counts)
    kind: Any = {"negative": NegativeSampling, "sampled": SampledSoftmax, "nce": NCE}[spec.output]
    with torch.device("cpu"):
        return kind(*size, spec.samples, counts=counts)


__all__ = ["OUTPUTS", "WordVectors", "WordVectorsSpec"]
