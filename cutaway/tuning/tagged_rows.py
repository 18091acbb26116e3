r"""Words with a tag each, as a tuned model of pieces of words takes them: the first piece of a word bears its tag.

    words     Unaffable    ran
    tokens    [CLS] una ##ffa ##ble ran [SEP]
    tags            ADJ   –     –   VERB               cost = mean −log p(tag) over those

A sentence that is longer than the model's context is read in pieces. Devlin et al. 2019, §5.3.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float32, Int
from torch import Tensor, nn

from cutaway.data.batches import Batches
from cutaway.data.similar_lengths import SimilarLengths, by_length
from cutaway.data.text.tagged_sentences import Tagged
from cutaway.data.text.token_rows import TokenRows
from cutaway.data.text.tokenizers import Tokenizer
from cutaway.data.text.whole_texts import TextFrame, text_frame
from cutaway.overriding import override
from cutaway.tasks.frozen_features import KeptFeatures
from cutaway.tasks.linear_heads import even_rows
from cutaway.tuning.labelled_rows import TextFeatures, call, token_batch

_NO_TAG = -1
_TOGETHER = 64  # sentences
_NUMBERS = 1 << 24  # of the features of words that a head is fitted to, at most


class Piece(NamedTuple):
    """The tokens of a sentence or of a part of it, and where the first token of each of its words stands."""

    tokens: Int[np.ndarray, "_"]
    firsts: list[int]


@dataclass(frozen=True)
class TaggedRows:
    """Many pieces of sentences as tokens; ``marks`` are 0 where no word begins, else 1 + the number of its tag.

    A tag that training never had is the number of tags. ``sentence`` is that of each piece.
    """

    tokens: TokenRows
    marks: TokenRows
    firsts: TokenRows
    sentence: Int[np.ndarray, "n"]
    words: Int[np.ndarray, "m"]  # of each sentence

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def longer(self) -> int:
        """Sentences that are read in several pieces."""
        return len(self.tokens) - len(self.words)


def cut_sentence(tokenizer: Tokenizer, words: Sequence[str], around: TextFrame, context: int) -> list[Piece]:
    """A sentence in as few pieces as the context allows, each between the special tokens."""
    text = " ".join(words)
    ends = np.cumsum([len(word) + 1 for word in words])
    found = tokenizer.inner.encode(text, add_special_tokens=False)
    of_token = [int(np.searchsorted(ends, end - 1, "right")) for _, end in found.offsets]
    ids: list[list[int]] = [[] for _ in words]
    for word, number in zip(of_token, found.ids, strict=True):
        ids[min(word, len(words) - 1)].append(number)
    room, before = max(1, context - around.size), len(around.before)
    pieces, own, firsts = [], list[int](), list[int]()
    for pieces_of_word in ids:
        kept = pieces_of_word[:room]
        if firsts and len(own) + max(1, len(kept)) > room:
            pieces.append(Piece(around.around(own), firsts))
            own, firsts = [], []
        firsts.append(before + len(own) if kept else max(0, before - 1))  # a word without a token has none of its own
        own.extend(kept)
    return [*pieces, Piece(around.around(own), firsts)]


def encode_tagged(
    tokenizer: Tokenizer, sentences: Sequence[Tagged], tag_ids: dict[str, int], context: int
) -> TaggedRows:
    """Sentences as tokens, with their tags where they have some."""
    around = text_frame(tokenizer)
    tokens, marks, firsts, owners = [], [], [], []
    for number, sentence in enumerate(sentences):
        done = 0
        for piece in cut_sentence(tokenizer, sentence.words, around, context):
            tags = sentence.tags[done : done + len(piece.firsts)]
            mark = np.zeros(max(1, len(piece.tokens)), np.int64)
            for place, tag in zip(piece.firsts, tags, strict=True):
                if tag is not None:
                    mark[place] = 1 + tag_ids.get(tag, len(tag_ids))
            done += len(piece.firsts)
            tokens.append(piece.tokens if len(piece.tokens) else np.zeros(1, np.int64))
            marks.append(mark)
            firsts.append(np.array(piece.firsts, np.int64))
            owners.append(number)
    made = [TokenRows.from_rows(rows) for rows in (tokens, marks, firsts)]
    words = np.array([len(sentence.words) for sentence in sentences], np.int64)
    return TaggedRows(made[0], made[1], made[2], np.array(owners, np.int64), words)


class TagRows(NamedTuple):
    """The numbers of some rows, and how many tagged words each process has in the mean."""

    rows: Int[np.ndarray, "b"]
    each: float


class TaggedBatches(Batches[TagRows]):
    """Rows of similar length together."""

    def __init__(self, texts: TaggedRows, batch: int, seed: int = 0, rank: int = 0, world: int = 1) -> None:
        super().__init__(batch, seed, rank, world)
        self.order = SimilarLengths(texts.tokens.lengths, batch, seed)
        self.tagged = np.array([np.count_nonzero(texts.marks[i]) for i in range(len(texts))], np.int64)

    @override
    def at(self, step: int) -> TagRows:
        rows = self.order.at(step)
        return TagRows(self.share(rows), float(self.tagged[rows].sum()) / self.world)


def tag_logits(model: Any, texts: TaggedRows, rows: Int[np.ndarray, "b"], features: TextFeatures | None) -> Tensor:
    """The logits of every token of some rows."""
    if features is not None:
        return model.decide(features(rows).values)
    return call(model, token_batch(texts.tokens, rows, next(model.parameters()).device))


def tagged_cost(model: nn.Module, batch: TagRows, texts: TaggedRows, features: Any = None) -> Tensor:
    """Mean of −log p(tag) over the words of a batch, in nats."""
    logits = tag_logits(model, texts, batch.rows, features).float()
    marks = torch.from_numpy(texts.marks.padded(batch.rows)).to(logits.device) - 1
    total = nn.functional.cross_entropy(logits.flatten(0, 1), marks.flatten(), ignore_index=_NO_TAG, reduction="sum")
    return total / max(batch.each, 1.0)


def tagged_features(
    features: TextFeatures | KeptFeatures, texts: TaggedRows, numbers: int = _NUMBERS
) -> tuple[KeptFeatures, Int[np.ndarray, "n"]]:
    """The vectors of tokens that bear a tag, and the tags; of more than ``numbers``, those of some sentences."""
    values, tags = [], []
    fitting = numbers * len(texts) / max(features.megabytes * 2**20 / 4, 1)
    rows = even_rows(len(texts), max(1, int(fitting)))
    for some in by_length(texts.tokens.lengths[rows], _TOGETHER):
        marks = torch.from_numpy(texts.marks.padded(rows[some]))
        found = features(rows[some]).values
        values.append(found[(marks > 0).to(found.device)])
        tags.append(marks[marks > 0].numpy().astype(np.int64) - 1)
    return KeptFeatures(torch.cat(values)), np.concatenate(tags)


@torch.no_grad()
def word_probabilities(
    model: Any, texts: TaggedRows, features: TextFeatures | None = None
) -> list[Float32[np.ndarray, "_ c"]]:
    """p(tag | sentence) of every word of every sentence."""
    pieces: list[Any] = [None] * len(texts)
    for rows in by_length(texts.tokens.lengths, _TOGETHER):
        p = tag_logits(model, texts, rows, features).float().softmax(-1).cpu().numpy()
        for row, own in zip(rows.tolist(), p, strict=True):
            pieces[row] = own[texts.firsts[row].astype(np.int64)]
    starts = np.searchsorted(texts.sentence, np.arange(len(texts.words) + 1))
    return [np.concatenate(pieces[a:b]) for a, b in pairwise(starts)]


__all__ = [
    "TagRows",
    "TaggedBatches",
    "TaggedRows",
    "cut_sentence",
    "encode_tagged",
    "tagged_cost",
    "tagged_features",
    "word_probabilities",
]
