r"""Scores of word vectors: do they agree with people on what is alike, and do they solve analogies?

    similarity      Spearman's rank correlation of cos(v_a, v_b) with people's ratings, over pairs of words
    analogies       the share of "a is to b as c is to ?" where b − a + c, of unit vectors, is nearest to d

As in gensim: words in any case count as the same, pairs and questions with a word that has no vector are left out (and
counted), and a question's own three words cannot be its answer.
Finkelstein et al. 2002 (WordSim-353); Mikolov, Yih and Zweig 2013 (analogies).
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

_AT_ONCE = 512  # questions


class Similarity(NamedTuple):
    """Spearman's correlation with people's ratings, over ``pairs`` pairs; ``left_out`` had a word without a vector."""

    correlation: float
    pairs: int
    left_out: int


class AnalogyScore(NamedTuple):
    """The share of analogies solved, of ``questions``; ``left_out`` had a word without a vector. Also by section."""

    accuracy: float
    questions: int
    left_out: int
    sections: dict[str, tuple[int, int]]


def similarity(words: Sequence[str], matrix: Any, pairs: Iterable[tuple[str, str, float]]) -> Similarity:
    """How well the cosines of pairs of words are ordered as people's ratings of them.

    >>> vectors = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]]
    >>> rated = [("cat", "dog", 9.0), ("Cat", "law", 1.0), ("dog", "law", 2.0), ("cat", "ox", 5.0)]
    >>> similarity(["cat", "dog", "law"], vectors, rated)
    Similarity(correlation=1.0, pairs=3, left_out=1)
    """
    places, x = _places(words), _unit_rows(words, matrix)
    rated = list(pairs)
    known = [
        (places[a.lower()], places[b.lower()], r) for a, b, r in rated if a.lower() in places and b.lower() in places
    ]
    if len(known) < 2:
        raise ValueError(
            f"similarity needs at least two pairs whose words have vectors, got {len(known)} of {len(rated)}; train on "
            "more text or give another file"
        )
    first, second, ratings = (np.array(part) for part in zip(*known))
    cosines = (x[first.astype(int)] * x[second.astype(int)]).sum(1)
    return Similarity(spearman(cosines, ratings), len(known), len(rated) - len(known))


def analogies(words: Sequence[str], matrix: Any, questions: Iterable[Sequence[Any]]) -> AnalogyScore:
    """How many questions (a, b, c, d[, section]) are answered by the word nearest to b − a + c."""
    places, x = _places(words), _unit_rows(words, matrix)
    asked = list(questions)
    known = [q for q in asked if all(word.lower() in places for word in q[:4])]
    if not known:
        raise ValueError(
            f"analogies need at least one question whose words have vectors, got none of {len(asked)}; train on more "
            "text or give another file"
        )
    rows = np.array([[places[word.lower()] for word in q[:4]] for q in known])
    right = np.concatenate([_solved(x, part) for part in np.array_split(rows, -(-len(rows) // _AT_ONCE))])
    sections: dict[str, tuple[int, int]] = {}
    for q, solved in zip(known, right.tolist()):
        name = q[4] if len(q) > 4 else ""
        before = sections.get(name, (0, 0))
        sections[name] = (before[0] + solved, before[1] + 1)
    return AnalogyScore(float(right.mean()), len(known), len(asked) - len(known), sections)


def _solved(x: np.ndarray, rows: np.ndarray) -> np.ndarray:
    scores = (x[rows[:, 1]] - x[rows[:, 0]] + x[rows[:, 2]]) @ x.T
    np.put_along_axis(scores, rows[:, :3], -np.inf, 1)
    return scores.argmax(1) == rows[:, 3]


def _unit_rows(words: Sequence[str], matrix: Any) -> np.ndarray:
    """The vectors at length 1, one for each word; a vector of zeros stays what it is."""
    x = np.asarray(matrix)
    if x.ndim != 2 or len(x) != len(words):
        raise ValueError(
            f"vectors must be (words, numbers), one for each of the {len(words):,} words, got the shape {x.shape}; "
            "take both from one table"
        )
    lengths = np.linalg.norm(x, axis=1, keepdims=True)
    return x / np.where(lengths > 0, lengths, 1.0)


def _places(words: Sequence[str]) -> dict[str, int]:
    """The row of each word in small letters; of several that differ in case alone, the first."""
    places: dict[str, int] = {}
    for i, word in enumerate(words):
        places.setdefault(word.lower(), i)
    return places


def spearman(x: np.ndarray, y: np.ndarray) -> float:
    """The correlation of ranks, equal values sharing their mean rank; 0 where one of the two is constant.

    >>> spearman(np.array([1.0, 2.0, 30.0]), np.array([5.0, 6.0, 7.0]))
    1.0
    """
    a, b = _ranks(x), _ranks(y)
    a, b = a - a.mean(), b - b.mean()
    spread = np.sqrt((a * a).sum() * (b * b).sum())
    return float((a * b).sum() / spread) if spread else 0.0


def _ranks(x: np.ndarray) -> np.ndarray:
    _, place, counts = np.unique(x, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[place]


__all__ = ["AnalogyScore", "Similarity", "analogies", "similarity", "spearman"]
