r"""Augmentation of text, word by word: other words, the same meaning, or nearly.

    word dropout       each word becomes "unknown" with probability r       keeps length and places; hides words
    deletion           each word is left out with probability r             keeps the order; loses words
    swap               pairs of words, a share r of them, change places     keeps the words; loses some of their order
    replacement        each word becomes a near one with probability r      keeps length, places and most of the meaning
    insertion          near words of a share r of them are put in           keeps words and order; adds some

No change is free: "not good" without "not" is another review, and the words nearest to "good" hold "bad" too. So try an
augmentation on validation data, and leave it out for tasks whose target it touches: deletion, swap and insertion move
words, which taggers must not do. Rows of words are lists, of strings or of token numbers; new rows come out.

Iyyer et al. 2015 (word dropout); Wei and Zou 2019 (the others). Notes: N3 §8.2 (noise on inputs).
"""

from collections.abc import Mapping, Sequence
from typing import TypeVar

import torch
from jaxtyping import Bool, Integer
from torch import Tensor

from cutaway.blocks.checks import expect_probability
from cutaway.look.charts.arrays import Values

Word = TypeVar("Word")
Rows = Sequence[Sequence[Word]]


def drop_tokens(
    tokens: Integer[Tensor, "*b t"],
    rate: float,
    unknown: int,
    keep: Bool[Tensor, "*b t"] | None = None,
    generator: torch.Generator | None = None,
) -> Integer[Tensor, "*b t"]:
    """Word dropout of a whole batch of token numbers; where ``keep`` is True (padding, special tokens) nothing changes.

    >>> drop_tokens(torch.tensor([[5, 6, 0]]), rate=1.0, unknown=1, keep=torch.tensor([[False, False, True]]))
    tensor([[1, 1, 0]])
    """
    expect_probability(rate=rate)
    dropped = torch.rand(tokens.shape, generator=generator, device=tokens.device) < rate
    return tokens.masked_fill(dropped if keep is None else dropped & ~keep, unknown)


def drop_words(
    rows: Rows[Word], rate: float, unknown: Word, generator: torch.Generator | None = None
) -> list[list[Word]]:
    """Word dropout: each word becomes ``unknown`` with probability ``rate``. Keeps the length and all places."""
    expect_probability(rate=rate)
    _expect_rows(rows)
    chosen = _chosen(rows, rate, generator)
    return [[unknown if hit else word for word, hit in zip(row, hits)] for row, hits in zip(rows, chosen)]


def delete_words(rows: Rows[Word], rate: float, generator: torch.Generator | None = None) -> list[list[Word]]:
    """Each word is left out with probability ``rate``; one stays, where all would go. Keeps the order."""
    expect_probability(rate=rate)
    _expect_rows(rows)
    chosen, saved = _chosen(rows, rate, generator), _places(rows, generator)
    new = []
    for row, hits, place in zip(rows, chosen, saved):
        kept = [word for word, hit in zip(row, hits) if not hit]
        new.append(kept or list(row[place : place + 1]))
    return new


def swap_words(rows: Rows[Word], rate: float, generator: torch.Generator | None = None) -> list[list[Word]]:
    """Of n words, round(rate · n) times two that are drawn at random change places. Keeps the words themselves."""
    expect_probability(rate=rate)
    _expect_rows(rows)
    new = [list(row) for row in rows]
    for row in new:
        pairs = torch.rand(round(rate * len(row)), 2, generator=generator) * len(row)
        for i, j in pairs.long().tolist():
            row[i], row[j] = row[j], row[i]
    return new


def replace_words(
    rows: Rows[Word], rate: float, near: Mapping[Word, Sequence[Word]], generator: torch.Generator | None = None
) -> list[list[Word]]:
    """Each word becomes one of its ``near`` words with probability ``rate``; a word without near ones stays.

    ``near`` is a thesaurus, or made of word vectors by `near_words`. Keeps the length, all places and most meaning.
    """
    expect_probability(rate=rate)
    _expect_rows(rows)
    chosen, which = _chosen(rows, rate, generator), _chosen_numbers(rows, generator)
    return [
        [_one_of(near.get(word, ()), u, word) if hit else word for word, hit, u in zip(row, hits, us)]
        for row, hits, us in zip(rows, chosen, which)
    ]


def insert_words(
    rows: Rows[Word], rate: float, near: Mapping[Word, Sequence[Word]], generator: torch.Generator | None = None
) -> list[list[Word]]:
    """Of each word, with probability ``rate``, a ``near`` one is put in at a random place. Keeps words and order."""
    expect_probability(rate=rate)
    _expect_rows(rows)
    chosen, which = _chosen(rows, rate, generator), _chosen_numbers(rows, generator)
    new = []
    for row, hits, us in zip(rows, chosen, which):
        added = [_one_of(near[word], u, word) for word, hit, u in zip(row, hits, us) if hit and near.get(word)]
        longer = list(row)
        for word, u in zip(added, torch.rand(len(added), generator=generator).tolist()):
            longer.insert(int(u * (len(longer) + 1)), word)
        new.append(longer)
    return new


def near_words(
    words: Sequence[Word], vectors: Values, count: int = 5, least: float = 0.6
) -> dict[Word, tuple[Word, ...]]:
    """For each word up to ``count`` others whose vectors are at an angle of cosine ``least`` or more, nearest first.

    >>> near_words(["cat", "dog", "tax"], [[1.0, 0.1], [1.0, 0.2], [0.0, 1.0]])
    {'cat': ('dog',), 'dog': ('cat',), 'tax': ()}
    """
    from cutaway.look.embeddings.vector_index import VectorIndex

    if len(words) != len(vectors):
        raise ValueError(f"words and vectors must go together, got {len(words)} and {len(vectors)}; pass the same rows")
    index = VectorIndex(vectors, "cosine")
    found = index.search(vectors, min(len(words), count + 1))
    near = {}
    for i, (word, rows, scores) in enumerate(zip(words, found.rows.tolist(), found.scores.tolist())):
        others = [words[j] for j, score in zip(rows, scores) if j != i and score >= least]
        near[word] = tuple(others[:count])
    return near


def _chosen(rows: Rows[Word], rate: float, generator: torch.Generator | None) -> list[list[bool]]:
    """For every word whether it is to change, in one draw for all."""
    u = torch.rand(sum(map(len, rows)), generator=generator)
    return [part.tolist() for part in (u < rate).split([len(row) for row in rows])]


def _chosen_numbers(rows: Rows[Word], generator: torch.Generator | None) -> list[list[float]]:
    u = torch.rand(sum(map(len, rows)), generator=generator)
    return [part.tolist() for part in u.split([len(row) for row in rows])]


def _places(rows: Rows[Word], generator: torch.Generator | None) -> list[int]:
    u = torch.rand(len(rows), generator=generator).tolist()
    return [int(x * len(row)) for x, row in zip(u, rows)]


def _one_of(near: Sequence[Word], u: float, word: Word) -> Word:
    return near[int(u * len(near))] if near else word


def _expect_rows(rows: Rows[Word]) -> None:
    if isinstance(rows, str) or any(isinstance(row, str) for row in rows):
        raise ValueError("rows must be lists of words, got text; split it, as in [text.split() for text in texts]")


__all__ = [
    "delete_words",
    "drop_tokens",
    "drop_words",
    "insert_words",
    "near_words",
    "replace_words",
    "swap_words",
]
