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

BLOCK = 32  # words of a block, and negatives that they share
_FEW = 20  # rows of a batch that are capped one by one; more of them are counted together


class StepBatch(NamedTuple):
    """What one step learns from; ``sizes`` are those of the contexts, 0 for words that fill the batch up."""

    windows: Any
    sizes: Tensor
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
        negatives = self.draws.negatives(stretch.place, count * k).reshape(count, k)
        reach = BLOCK if self.skip_gram else k  # words whose inputs lie together
        inputs = np.lib.stride_tricks.sliding_window_view(words, reach + 2 * w)[::reach].reshape(count, -1).copy()
        windows = self._bands(left, right, count) if self.skip_gram else self._lists(left, right, count)
        shares = [capped_shares(part, cap) for part, cap in zip((inputs, targets, negatives), caps)]
        sizes = torch.from_numpy(left + right).view(count, self.blocks, BLOCK)
        outputs = np.concatenate([targets, negatives], 1)
        return [
            StepBatch(*parts)
            for parts in zip(
                windows,
                sizes.unbind(),
                torch.from_numpy(inputs).unbind(),
                torch.from_numpy(outputs).unbind(),
                shares[0],
                map(_together, shares[1], shares[2]),
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
    batch, place = np.nonzero(ordered[:, most:] == ordered[:, : ordered.shape[1] - most])  # rows that are there oftener
    if len(batch) > _FEW * len(rows):
        return [_all_shares(part, cap) for part in rows]
    for i, row in set(zip(batch.tolist(), ordered[batch, place].tolist())):
        same = np.flatnonzero(rows[i] == row)
        shares = found[i]
        if shares is None:
            shares = found[i] = torch.ones(rows.shape[1], 1)
        shares.numpy()[same] = cap / len(same)
    return found


def _all_shares(rows: np.ndarray, cap: float) -> Tensor:
    _, place, counts = np.unique(rows, return_inverse=True, return_counts=True)
    return torch.from_numpy(np.minimum(1.0, cap / counts)[place].astype(np.float32))[:, None]


def _together(targets: Tensor | None, negatives: Tensor | None) -> Tensor | None:
    if targets is None and negatives is None:
        return None
    one = torch.ones_like(targets if negatives is None else negatives)
    return torch.cat([one if targets is None else targets, one if negatives is None else negatives])


__all__ = ["BLOCK", "Caps", "StepBatch", "WindowLayout", "capped_shares"]
