r"""A lexicon says what a tagger can know of a word: whether training had it, its letters, beginnings, ends and shape.

    "Unhappily"     word       unhappily, if training had it, else 0            figures become 0: 1987 is 0000
                    letters    U n h a p p i l y                                16 at most: 8 from either end
                    affixes    u un unh unha, y ly ily pily                     those that several words have
                    shape      Xxx                                              X upper, x lower case, d figure
                    vector     the row of its vector, where vectors are given

Id 0 is always "none of those known". Words that were never seen still have letters, affixes and a shape: that is what
they are tagged by. Ratnaparkhi 1996 (affixes and shapes); Collobert et al. 2011.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float32, Int

LETTERS = 16
AFFIXES = 4  # lengths of beginnings, and of ends
_SHAPE = 8  # signs of a shape


def normal_form(word: str) -> str:
    """A word without regard to case, and any figures alike.

    >>> normal_form("May-1987")
    'may-0000'
    """
    return re.sub(r"\d", "0", word.lower())


def letters(word: str) -> str:
    """The letters of a word that are looked at: of a long one, as many from either end.

    >>> letters("counterrevolutionaries")
    'counterrionaries'
    """
    return word if len(word) <= LETTERS else word[: LETTERS // 2] + word[-(LETTERS // 2) :]


def affixes(word: str) -> tuple[str, ...]:
    """Beginnings and ends of one to four letters, each with a sign that says which it is.

    >>> affixes("Was")
    ('w-', 'wa-', 'was-', 'was-', '-s', '-as', '-was', '-was')
    """
    w = normal_form(word)
    return (*(f"{w[:n]}-" for n in range(1, AFFIXES + 1)), *(f"-{w[-n:]}" for n in range(1, AFFIXES + 1)))


def shape(word: str) -> str:
    """How a word is written: upper case, lower case, figures, other signs; never more than two of a kind in a row.

    >>> shape("Unhappily"), shape("U.S."), shape("1987-ish")
    ('Xxx', 'X.X.', 'dd-xx')
    """
    kinds = "".join("X" if c.isupper() else "x" if c.isalpha() else "d" if c.isdigit() else c for c in word)
    return re.sub(r"(.)\1{2,}", r"\1\1", kinds)[:_SHAPE]


class Spellings(NamedTuple):
    """Different words as ids: one row each."""

    word: Int[np.ndarray, "u"]
    characters: Int[np.ndarray, "u c"]
    affixes: Int[np.ndarray, "u a"]
    shape: Int[np.ndarray, "u"]
    vector: Int[np.ndarray, "u"]
    hide: Float32[np.ndarray, "u"]  # the chance that training takes the word for one never seen


@dataclass(frozen=True)
class Lexicon:
    """What is known of words and tags; the n-th name of a list has id n + 1, a tag id n."""

    tags: tuple[str, ...]
    words: tuple[str, ...]
    counts: tuple[int, ...]  # of the words
    characters: tuple[str, ...]
    affixes: tuple[str, ...]
    shapes: tuple[str, ...]
    vectors: tuple[str, ...] = ()  # words that have a vector

    @classmethod
    def from_sentences(
        cls, words: Iterable[Sequence[str]], tags: Iterable[Sequence[str | None]], vectors: Sequence[str] = ()
    ) -> "Lexicon":
        """What training sentences tell. Letters, affixes and shapes that only one word has are not learned."""
        spelled = Counter(word for sentence in words for word in sentence)
        counts: Counter[str] = Counter()
        for word, count in spelled.items():
            counts[normal_form(word)] += count
        known = sorted(counts, key=lambda word: (-counts[word], word))
        return cls(
            tags=tuple(sorted({tag for sentence in tags for tag in sentence if tag is not None})),
            words=tuple(known),
            counts=tuple(counts[word] for word in known),
            characters=_frequent(c for word in spelled for c in set(word)),
            affixes=_frequent(a for word in spelled for a in set(affixes(word))),
            shapes=_frequent(shape(word) for word in spelled),
            vectors=tuple(vectors),
        )

    def encode(self, words: Sequence[str], hide: float = 0.0) -> Spellings:
        """These words as ids. ``hide`` = a makes a word of count n hidden in training with chance a / (a + n)."""
        ids = self._ids
        characters = np.zeros((len(words), LETTERS), np.int64)
        for i, word in enumerate(words):
            seen = letters(word)
            characters[i, : len(seen)] = [ids["characters"].get(c, 1) for c in seen]
        normal = [normal_form(word) for word in words]
        word_ids = np.array([ids["words"].get(word, 0) for word in normal], np.int64)
        counts = np.array([0, *self.counts])[word_ids]
        return Spellings(
            word_ids,
            characters,
            np.array([[ids["affixes"].get(a, 0) for a in affixes(word)] for word in words], np.int64).reshape(
                -1, 2 * AFFIXES
            ),
            np.array([ids["shapes"].get(shape(word), 0) for word in words], np.int64),
            np.array([self._vector(word) for word in words], np.int64),
            (hide / np.maximum(hide + counts, 1e-9)).astype(np.float32),
        )

    def _vector(self, word: str) -> int:
        """Its own vector, else that of the word in lower case."""
        rows = self._ids["vectors"]
        return rows.get(word) or rows.get(word.lower(), 0)

    def knows(self, word: str) -> bool:
        """Whether training had the word, in whatever case."""
        return normal_form(word) in self._ids["words"]

    @cached_property
    def tag_ids(self) -> dict[str, int]:
        return {tag: i for i, tag in enumerate(self.tags)}

    @cached_property
    def _ids(self) -> dict[str, dict[str, int]]:
        first = {"characters": 2}  # 0 is after the end of a word, 1 a letter that is not known
        names = ("words", "characters", "affixes", "shapes", "vectors")
        return {name: {x: i for i, x in enumerate(getattr(self, name), first.get(name, 1))} for name in names}

    @property
    def sizes(self) -> dict[str, int]:
        """How many ids there are of each kind, those of none known among them."""
        return {
            "words": len(self.words) + 1,
            "characters": len(self.characters) + 2,
            "affixes": len(self.affixes) + 1,
            "shapes": len(self.shapes) + 1,
            "vectors": len(self.vectors) + 1 if self.vectors else 0,
        }

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Lexicon":
        return cls(**{name: tuple(value) for name, value in values.items()})


def _frequent(names: Iterable[str], least: int = 2) -> tuple[str, ...]:
    counts = Counter(names)
    return tuple(sorted(name for name, count in counts.items() if count >= least))


__all__ = ["AFFIXES", "LETTERS", "Lexicon", "Spellings", "affixes", "letters", "normal_form", "shape"]
