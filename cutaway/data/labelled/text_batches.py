r"""Texts as a classifier takes them, rows of token ids and of n-gram ids, and batches of texts of similar length."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from cutaway.data.batches import Batches
from cutaway.data.seeded_draws import draw_permutation
from cutaway.data.text.token_rows import TokenRows
from cutaway.overriding import override

_POOL = 16  # batches that are sorted by length together: more need less padding, fewer are more random


class TextBatch(NamedTuple):
    """Texts, padded with 0 to the longest of the batch, and their labels."""

    tokens: Int[np.ndarray, "b t"]
    features: Int[np.ndarray, "b n"]
    labels: Int[np.ndarray, "b"]


class EncodedTexts(NamedTuple):
    """Many texts: their tokens, their n-grams and their labels."""

    tokens: TokenRows
    features: TokenRows
    labels: Int[np.ndarray, "n"]

    def batch(self, rows: Int[np.ndarray, "b"]) -> TextBatch:
        """These texts, padded."""
        return TextBatch(self.tokens.padded(rows), self.features.padded(rows), self.labels[rows])


class TextBatches(Batches[TextBatch]):
    """Texts of similar length together, every text once in each epoch.

    Each epoch draws an order, sorts stretches of it by length, cuts those into batches and draws the batches' order.
    Texts that fill no batch at the end of an epoch are made up to one by the first of that epoch's order.
    """

    def __init__(self, texts: EncodedTexts, batch: int, seed: int = 0, rank: int = 0, world: int = 1) -> None:
        super().__init__(batch, seed, rank, world)
        if not len(texts.labels):
            raise ValueError("batches need at least one text, got none; use more texts or a larger training share")
        self.texts = texts
        self.per_epoch = -(-len(texts.labels) // batch)
        self._known: tuple[int, Int[np.ndarray, "n b"]] | None = None

    @override
    def at(self, step: int) -> TextBatch:
        epoch, place = divmod(step, self.per_epoch)
        if self._known is None or self._known[0] != epoch:
            self._known = (epoch, self._batches(epoch))
        # Padded to the longest of the whole batch, so that the shares of several processes have one width.
        whole = self.texts.batch(self._known[1][place])
        return TextBatch(*(self.share(part) for part in whole))

    def _batches(self, epoch: int) -> Int[np.ndarray, "n b"]:
        order = draw_permutation(self.seed, "texts", epoch, len(self.texts.labels))
        order = np.resize(order, self.per_epoch * self.batch)  # begins again where texts are missing
        lengths = self.texts.tokens.lengths
        pools = [order[i : i + _POOL * self.batch] for i in range(0, len(order), _POOL * self.batch)]
        rows = np.concatenate([pool[np.argsort(lengths[pool], kind="stable")] for pool in pools])
        return rows.reshape(self.per_epoch, self.batch)[draw_permutation(self.seed, "textsets", epoch, self.per_epoch)]


def every_text(texts: EncodedTexts, batch: int) -> Iterator[tuple[Int[np.ndarray, "b"], TextBatch]]:
    """Every text once, in batches of similar length, each with the numbers of its rows. For evaluation."""
    order = np.argsort(texts.tokens.lengths, kind="stable")
    for first in range(0, len(order), batch):
        rows = order[first : first + batch]
        yield rows, texts.batch(rows)


__all__ = ["EncodedTexts", "TextBatch", "TextBatches", "every_text"]
