r"""Steps of SGD for word vectors, without autograd: blocks of 32 words, a few blocks at once.

    rows of V, U, N gathered → loss and gradients written out (blocks/embeddings/word_windows.py) → rows moved in place

    θ_r ← θ_r − rate · min(1, cap / n_r) · Σ gradients of row r

n_r is how often row r occurs in the batch. word2vec takes its steps one after another, each from where the last one
led; here those of a batch are taken from one place, and a frequent word would run away with the sum of them. The cap
ends that: it counts as many steps as `cap` at most.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from cutaway.blocks.embeddings.word_windows import cbow_gradients, skip_gram_gradients, window_rows
from cutaway.data.words.word_chunks import Stretch, WindowDraws, WordChunk
from cutaway.models.words.word_vectors import WordVectors

BLOCK = 32  # words of a block, and negatives that they share
CAP = 8.0  # times that one row of a batch counts, at most
_WORDS = 400  # of the vocabulary for each of these: where words are few, all steps pull at the same rows


class Method(NamedTuple):
    """How a block is learned from: skip-gram, or CBOW with the sum or the mean of a context; n negatives a word."""

    skip_gram: bool
    mean: bool
    negatives: int


class BlockSteps:
    """Learns from chunks of text: ``loss = steps(model, chunk, rate)``, the mean over words (CBOW) or pairs."""

    def __init__(self, draws: WindowDraws, method: Method, batch: int) -> None:
        self.draws, self.method = draws, method
        self.blocks = max(1, min(batch // BLOCK, len(draws.keep) // 16))  # few words: each is in every block
        self.cap = min(CAP, max(1.0, len(draws.keep) / _WORDS))
        self.bands = window_rows(draws.window, BLOCK)

    @torch.no_grad()
    def __call__(self, model: WordVectors, chunk: WordChunk, rate: float) -> float:
        total, count = 0.0, 0
        tables = _Tables(model, self.cap)
        with _one_thread():
            for stretch in self.draws.stretches(chunk):
                if len(stretch.words) > 1:
                    loss, examples = self._learn(tables, stretch, rate)
                    total, count = total + loss, count + examples
        return total / max(count, 1)

    def _learn(self, tables: "_Tables", stretch: Stretch, rate: float) -> tuple[float, int]:
        """Loss and number of examples of a stretch, from which the vectors have learned."""
        laid = self._lay_out(stretch)
        losses = []
        for A, c, real, inputs, targets, negatives, *shares in zip(*laid.batches):
            V = tables.input_vectors(inputs).view(self.blocks, -1, tables.width)
            U = tables.output.index_select(0, targets).view(self.blocks, BLOCK, -1)
            N = tables.output.index_select(0, negatives).view(self.blocks, BLOCK, -1)
            if self.method.skip_gram:
                found = skip_gram_gradients(A, V, U, N, self.method.negatives)
            else:
                found = cbow_gradients(A, c, V, U, N, self.method.negatives, real)
            tables.move_inputs(inputs, found.inputs.flatten(0, 1), rate, shares[0])
            move_rows(tables.output, targets, found.targets.flatten(0, 1), rate, shares[1])
            move_rows(tables.output, negatives, found.negatives.flatten(0, 1), rate, shares[2])
            losses.append(found.loss)
        examples = laid.sizes.sum() if self.method.skip_gram else (laid.sizes > 0).sum()
        return float(torch.stack(losses).double().sum()), int(examples)

    def _lay_out(self, stretch: Stretch) -> "_Layout":
        """The words of a stretch as batches of blocks, the last filled up with words that have no context."""
        w, n, k = self.draws.window, len(stretch.words), self.blocks * BLOCK
        batches = -(-n // k)
        # Padding has no part in any context; different rare words there leave the counts of others as they are.
        words = len(self.draws.keep) - 1 - np.arange(batches * k + 2 * w) % len(self.draws.keep)
        reaches, sizes = np.zeros((2, batches * k), np.int64)
        words[w : w + n], reaches[:n] = stretch.words, stretch.reaches + 1
        places = np.arange(n)
        sizes[:n] = np.minimum(reaches[:n], places) + np.minimum(reaches[:n], n - 1 - places)
        rows = np.maximum(reaches - 1, 0) * BLOCK + np.tile(np.arange(BLOCK), batches * self.blocks)
        bands = self.bands.index_select(0, torch.from_numpy(rows)).view(-1, BLOCK, BLOCK + 2 * w)
        bands[0, :, :w] = 0  # nothing stands before the stretch, nor after it
        first = (n - w) // BLOCK if n > w else 0
        columns = torch.arange(-w, BLOCK + w) + BLOCK * torch.arange(first, len(bands))[:, None]
        bands[first:] *= (columns < n)[:, None] & (columns[:, w:-w] < n)[..., None]
        inputs = np.lib.stride_tricks.sliding_window_view(words, BLOCK + 2 * w)[::BLOCK].reshape(batches, -1).copy()
        targets = words[w : w + batches * k].reshape(batches, k)
        negatives = self.draws.negatives(stretch.place, batches * k).reshape(batches, k)
        size = torch.from_numpy(sizes).view(batches, self.blocks, BLOCK)
        real = (size > 0).float()
        laid = (
            bands.view(batches, self.blocks, BLOCK, -1),
            real / size.clamp(min=1) if self.method.mean else real,
            real,
            *map(torch.from_numpy, (inputs, targets, negatives)),
        )
        shares = [capped_shares(rows, self.cap) for rows in (inputs, targets, negatives)]
        return _Layout([*(part.unbind() for part in laid), *shares], sizes)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Products this small lose more by waiting for each other than they gain: many times, where a core is not free."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


class _Layout(NamedTuple):
    """A stretch in batches, and the sizes of its contexts.

    Of every batch: bands, 1 or 1/size of contexts, 1 for real ones, rows of inputs, targets, negatives, their shares.
    """

    batches: list[Any]
    sizes: np.ndarray


class _Tables:
    """The two tables of a model, whose rows the steps move."""

    def __init__(self, model: WordVectors, cap: float) -> None:
        layer: Any = model.output
        self.model, self.input, self.output = model, model.embed.weight, layer.weight
        self.width, self.cap = self.input.shape[1], cap
        self._rows: tuple[Tensor, Tensor] | None = None

    def input_vectors(self, words: Tensor) -> Tensor:
        if self.model.subword_rows is None:
            return self.input.index_select(0, words)
        self._rows = self.model.rows_of(words)
        return torch.nn.functional.embedding_bag(self._rows[0], self.input, self._rows[1], mode="sum")

    def move_inputs(self, words: Tensor, gradient: Tensor, rate: float, shares: Tensor | None) -> None:
        if self._rows is None:
            move_rows(self.input, words, gradient, rate, shares)
            return
        rows, starts = self._rows
        sizes = torch.diff(starts, append=starts.new_tensor([len(rows)]))
        # the parts of a word share its step, so that their sum moves as far as a single row would
        parts = (gradient / sizes[:, None]).repeat_interleave(sizes, 0)
        move_rows(self.input, rows, parts, rate, capped_shares(rows.numpy()[None], self.cap)[0])


def move_rows(table: Tensor, rows: Tensor, gradient: Tensor, rate: float, shares: Tensor | None = None) -> None:
    """θ_r ← θ_r − rate · Σ shares · gradients of row r, in place."""
    table.index_add_(0, rows, gradient if shares is None else gradient.mul_(shares), alpha=-rate)


def capped_shares(rows: np.ndarray, cap: float = CAP) -> list[Tensor | None]:
    """min(1, cap / n_r) for every entry of each batch of rows, n_r of which are r; None where all are 1.

    >>> capped_shares(np.array([[7, 7, 7, 7, 1], [1, 2, 3, 4, 5]]), cap=2.0)
    [tensor([[0.5000],
            [0.5000],
            [0.5000],
            [0.5000],
            [1.0000]]), None]
    """
    most = int(cap)
    ordered = np.sort(rows.astype(np.int32), axis=1)
    often = (ordered[:, most:] == ordered[:, :-most]).any(1)  # some row is there more often
    found: list[Tensor | None] = [None] * len(rows)
    for i in np.flatnonzero(often).tolist():
        _, place, counts = np.unique(rows[i], return_inverse=True, return_counts=True)
        found[i] = torch.from_numpy(np.minimum(1.0, cap / counts)[place].astype(np.float32))[:, None]
    return found


__all__ = ["BLOCK", "CAP", "BlockSteps", "Method", "capped_shares", "move_rows"]
