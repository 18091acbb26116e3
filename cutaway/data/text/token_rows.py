r"""Pairs of token rows of different lengths, and batches of similar lengths, which need little padding."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Int, Integer

from cutaway.data.batches import Batches
from cutaway.data.seeded_draws import draw_permutation
from cutaway.overriding import override

PAD, START, END = 0, 1, 2
_POOL = 64  # batches that are sorted by length together: more make them evener, fewer make them more random


class PairBatch(NamedTuple):
    """Sources, and targets from <start> to <end>, each padded with 0 to the longest of the batch.

    ``each`` is how many target tokens a process predicts, in the mean over the processes that share the batch. A loss
    summed over one process's part is divided by it, so that the mean over processes is the mean over all tokens.
    """

    source: Int[np.ndarray, "b s"]
    target: Int[np.ndarray, "b t"]
    each: float


class TokenPairs:
    """Many pairs of token rows, each row in one long array with the places where its texts begin."""

    def __init__(self, source: "TokenRows", target: "TokenRows") -> None:
        assert len(source) == len(target)
        self.source, self.target = source, target

    def __len__(self) -> int:
        return len(self.source)

    @override
    def __repr__(self) -> str:
        return f"TokenPairs({len(self):,})"

    def batch(self, rows: Int[np.ndarray, "b"]) -> PairBatch:
        """These pairs, padded."""
        target = self.target.padded(rows)
        return PairBatch(self.source.padded(rows), target, float((target[:, 1:] != PAD).sum()))

    def within(self, context: int) -> "TokenPairs":
        """The pairs of which neither text, with its special tokens, is longer than ``context`` tokens."""
        fits = np.maximum(self.source.lengths, self.target.lengths) <= context
        if fits.all():
            return self
        kept = np.flatnonzero(fits).tolist()
        sides = (TokenRows.from_rows([rows[i].astype(np.int64) for i in kept]) for rows in (self.source, self.target))
        return TokenPairs(*sides)


class TokenRows:
    """Rows of different lengths in one array; row i is ids[starts[i] : starts[i + 1]]."""

    def __init__(self, ids: Integer[np.ndarray, "n"], starts: Int[np.ndarray, "m"]) -> None:
        self.ids, self.starts = ids, starts
        self.lengths = np.diff(starts)

    @classmethod
    def from_rows(cls, rows: Sequence[Int[np.ndarray, "_"]]) -> "TokenRows":
        starts = np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=np.int64)]).astype(np.int64)
        return cls(np.concatenate([np.empty(0, np.int64), *rows]).astype(np.uint32), starts)

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, i: int) -> Integer[np.ndarray, "_"]:
        return self.ids[self.starts[i] : self.starts[i + 1]]

    def padded(self, rows: Int[np.ndarray, "b"]) -> Int[np.ndarray, "b t"]:
        """These rows side by side, with 0 after the end of the shorter ones."""
        starts, lengths = self.starts[rows], self.lengths[rows]
        places = np.arange(lengths.max(initial=0))
        inside = places < lengths[:, None]
        out = np.full(inside.shape, PAD, np.int64)
        out[inside] = self.ids[(starts[:, None] + places)[inside]]
        return out


class PairBatches(Batches[PairBatch]):
    """Pairs of similar length together, every pair once in each epoch but for the last few that fill no batch.

    Each epoch draws an order, sorts stretches of it by length, cuts those into batches and draws the batches' order.
    """

    def __init__(self, pairs: TokenPairs, batch: int, seed: int = 0, rank: int = 0, world: int = 1) -> None:
        super().__init__(batch, seed, rank, world)
        if len(pairs) < batch:
            raise ValueError(
                f"a batch must not be larger than the data, got batch={batch} for {len(pairs)} pairs; "
                f"try batch={len(pairs)}"
            )
        self.pairs = pairs
        self.per_epoch = len(pairs) // batch
        self._known: tuple[int, Int[np.ndarray, "n b"]] | None = None

    @override
    def at(self, step: int) -> PairBatch:
        epoch, place = divmod(step, self.per_epoch)
        if self._known is None or self._known[0] != epoch:
            self._known = (epoch, self._batches(epoch))
        # Padded to the longest of the whole batch, so that the shares of several processes have one width.
        whole = self.pairs.batch(self._known[1][place])
        return PairBatch(self.share(whole.source), self.share(whole.target), whole.each / self.world)

    def _batches(self, epoch: int) -> Int[np.ndarray, "n b"]:
        order = draw_permutation(self.seed, "pool", epoch, len(self.pairs))[: self.per_epoch * self.batch]
        pools = [order[i : i + _POOL * self.batch] for i in range(0, len(order), _POOL * self.batch)]
        source, target = self.pairs.source.lengths, self.pairs.target.lengths
        rows = np.concatenate([pool[np.lexsort((source[pool], target[pool]))] for pool in pools])
        return rows.reshape(self.per_epoch, self.batch)[draw_permutation(self.seed, "batches", epoch, self.per_epoch)]


def every_pair(pairs: TokenPairs, batch: int) -> Iterator[PairBatch]:
    """Every pair once, in batches of similar length, the last as large as is left. For evaluation."""
    order = np.lexsort((pairs.source.lengths, pairs.target.lengths))
    for first in range(0, len(order), batch):
        yield pairs.batch(order[first : first + batch])


__all__ = ["END", "PAD", "START", "PairBatch", "PairBatches", "TokenPairs", "TokenRows", "every_pair"]
