r"""Batches of tagged sentences of similar length, in which every different word is spelled out once."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float32, Int

from cutaway.data.batches import Batches
from cutaway.data.seeded_draws import draw_permutation
from cutaway.data.text.lexicon import Lexicon, Spellings
from cutaway.data.text.tagged_sentences import Tagged
from cutaway.overriding import override

NO_TAG = -1  # a word whose tag is not given, and places after the end of a sentence
_POOL = 64  # batches that are sorted by length together


class TagBatch(NamedTuple):
    """Sentences side by side. ``places`` say which of the different words below stands where.

    ``tags`` are −1 where none is given, and the number of tags for one that training never had. ``each`` is how many
    tags a process predicts, in the mean over the processes that share the batch.
    """

    words: Int[np.ndarray, "b t"]
    places: Int[np.ndarray, "b t"]
    characters: Int[np.ndarray, "u c"]
    affixes: Int[np.ndarray, "u a"]
    shapes: Int[np.ndarray, "u"]
    vectors: Int[np.ndarray, "u"]
    lengths: Int[np.ndarray, "b"]
    hide: Float32[np.ndarray, "b t"]
    tags: Int[np.ndarray, "b t"]
    each: float


class EncodedSentences:
    """Sentences as numbers: the different words of all of them spelled out, and where each stands."""

    def __init__(self, sentences: Sequence[Tagged], lexicon: Lexicon, hide: float = 0.0) -> None:
        types = {word: i for i, word in enumerate(dict.fromkeys(w for s in sentences for w in s.words))}
        self.lexicon = lexicon
        self.spellings: Spellings = lexicon.encode(list(types), hide)
        unseen = len(lexicon.tags)
        tag_ids = {tag: lexicon.tag_ids.get(tag, unseen) for s in sentences for tag in s.tags if tag is not None}
        self.lengths = np.array([len(s.words) for s in sentences], np.int64)
        starts = np.concatenate([[0], np.cumsum(self.lengths)])
        self.starts = starts[:-1].astype(np.int64)
        self.types = np.array([types[w] for s in sentences for w in s.words], np.int64)
        self.tags = np.array([NO_TAG if tag is None else tag_ids[tag] for s in sentences for tag in s.tags], np.int64)

    def __len__(self) -> int:
        return len(self.lengths)

    def batch(self, rows: Int[np.ndarray, "b"]) -> TagBatch:
        """These sentences, padded to the longest."""
        lengths = self.lengths[rows]
        steps = np.arange(lengths.max())
        inside = steps < lengths[:, None]
        at = np.where(inside, self.starts[rows][:, None] + steps, self.starts[rows][:, None])
        tags = np.where(inside, self.tags[at], NO_TAG)
        used, places = np.unique(self.types[at], return_inverse=True)
        own = Spellings(*(part[used] for part in self.spellings))
        places = places.reshape(at.shape)
        longest = max(1, int((own.characters > 0).sum(1).max()))
        return TagBatch(
            own.word[places],
            places,
            own.characters[:, :longest],
            own.affixes,
            own.shape,
            own.vector,
            lengths,
            own.hide[places],
            tags,
            float((tags != NO_TAG).sum()),
        )


class TagBatches(Batches[TagBatch]):
    """Sentences of similar length together, every sentence once in each epoch but for the last few that fill no batch.

    Each epoch draws an order, sorts stretches of it by length, cuts those into batches and draws the batches' order.
    """

    def __init__(self, sentences: EncodedSentences, batch: int, seed: int = 0, rank: int = 0, world: int = 1) -> None:
        super().__init__(batch, seed, rank, world)
        if len(sentences) < batch:
            raise ValueError(
                f"a batch must not be larger than the data, got batch={batch} for {len(sentences)} sentences; "
                f"try batch={len(sentences)}"
            )
        self.sentences = sentences
        self.per_epoch = len(sentences) // batch
        self._known: tuple[int, Int[np.ndarray, "n b"]] | None = None

    @override
    def at(self, step: int) -> TagBatch:
        epoch, place = divmod(step, self.per_epoch)
        if self._known is None or self._known[0] != epoch:
            self._known = (epoch, self._batches(epoch))
        rows = self._known[1][place]
        if self.world == 1:
            return self.sentences.batch(rows)
        tags = sum(int((self.sentences.tags[a : a + n] != NO_TAG).sum()) for a, n in self._spans(rows))
        return self.sentences.batch(self.share(rows))._replace(each=tags / self.world)

    def _spans(self, rows: Int[np.ndarray, "b"]) -> Iterator[tuple[int, int]]:
        return zip(self.sentences.starts[rows].tolist(), self.sentences.lengths[rows].tolist(), strict=True)

    def _batches(self, epoch: int) -> Int[np.ndarray, "n b"]:
        order = draw_permutation(self.seed, "pool", epoch, len(self.sentences))[: self.per_epoch * self.batch]
        pools = [order[i : i + _POOL * self.batch] for i in range(0, len(order), _POOL * self.batch)]
        rows = np.concatenate([pool[np.argsort(self.sentences.lengths[pool], kind="stable")] for pool in pools])
        return rows.reshape(self.per_epoch, self.batch)[draw_permutation(self.seed, "batches", epoch, self.per_epoch)]


def every_sentence(sentences: EncodedSentences, batch: int = 64) -> Iterator[tuple[Int[np.ndarray, "b"], TagBatch]]:
    """Every sentence once, in batches of similar length, with the numbers of their sentences. For evaluation."""
    order = np.argsort(sentences.lengths, kind="stable")
    for first in range(0, len(order), batch):
        rows = order[first : first + batch]
        yield rows, sentences.batch(rows)


__all__ = ["NO_TAG", "EncodedSentences", "TagBatch", "TagBatches", "every_sentence"]
