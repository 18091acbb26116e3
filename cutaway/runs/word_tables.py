r"""A word table: the words of a run and their vectors, asked for the nearest words and for analogies.

    nearest(w)              the words v with the largest cosine v·w / (‖v‖ ‖w‖)
    king − man + woman      the words nearest to Σ ± unit vectors of the words asked, which do not count themselves

Mikolov, Yih and Zweig 2013 (analogies by addition, "3CosAdd").
"""

import difflib
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from cutaway.look.embeddings.vector_index import VectorIndex, unit
from cutaway.tasks.words.word_rows import Unseen

if TYPE_CHECKING:
    from cutaway.runs.run import Run

_MANY = 50_000  # words from which only those with the same first letter are compared by spelling
_SIGNS = {"+": 1, "-": -1, "−": -1}


class WordTable:
    """Words and their vectors. ``unseen(word)`` makes a vector for a word that is not there, or gives None."""

    def __init__(
        self,
        words: Sequence[str],
        matrix: Float[np.ndarray, "n d"],
        counts: Sequence[int] | None = None,
        unseen: Unseen | None = None,
    ) -> None:
        self.words, self.matrix, self.counts, self.unseen = list(words), matrix, counts, unseen
        self.places: dict[str, int] = {}
        for i, word in enumerate(self.words):
            self.places.setdefault(word, i)
        self._approximate: VectorIndex | None = None

    @cached_property
    def index(self) -> VectorIndex:
        return VectorIndex(self.matrix)

    def place(self, word: str) -> int | None:
        """The row of a word: as it is written, in small letters, or with the space that tokens begin with."""
        for form in (word, word.lower(), f" {word}", f"Ġ{word}"):
            if form in self.places:
                return self.places[form]
        return None

    def vector(self, word: str) -> Float[np.ndarray, "d"]:
        """The vector of a word; of one never seen, from its pieces, if the run knows pieces."""
        if not isinstance(word, str) or not word.strip():
            raise ValueError(f"a word must be a str with letters, got {word!r}; try run.nearest('word')")
        place = self.place(word)
        if place is not None:
            return self.matrix[place]
        made = None if self.unseen is None else self.unseen(word)
        if made is None:
            raise ValueError(f"a word must be one that has a vector, got {word!r}; {self._advice(word)}")
        return np.asarray(made, self.matrix.dtype)

    def _advice(self, word: str) -> str:
        near = nearest_spellings(word, self.words)
        if near:
            return f"did you mean {' or '.join(map(repr, near))}?"
        return f"there are {len(self.words):,} words, the first of them {', '.join(map(repr, self.words[:3]))}"

    def nearest(
        self, words: str | Sequence[str], k: int = 10, negative: str | Sequence[str] = (), approximate: bool = False
    ) -> list[tuple[str, float]]:
        """The ``k`` nearest words with their cosines, the nearest first; none of those that were asked."""
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise ValueError(f"k must be a whole number of at least 1, got {k!r}; try k=10")
        plus, minus = read_question(words)
        minus += [negative] if isinstance(negative, str) else list(negative)
        if not plus and not minus:
            raise ValueError("nearest needs a word, got none; try run.nearest('word')")
        vectors = unit(np.stack([self.vector(word) for word in plus + minus]))
        asked = vectors[: len(plus)].sum(0) - vectors[len(plus) :].sum(0)
        own = {self.place(word) for word in plus + minus}
        found = self._search(approximate).search(asked[None], min(len(self.words), k + len(own)))
        pairs = zip(found.rows[0].tolist(), found.scores[0].tolist())
        return [(self.words[i], float(score)) for i, score in pairs if i not in own][:k]

    def _search(self, approximate: bool) -> VectorIndex:
        if not approximate:
            return self.index
        if self._approximate is None:
            self._approximate = VectorIndex(self.matrix, kind="hnsw")
        return self._approximate


def read_question(words: str | Sequence[str]) -> tuple[list[str], list[str]]:
    """The words to add and to subtract: of a list all are added, of a text with signs between spaces as it says.

    >>> read_question("king - man + woman")
    (['king', 'woman'], ['man'])
    >>> read_question("well-known")
    (['well-known'], [])
    """
    if not isinstance(words, str):
        return list(words), []
    parts = words.split()
    if not any(part in _SIGNS for part in parts):
        return [words], []
    found: tuple[list[str], list[str]] = ([], [])
    sign, waiting = 1, True
    for i, part in enumerate(parts):
        if part in _SIGNS:
            if waiting and i:
                raise ValueError(f"a sign must stand between two words, got {words!r}; write it as king - man + woman")
            sign, waiting = _SIGNS[part], True
        elif not waiting:
            raise ValueError(f"two words need a sign between them, got {words!r}; write it as king - man + woman")
        else:
            found[0 if sign > 0 else 1].append(part)
            waiting = False
    if waiting:
        raise ValueError(f"a sign must stand before a word, got {words!r}; write it as king - man + woman")
    return found


def nearest_spellings(word: str, words: Sequence[str], count: int = 3) -> list[str]:
    """Words that are spelled alike."""
    if len(words) > _MANY:
        words = [other for other in words if other[:1] == word[:1] and abs(len(other) - len(word)) <= 2]
    return difflib.get_close_matches(word.lower(), words, n=count, cutoff=0.7)


def nearest(
    run: "Run",
    words: str | Sequence[str],
    k: int = 10,
    negative: str | Sequence[str] = (),
    approximate: bool = False,
    among: Sequence[str] | None = None,
) -> list[tuple[str, float]]:
    """The ``k`` words nearest to a word, or to a sum of words less the ``negative`` ones, by cosine.

    ``run.nearest("king - man + woman")`` is ``run.nearest(["king", "woman"], negative=["man"])``. With ``among``,
    texts, the nearest of these to the text ``words``, by the vectors of `embed`.
    """
    if among is not None:
        from cutaway.runs.embedded_items import nearest_texts

        return nearest_texts(run, words, among, k, negative, approximate)
    return run.word_table.nearest(words, k, negative, approximate)


__all__ = ["WordTable", "nearest", "nearest_spellings", "read_question"]
