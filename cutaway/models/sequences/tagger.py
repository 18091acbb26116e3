r"""`Tagger` gives every word of a sentence a tag: by what the word is, how it is spelled, and what stands around it.

    s(w) = [max_t φ(conv(C[letters]))_t, A[affixes], S[shape]]      how a word is spelled
    x_t = [E[w_t], V[w_t], s(w_t)]                                  a vector of its own, a given one, and its spelling
    h = BiLSTM(x)                                                   the whole sentence, from both sides
    logits_t = h_t W + b                                            one for each tag

Words that training never had are row 0 of E; they are tagged by their spelling, their given vector and their place.
Graves, Schmidhuber 2005 (both directions); dos Santos, Zadrozny 2014 and Ma, Hovy 2016 (letters by convolution).
Notes: N3 §5.2 (tagging: as many outputs as inputs).
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from cutaway.blocks.attention.pooling import pool_max
from cutaway.blocks.checks import expect_positive, expect_probability
from cutaway.blocks.convolution.one_dimensional import Conv1d
from cutaway.blocks.dense.affine import Linear
from cutaway.blocks.embeddings.tokens import Embedding
from cutaway.blocks.recurrence.lstm import LSTM
from cutaway.inside.taps import Tap
from cutaway.models.base import Model, choose_spec
from cutaway.models.specs.plain_data import NamedSpec
from cutaway.models.transformers.construction import drop
from cutaway.overriding import override

_SPREAD = 0.1  # of the first embeddings


class TaggerInput(NamedTuple):
    """Sentences as a tagger takes them: ids of their words, and every different spelling once.

    ``places`` say which of the u spellings each word has. Letters are 0 after the end of a word; sentences are padded
    after their ``lengths``.
    """

    words: Int[Tensor, "b t"]
    places: Int[Tensor, "b t"]
    characters: Int[Tensor, "u c"]
    affixes: Int[Tensor, "u a"]
    shapes: Int[Tensor, "u"]
    vectors: Int[Tensor, "u"]
    lengths: Int[Tensor, "b"]


@dataclass(frozen=True)
class TaggerSpec(NamedSpec):
    """How many ids there are of each kind, and the widths of what is made of them."""

    model: ClassVar[str] = "Tagger"

    tags: int
    words: int
    characters: int
    affixes: int
    shapes: int
    vectors: int = 0  # rows of given vectors, the first for words without one; 0: no vectors are given
    vector_width: int = 0
    learn_vectors: bool = True  # whether training changes the given vectors
    affix_count: int = 8  # of each word
    word_width: int = 100
    letter_width: int = 32
    filters: int = 64
    kernel: int = 3  # letters that a filter sees at once
    affix_width: int = 16
    width: int = 200  # of the LSTM, each way
    depth: int = 1
    dropout: float = 0.4

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        counted = ("tags", "words", "characters", "affixes", "shapes", "affix_count")
        sized = ("word_width", "letter_width", "filters", "kernel", "affix_width", "width", "depth")
        expect_positive(**{name: getattr(self, name) for name in (*counted, *sized)})
        expect_probability(dropout=self.dropout)
        if bool(self.vectors) != bool(self.vector_width):
            raise ValueError(
                f"given vectors have rows and a width, got vectors={self.vectors}, vector_width={self.vector_width}; "
                "set both, or neither"
            )

    @override
    def layers_and_width(self) -> tuple[int, int]:
        return self.depth, self.width

    @property
    def spelling_width(self) -> int:
        return self.filters + (self.affix_count + 1) * self.affix_width

    @property
    def inputs(self) -> int:
        """The width of a word as the LSTM takes it."""
        return self.word_width + self.vector_width + self.spelling_width


class Spelling(nn.Module):
    """s(w) = [max_t φ(conv(C[letters]))_t, A[affixes], S[shape]]. Taps: ``letters``, ``affixes``, ``shape``."""

    def __init__(self, spec: TaggerSpec) -> None:
        super().__init__()
        self.embed_letters = Embedding(spec.characters, spec.letter_width)
        self.conv = Conv1d(spec.letter_width, spec.filters, spec.kernel)
        self.embed_affixes = Embedding(spec.affixes, spec.affix_width)
        self.embed_shape = Embedding(spec.shapes, spec.affix_width)
        self.letters, self.affixes, self.shape = Tap(), Tap(), Tap()

    @override
    def forward(
        self, characters: Int[Tensor, "u c"], affixes: Int[Tensor, "u a"], shapes: Int[Tensor, "u"]
    ) -> Float[Tensor, "u s"]:
        real = characters > 0
        found = torch.relu(self.conv(self.embed_letters(characters), real.sum(-1)))
        letters, ends, shape = pool_max(found, real), self.embed_affixes(affixes).flatten(1), self.embed_shape(shapes)
        if self.letters.live:
            letters = self.letters(letters)
        if self.affixes.live:
            ends = self.affixes(ends)
        if self.shape.live:
            shape = self.shape(shape)
        return torch.cat([letters, ends, shape], -1)


class Tagger(Model):
    """logits_t = h_t W + b with h = BiLSTM([E[w], V[w], s(w)]); ``tagger(inputs)`` gives (batch, words, tags).

    Taps: ``word`` (E[w]), ``vector`` (V[w]), ``spelling.letters``, ``spelling.affixes``, ``spelling.shape``,
    ``inputs`` (x), ``states`` (h), and all of the LSTM's.
    """

    kind: ClassVar[type[NamedSpec]] = TaggerSpec
    recurrent_layers: ClassVar[dict[str, str]] = {"lstm": "tokens"}
    spec: TaggerSpec

    def __init__(self, spec: TaggerSpec | None = None, **sizes: Any) -> None:
        super().__init__(choose_spec(spec, sizes, TaggerSpec))
        spec = self.spec
        self.embed_word = Embedding(spec.words, spec.word_width)
        self.embed_vector = Embedding(spec.vectors, spec.vector_width) if spec.vectors else None
        if self.embed_vector is not None:
            self.embed_vector.weight.requires_grad_(spec.learn_vectors)
        self.spelling = Spelling(spec)
        self.lstm = LSTM(spec.inputs, spec.width, spec.depth, bidirectional=True, dropout=spec.dropout)
        self.classify = Linear(2 * spec.width, spec.tags)
        self.word, self.vector, self.inputs, self.states = Tap(), Tap(), Tap(), Tap()
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Small embeddings, so that a word that is seen once does not begin with a strong opinion."""
        for table in (self.embed_word, self.spelling.embed_affixes, self.spelling.embed_shape):
            nn.init.normal_(table.weight, 0, _SPREAD)

    @torch.no_grad()
    def set_vectors(self, matrix: Float[Tensor, "n v"]) -> None:
        """Takes given vectors; words that have none begin with their mean."""
        assert self.embed_vector is not None
        self.embed_vector.weight[0] = matrix.mean(0)
        self.embed_vector.weight[1:] = matrix

    @override
    def forward(self, inputs: TaggerInput) -> Float[Tensor, "b t c"]:
        x = drop(self.encode(inputs), self.spec.dropout, self.training)
        h, _ = self.lstm(x, None, inputs.lengths)
        if self.states.live:
            h = self.states(h)
        return self.classify(drop(h, self.spec.dropout, self.training))

    def encode(self, inputs: TaggerInput) -> Float[Tensor, "b t x"]:
        """x_t = [E[w_t], V[w_t], s(w_t)]."""
        word = self.embed_word(inputs.words)
        if self.word.live:
            word = self.word(word)
        parts = [word]
        if self.embed_vector is not None:
            vector = self.embed_vector(inputs.vectors)[inputs.places]
            if self.vector.live:
                vector = self.vector(vector)
            parts.append(vector)
        parts.append(self.spelling(inputs.characters, inputs.affixes, inputs.shapes)[inputs.places])
        x = torch.cat(parts, -1)
        if self.inputs.live:
            x = self.inputs(x)
        return x


__all__ = ["Tagger", "TaggerInput", "TaggerSpec"]
