r"""A stretch of text laid out for steps: batches of blocks, the windows of their words, and the rows that they touch.

    inputs    rows of a batch's words and of the w words on either side
    outputs   rows of its words, then of its negatives
    windows   A as lists (CBOW, `WindowLists`), or as a band for each block of words (skip-gram)

All batches of a stretch are laid out at once: a few operations of NumPy on long arrays.
"""

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from cutaway.blocks.embeddings.word_windows import WindowLists
from cutaway.data.words.word_chunks import Stretch, WindowDraws

BLOCK = 32  # words of a block
SHARED = 32  # negatives that they share


class StepBatch(NamedTuple):
    """What one step learns from.

    ``scale`` is 1/size of each context, 0 for words that have none; ``examples`` how many words or pairs there are.
    """

    windows: Any
    scale: Tensor
    examples: int
    inputs: Tensor
    outputs: Tensor
    input_shares: Tensor | None
    output_shares: Tensor | None


class Caps(NamedTuple):
    """How often a row counts in one batch, at most."""

    inputs: float
    targets: float
    negatives: float


class WindowLayout:
    """Lays stretches out in batches of ``blocks`` blocks: ``for batch in layout(stretch, caps)``."""

    def __init__(self, draws: WindowDraws, blocks: int, skip_gram: bool) -> None:
        self.draws, self.blocks, self.skip_gram = draws, blocks, skip_gram
        w = draws.window
        self.width = blocks * BLOCK  # words of a batch
        left, right = np.divmod(np.arange((w + 1) ** 2), w + 1)
        self.offsets = np.concatenate([np.arange(-w, 0), np.arange(1, w + 1)])
        away = np.abs(self.offsets)
        self.patterns = np.where(self.offsets < 0, left[:, None] >= away, right[:, None] >= away)
        places = np.arange(self.width)[:, None] + self.offsets + w
        self.places = places.ravel()  # of a batch: the place that each offset of each word leads to
        words = np.arange(self.width + 2 * w)[:, None] - w + self.offsets
        self.words = words.ravel()  # the word that each offset of each place leads to

    def __call__(self, stretch: Stretch, caps: Caps) -> list[StepBatch]:
        w, n, k = self.draws.window, len(stretch.words), self.width
        count = -(-n // k)
        rows = len(self.draws.keep)
        # Padding has no part in any context; different rare words there leave the counts of others as they are.
        words = rows - 1 - np.arange(count * k + 2 * w) % rows
        words[w : w + n] = stretch.words
        left, right = np.zeros((2, count * k), np.int64)
        left[:n], right[:n] = stretch.sides()
        targets = words[w : w + count * k].reshape(count, k)
        negatives = self.draws.negatives(stretch.place, count * self.blocks * SHARED).reshape(count, -1)
        reach = BLOCK if self.skip_gram else k  # words whose inputs lie together
        inputs = np.lib.stride_tricks.sliding_window_view(words, reach + 2 * w)[::reach].reshape(count, -1).copy()
        windows = self._bands(left, right, count) if self.skip_gram else self._lists(left, right, count)
        shares = [capped_shares(part, cap) for part, cap in zip((inputs, targets, negatives), caps)]
        sizes = (left + right).reshape(count, self.blocks, BLOCK)
        scale = (1.0 / np.where(sizes > 0, sizes, np.inf)).astype(np.float32)
        examples = sizes.sum((1, 2)) if self.skip_gram else (sizes > 0).sum((1, 2))
        outputs = np.concatenate([targets, negatives], 1)
        return [
            StepBatch(*parts)
            for parts in zip(
                windows,
                torch.from_numpy(scale).unbind(),
                examples.tolist(),
                torch.from_numpy(inputs).unbind(),
                torch.from_numpy(outputs).unbind(),
                shares[0],
                (_together(*both, k, self.blocks * SHARED) for both in zip(shares[1], shares[2])),
            )
        ]

    def _lists(self, left: np.ndarray, right: np.ndarray, count: int) -> list[WindowLists]:
        """A of every batch as lists."""
        w, k = self.draws.window, self.width
        sizes = (left + right).reshape(count, k)
        marked = np.flatnonzero(self.patterns[left * (w + 1) + right])
        places = self.places[marked % len(self.places)]
        # By columns: word i stands in the list of each place from i − left to i + right, but not of its own.
        before, after = np.zeros((2, count, k + 4 * w), np.int8 if w < 128 else np.int64)
        before[:, 2 * w : 2 * w + k], after[:, 2 * w : 2 * w + k] = left.reshape(count, k), right.reshape(count, k)
        held = np.empty((count, k + 2 * w, 2 * w), bool)
        for i, offset in enumerate(self.offsets.tolist()):
            reach = after if offset < 0 else before
            np.greater_equal(reach[:, w + offset : k + 3 * w + offset], abs(offset), out=held[..., i])
        marked = np.flatnonzero(held)
        words = self.words[marked % len(self.words)]
        holders = np.bincount(marked // (2 * w), minlength=count * (k + 2 * w)).reshape(count, -1)
        entries = sizes.sum(1).tolist()
        lists = (
            torch.from_numpy(places).split(entries),
            torch.from_numpy(np.cumsum(sizes, 1) - sizes).unbind(),
            torch.from_numpy(words).split(entries),
            torch.from_numpy(np.cumsum(holders, 1) - holders).unbind(),
        )
        return [WindowLists(*parts) for parts in zip(*lists)]

    def _bands(self, left: np.ndarray, right: np.ndarray, count: int) -> list[Tensor]:
        """A of every block: 1 at each place of a word's window."""
        w = self.draws.window
        bands = torch.zeros(count * self.width, BLOCK + 2 * w)
        marked = np.flatnonzero(self.patterns[left * (w + 1) + right])
        word = marked // (2 * w)
        bands[torch.from_numpy(word), torch.from_numpy(word % BLOCK + self.offsets[marked % (2 * w)] + w)] = 1
        return list(bands.view(count, self.blocks, BLOCK, -1).unbind())


def capped_shares(rows: np.ndarray, cap: float) -> list[Tensor | None]:
    """min(1, cap / n_r) for every entry of each batch of rows, n_r of which are r; None where all are 1.

    >>> capped_shares(np.array([[7, 7, 7, 7, 1], [1, 2, 3, 4, 5]]), cap=2.0)
    [tensor([[0.5000],
            [0.5000],
            [0.5000],
            [0.5000],
            [1.0000]]), None]
    """
    found: list[Tensor | None] = [None] * len(rows)
    most = int(cap)
    if most >= rows.shape[1]:
        return found
    ordered = np.sort(rows.astype(np.int32), axis=1)
    batch, place = np.nonzero(
        ordered[:, most:] == ordered[:, : ordered.shape[1] - most]
    )  # there more than `most` times
    pairs = np.unique(np.stack([batch, ordered[batch, place]]), axis=1)
    same = rows[pairs[0]] == pairs[1][:, None]
    pair, column = np.nonzero(same)
    shares = np.ones(rows.shape, np.float32)
    shares[pairs[0][pair], column] = np.minimum(1.0, cap / np.bincount(pair, minlength=len(same)))[pair]
    for i in set(pairs[0].tolist()):
        found[i] = torch.from_numpy(shares[i])[:, None]
    return found


def _together(targets: Tensor | None, negatives: Tensor | None, words: int, shared: int) -> Tensor | None:
    """Shares of the targets, then of the negatives."""
    if targets is None and negatives is None:
        return None
    first = torch.ones(words, 1) if targets is None else targets
    return torch.cat([first, torch.ones(shared, 1) if negatives is None else negatives])


__all__ = ["BLOCK", "SHARED", "Caps", "StepBatch", "WindowLayout", "capped_shares"]
