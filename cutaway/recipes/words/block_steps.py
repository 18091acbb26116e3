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

import torch
from torch import Tensor

from cutaway.blocks.embeddings.word_windows import (
    guess_gradients,
    guess_loss,
    skip_gram_gradients,
    spread_back,
    window_sums,
)
from cutaway.data.words.word_chunks import WindowDraws, WordChunk
from cutaway.models.words.word_vectors import WordVectors
from cutaway.recipes.words.window_layout import BLOCK, Caps, StepBatch, WindowLayout, capped_shares

CAP = 8.0  # times that one row of a batch counts, at most
_MEASURED = 8  # the loss is that of every so many batches: measuring it costs an eighth of a step
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
        blocks = max(1, min(batch // BLOCK, len(draws.keep) // 16))  # few words: each is in every block
        self.cap = min(CAP, max(1.0, len(draws.keep) / _WORDS))
        self.lay_out = WindowLayout(draws, blocks, method.skip_gram)

    @torch.no_grad()
    def __call__(self, model: WordVectors, chunk: WordChunk, rate: float) -> float:
        tables = _Tables(model, self.cap)
        step = self._skip_gram_step if self.method.skip_gram else self._cbow_step
        losses: list[Tensor] = []
        examples: list[Tensor] = []
        caps = Caps(self.cap, self.cap, self.cap)
        with _one_thread():
            for stretch in self.draws.stretches(chunk):
                if len(stretch.words) > 1:
                    for i, batch in enumerate(self.lay_out(stretch, caps)):
                        loss = step(tables, batch, rate, i % _MEASURED == 0)
                        if loss is not None:
                            losses.append(loss)
                            examples.append(batch.sizes.sum() if self.method.skip_gram else (batch.sizes > 0).sum())
        total = int(torch.stack(examples).sum()) if examples else 0
        return float(torch.stack(losses).double().sum()) / total if total else 0.0

    def _cbow_step(self, tables: "_Tables", batch: StepBatch, rate: float, measured: bool) -> Tensor | None:
        n, d = self.method.negatives, tables.width
        U, N = tables.output.index_select(0, batch.outputs).view(2, -1, BLOCK, d)
        H = window_sums(batch.windows, tables.input_vectors(batch.inputs))
        if self.method.mean:
            H.div_(batch.sizes.clamp(min=1).view(-1, 1))
        H = H.view(-1, BLOCK, d)
        loss = guess_loss(H, (batch.sizes > 0).float(), U, N, n) if measured else None
        dH, dU, dN = guess_gradients(H, U, N, n, -rate)
        # Not divided by the size of a context: so do word2vec's program and gensim.
        tables.move_inputs(batch.inputs, spread_back(batch.windows, dH.view(-1, d)), batch.input_shares)
        tables.move_outputs(batch.outputs, torch.cat([dU.view(-1, d), dN.view(-1, d)]), batch.output_shares)
        return loss

    def _skip_gram_step(self, tables: "_Tables", batch: StepBatch, rate: float, measured: bool) -> Tensor | None:
        d = tables.width
        U, N = tables.output.index_select(0, batch.outputs).view(2, -1, BLOCK, d)
        V = tables.input_vectors(batch.inputs).view(len(U), -1, d)
        loss, dV, dU, dN = skip_gram_gradients(batch.windows, V, U, N, self.method.negatives)
        tables.move_inputs(batch.inputs, dV.view(-1, d).mul_(-rate), batch.input_shares)
        steps = torch.cat([dU.view(-1, d), dN.view(-1, d)]).mul_(-rate)
        tables.move_outputs(batch.outputs, steps, batch.output_shares)
        return loss if measured else None


@contextmanager
def _one_thread() -> Iterator[None]:
    """Products this small lose more by waiting for each other than they gain: many times, where a core is not free."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


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

    def move_inputs(self, words: Tensor, steps: Tensor, shares: Tensor | None) -> None:
        if self._rows is None:
            move_rows(self.input, words, steps, shares)
            return
        rows, starts = self._rows
        sizes = torch.diff(starts, append=starts.new_tensor([len(rows)]))
        # the parts of a word share its step, so that their sum moves as far as a single row would
        parts = (steps / sizes[:, None]).repeat_interleave(sizes, 0)
        move_rows(self.input, rows, parts, capped_shares(rows.numpy()[None], self.cap)[0])

    def move_outputs(self, words: Tensor, steps: Tensor, shares: Tensor | None) -> None:
        move_rows(self.output, words, steps, shares)


def move_rows(table: Tensor, rows: Tensor, steps: Tensor, shares: Tensor | None = None) -> None:
    """θ_r ← θ_r + Σ shares · steps of row r, in place."""
    table.index_add_(0, rows, steps if shares is None else steps.mul_(shares))


__all__ = ["BLOCK", "CAP", "BlockSteps", "Method", "capped_shares", "move_rows"]
