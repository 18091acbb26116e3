r"""Batches of rows of similar length, which need little padding; batch n is a function of the lengths, the seed and n.

    order   ← a permutation, drawn anew for each epoch
    pools   ← stretches of it, each sorted by length and cut into batches
    batches ← in an order drawn anew

Rows that fill no batch at the end of an epoch are made up to one by the first of that epoch's order.
"""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Int

from cutaway.data.batches import Batches
from cutaway.data.seeded_draws import draw_permutation
from cutaway.overriding import override

_POOL = 16  # batches that are sorted by length together: more need less padding, fewer are more random


class SimilarLengths(Batches[Int[np.ndarray, "b"]]):
    """Row numbers, every row once in each epoch; ``whole`` has those of all processes."""

    def __init__(self, lengths: Int[np.ndarray, "n"], batch: int, seed: int = 0, rank: int = 0, world: int = 1) -> None:
        super().__init__(batch, seed, rank, world)
        if not len(lengths):
            raise ValueError("batches need at least one row, got none; use more data or a larger training share")
        self.lengths = lengths
        self.per_epoch = -(-len(lengths) // batch)
        self._known: tuple[int, Int[np.ndarray, "n b"]] | None = None

    @override
    def at(self, step: int) -> Int[np.ndarray, "b"]:
        return self.share(self.whole(step))

    def whole(self, step: int) -> Int[np.ndarray, "b"]:
        """The rows of batch ``step``, whoever takes which of them."""
        epoch, place = divmod(step, self.per_epoch)
        if self._known is None or self._known[0] != epoch:
            self._known = (epoch, self._batches(epoch))
        return self._known[1][place]

    def _batches(self, epoch: int) -> Int[np.ndarray, "n b"]:
        order = draw_permutation(self.seed, "rows", epoch, len(self.lengths))
        order = np.resize(order, self.per_epoch * self.batch)  # begins again where rows are missing
        pools = [order[i : i + _POOL * self.batch] for i in range(0, len(order), _POOL * self.batch)]
        rows = np.concatenate([pool[np.argsort(self.lengths[pool], kind="stable")] for pool in pools])
        return rows.reshape(self.per_epoch, self.batch)[draw_permutation(self.seed, "sets", epoch, self.per_epoch)]


def by_length(lengths: Int[np.ndarray, "n"], batch: int) -> Iterator[Int[np.ndarray, "b"]]:
    """Every row once, in batches of similar length, the last as large as is left. For evaluation."""
    order = np.argsort(lengths, kind="stable")
    for first in range(0, len(order), batch):
        yield order[first : first + batch]


__all__ = ["SimilarLengths", "by_length"]
