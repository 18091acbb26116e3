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
from cutaway.overriding import override

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

    @override
    def at(self, step: int) -> WordChunk:
        return WordChunk(step * self.total // self.steps, (step + 1) * self.total // self.steps)


class Stretch(NamedTuple):
    """Words that were kept, how far the window of each reaches (from 0: one word), and the place where they begin.

    ``lines`` are the words that begin a line, all but the first.
    """

    words: Int[np.ndarray, "n"]
    reaches: Int[np.ndarray, "n"]
    place: int
    lines: Int[np.ndarray, "l"] | None = None

    def sides(self) -> tuple[Int[np.ndarray, "n"], Int[np.ndarray, "n"]]:
        """How many words each window holds to the left and to the right: its reach, but not past the line's ends.

        >>> Stretch(np.array([5, 6, 7, 8]), np.array([1, 1, 1, 0]), 0, np.array([3])).sides()
        (array([0, 1, 2, 0]), array([2, 1, 0, 0]))
        """
        n = len(self.words)
        begins, ends = np.array([0]), np.array([n])
        if self.lines is not None and len(self.lines):
            begins, ends = np.concatenate([begins, self.lines]), np.concatenate([self.lines, ends])
        first, end = np.repeat(begins, ends - begins), np.repeat(ends, ends - begins)
        places = np.arange(n)
        return np.minimum(self.reaches + 1, places - first), np.minimum(self.reaches + 1, end - 1 - places)


class WindowDraws:
    """What is drawn while a text is read: which words are kept, how far windows reach, and the negatives."""

    def __init__(
        self, tokens: Tokens, counts: Int[np.ndarray, "v"], window: int, sample: float = 1e-3, seed: int = 0
    ) -> None:
        self.tokens, self.window, self.seed = tokens, window, seed
        self.keep = keep_probabilities(counts, sample)
        self.table = negatives_table(counts)
        kept = counts * self.keep
        self.diversity = float(kept.sum() ** 2 / (kept**2).sum())  # 1 / Σ p²: so many equally frequent words

    def stretches(self, chunk: WordChunk) -> Iterator[Stretch]:
        """The words of a chunk, in stretches; windows do not reach from one into the next."""
        place = chunk.begin
        while place < chunk.end:
            start = place % len(self.tokens)
            length = min(_PIECE, chunk.end - place, len(self.tokens) - start)
            ids = self.tokens[start : start + length].astype(np.int64)
            keep = draw_uniform(self.seed, "keep", place, length) < self.keep[ids]
            kept = ids[keep]
            reaches = draw_integers(self.seed, "reach", place, len(kept), self.window)
            yield Stretch(kept, reaches, place, self._lines(start, keep))
            place += length

    def _lines(self, start: int, keep: np.ndarray) -> Int[np.ndarray, "l"] | None:
        """Which of the words that are kept, from ``start`` on, begin a line."""
        begins = getattr(self.tokens, "lines", None)
        if begins is None:
            return None
        first, last = np.searchsorted(begins.ids, np.array([start + 1, start + len(keep)], begins.ids.dtype))
        before = np.concatenate([[0], np.cumsum(keep)])
        found = np.unique(before[begins[first:last].astype(np.int64) - start])
        return found[(found > 0) & (found < before[-1])]

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
