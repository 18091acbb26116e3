r"""The text that word vectors learn from, chunk by chunk: frequent words thinned out, windows and negatives drawn.

    P(keep w) = min(1, √(t / f_w) + t / f_w)        f_w: the share of w in the text; t: `sample`
    reach of a window: 1 … window                   each as likely, so that near words count more
    q_w ∝ n_w^¾                                     negatives

Everything is drawn by the place in the text and the seed alone: a run that goes on from a checkpoint sees what an
unbroken one sees. Mikolov et al. 2013, "Distributed Representations", §2.2–2.3; the formula of P is that of word2vec's
program, which keeps a little more than its paper.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from cutaway.data.batches import Batches
from cutaway.data.seeded_draws import draw_bits, draw_integers, draw_uniform
from cutaway.data.text.token_files import Tokens

_PIECE = 16_384  # words that are read and drawn for at once
_TABLE = 1 << 20  # entries of the table of negatives, at least; each word has its share of them


class WordChunk(NamedTuple):
    """Places ``begin`` to ``end`` − 1 of the text, read over and over: place n + i of n words is word i again."""

    begin: int
    end: int


class WordPasses(Batches[WordChunk]):
    """``passes`` over a text of ``count`` words, cut into ``steps`` chunks of one length."""

    def __init__(self, count: int, passes: float, steps: int, seed: int = 0, rank: int = 0, world: int = 1) -> None:
        if world > 1:
            raise ValueError(f"word vectors are trained in one process, got {world}; leave out torchrun")
        super().__init__(1, seed, rank, world)
        self.total, self.steps = max(steps, round(count * passes)), steps

    def at(self, step: int) -> WordChunk:
        return WordChunk(step * self.total // self.steps, (step + 1) * self.total // self.steps)


class Stretch(NamedTuple):
    """Words that were kept, how far the window of each reaches (from 0: one word), and the place where they begin."""

    words: Int[np.ndarray, "n"]
    reaches: Int[np.ndarray, "n"]
    place: int


class WindowDraws:
    """What is drawn while a text is read: which words are kept, how far windows reach, and the negatives."""

    def __init__(
        self, tokens: Tokens, counts: Int[np.ndarray, "v"], window: int, sample: float = 1e-3, seed: int = 0
    ) -> None:
        self.tokens, self.window, self.seed = tokens, window, seed
        self.keep = keep_probabilities(counts, sample)
        self.table = negatives_table(counts)

    def stretches(self, chunk: WordChunk) -> Iterator[Stretch]:
        """The words of a chunk, in stretches; windows do not reach from one into the next."""
        place = chunk.begin
        while place < chunk.end:
            start = place % len(self.tokens)
            length = min(_PIECE, chunk.end - place, len(self.tokens) - start)
            ids = self.tokens[start : start + length].astype(np.int64)
            kept = ids[draw_uniform(self.seed, "keep", place, length) < self.keep[ids]]
            yield Stretch(kept, draw_integers(self.seed, "reach", place, len(kept), self.window), place)
            place += length

    def negatives(self, place: int, count: int) -> Int[np.ndarray, "count"]:
        """Words drawn from q, for the stretch that begins at that place."""
        bits = draw_bits(self.seed, "negative", place, (count + 1) // 2).view(np.uint32)[:count]
        return self.table[bits % np.uint32(len(self.table))].astype(np.int64)


def keep_probabilities(counts: Int[np.ndarray, "v"], sample: float) -> Float[np.ndarray, "v"]:
    """min(1, √(t / f) + t / f) of every word; all 1 where ``sample`` is 0.

    >>> keep_probabilities(np.array([98, 1, 1]), 0.01).round(3)
    array([0.111, 1.   , 1.   ])
    """
    if not sample:
        return np.ones(len(counts))
    ratio = sample * counts.sum() / counts
    return np.minimum(1.0, np.sqrt(ratio) + ratio)


def negatives_table(counts: Int[np.ndarray, "v"]) -> Int[np.ndarray, "n"]:
    """Words in proportion to n^¾, so that a random entry is a draw from q: exact to one entry of a million or more."""
    size = _TABLE
    while size < 32 * len(counts):
        size *= 2
    borders = np.cumsum(counts.astype(np.float64) ** 0.75)
    return np.searchsorted(borders, (np.arange(size) + 0.5) / size * borders[-1]).astype(np.int32)


__all__ = ["Stretch", "WindowDraws", "WordChunk", "WordPasses", "keep_probabilities", "negatives_table"]
