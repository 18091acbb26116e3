r"""Steps of SGD for word vectors, without autograd: blocks of 32 words, a few blocks at once.

    rows of V, U, N gathered → gradients written out (blocks/embeddings/word_windows.py) → rows moved in place

    θ_r ← θ_r − rate · min(1, T / (rate · n_r)) · Σ gradients of row r

n_r is how many pulls of the batch row r gets. word2vec takes its steps one after another, each from where the last one
led; here those of a batch are taken from one place, and a frequent word would run away with the sum of them. So the
rates of one row's pulls add up to T at most: 1 for output vectors, 6 for input vectors, which few pulls move far, and
up to 2.4 times as much in a text of many words, where the rows of a batch move each other less. n_r counts a row's
entries in the batch, each with the pulls that it gets on average. An output vector gets one from its own word, or one
from each of n words as a negative. An input vector is in w + 1 windows and gets n + 1 from each; where contexts are
*summed*, all w + 1 vectors of one move together, and the sum goes w + 1 times as far.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor

from cutaway.blocks.embeddings.word_windows import (
    guess_errors,
    guess_scores,
    hidden_gradient,
    output_gradients,
    scores_loss,
    skip_gram_gradients,
    spread_back,
    window_sums,
)
from cutaway.data.words.word_chunks import WindowDraws, WordChunk
from cutaway.models.words.word_vectors import WordVectors
from cutaway.tasks.words.window_layout import BLOCK, SHARED, Caps, StepBatch, WindowLayout, capped_shares

INPUT_TOTAL, OUTPUT_TOTAL = 6.0, 1.0  # T: rates of all the pulls that a row follows in one batch, at most
_DIVERSE, _LOOSER = 100, 2.4  # from a diversity of 100 words on, T grows with it, to 2.4 times as much
_MEASURED = 8  # the loss is that of every eighth batch: to measure it takes time


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
        self.lay_out = WindowLayout(draws, blocks, method.skip_gram)

    @torch.no_grad()
    def __call__(self, model: WordVectors, chunk: WordChunk, rate: float) -> float:
        caps = self.caps(rate)
        tables = _Tables(model, caps.inputs)
        learn = self._skip_gram if self.method.skip_gram else self._cbow
        losses, examples = list[Tensor](), 0
        with _one_thread():
            for stretch in self.draws.stretches(chunk):
                for i, batch in enumerate(self.lay_out(stretch, caps) if len(stretch.words) > 1 else []):
                    loss = learn(tables, batch, rate, i % _MEASURED == 0)
                    if loss is not None:
                        losses.append(loss)
                        examples += batch.examples
        return float(torch.stack(losses).double().sum()) / examples if examples else 0.0

    def caps(self, rate: float) -> Caps:
        """How often a row of each kind counts in a batch, at most."""
        n, size = self.method.negatives, self.draws.window + 1  # of a context on average; also windows that hold a word
        pairs = size if self.method.skip_gram else 1
        together = 1 if self.method.mean or self.method.skip_gram else size
        many = min(max(self.draws.diversity / _DIVERSE, 1.0), _LOOSER) / max(rate, 1e-12)
        inputs, outputs = many * INPUT_TOTAL, many * OUTPUT_TOTAL
        return Caps(inputs / (size * (n + 1) * together), outputs / pairs, outputs / (pairs * n * BLOCK / SHARED))

    def _cbow(self, tables: "_Tables", batch: StepBatch, rate: float, measured: bool) -> Tensor | None:
        n, d = self.method.negatives, tables.width
        (U, N), H = tables.output_vectors(batch), self._hidden(tables, batch)
        scores = guess_scores(H, U, N)
        loss = scores_loss(scores, batch.scale, n) if measured else None
        errors = guess_errors(scores, n, -rate)
        # Not divided by the size of a context: so do word2vec's program and gensim.
        dV = spread_back(batch.windows, hidden_gradient(errors, U, N).view(-1, d))
        tables.move_inputs(batch.inputs, dV, batch.input_shares)
        steps, words = H.new_empty(len(batch.outputs), d), U.shape[0] * BLOCK
        output_gradients(errors, H, out=(steps[:words].view_as(U), steps[words:].view_as(N)))
        move_rows(tables.output, batch.outputs, steps, batch.output_shares)
        return loss

    def _hidden(self, tables: "_Tables", batch: StepBatch) -> Tensor:
        H = window_sums(batch.windows, tables.input_vectors(batch.inputs))
        if self.method.mean:
            H.mul_(batch.scale.view(-1, 1))
        return H.view(-1, BLOCK, tables.width)

    def _skip_gram(self, tables: "_Tables", batch: StepBatch, rate: float, measured: bool) -> Tensor | None:
        d = tables.width
        U, N = tables.output_vectors(batch)
        V = tables.input_vectors(batch.inputs).view(len(U), -1, d)
        loss, dV, dU, dN = skip_gram_gradients(batch.windows, V, U, N, self.method.negatives)
        tables.move_inputs(batch.inputs, dV.view(-1, d).mul_(-rate), batch.input_shares)
        steps = torch.cat([dU.view(-1, d), dN.view(-1, d)]).mul_(-rate)
        move_rows(tables.output, batch.outputs, steps, batch.output_shares)
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
        self.model, self.input, self.output = model, model.embed.weight.detach(), layer.weight.detach()
        self.width, self.cap = self.input.shape[1], cap
        self._rows: tuple[Tensor, Tensor] | None = None

    def output_vectors(self, batch: StepBatch) -> tuple[Tensor, Tensor]:
        """U and N, in blocks."""
        both = self.output.index_select(0, batch.outputs)
        words = batch.scale.numel()
        return both[:words].view(-1, BLOCK, self.width), both[words:].view(words // BLOCK, -1, self.width)

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


def move_rows(table: Tensor, rows: Tensor, steps: Tensor, shares: Tensor | None = None) -> None:
    """θ_r ← θ_r + Σ shares · steps of row r, in place."""
    table.index_add_(0, rows, steps if shares is None else steps.mul_(shares))


__all__ = ["INPUT_TOTAL", "OUTPUT_TOTAL", "BlockSteps", "Method", "move_rows"]
