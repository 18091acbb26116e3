r"""N-grams of a text as features: its words, pairs of neighbouring words, and the letter groups inside each word.

    "not bad"  →  not · bad · ^ not · not bad · bad $ · _no not ot_ _not … bad_

^ and $ stand for the ends of the text, _ for the ends of a word. Each counts once, however often it comes. Letter
groups let a model say something of words that it never saw: tedium, tedious.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from cutaway.atomic_files import write_text
from cutaway.data.text.token_rows import TokenRows
from cutaway.data.text.word_tokens import split_words

_SHORTEST, _LONGEST = 3, 5  # letters of a group
_LEAST = 2  # texts that a letter group must be in
_LETTERS = 0.5  # strength of a letter group beside that of a word: there are many in every word
_WORD, _PAIR, _GROUP = "word", "pair", "letters"


class Ngrams:
    """The features that training texts have, each with an id; id 0 stands for none.

    A feature is written as its kind and itself: "word not", "pair not bad", "letters bad_".
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = ("", *names)
        self._ids = {name: i for i, name in enumerate(names, start=1)}

    def __len__(self) -> int:
        return len(self.names)

    @classmethod
    def of(cls, texts: Iterable[str], most: int, letters: bool = True) -> "Ngrams":
        """The features of these texts, the ``most`` frequent of them."""
        counts = Counter(name for text in texts for name in features_of(text, letters))
        usable = [name for name, n in counts.items() if n >= _LEAST or not name.startswith(_GROUP)]
        return cls(sorted(usable, key=lambda name: (-counts[name], name))[:most])

    def encode(self, text: str) -> Int[np.ndarray, "n"]:
        """The ids of a text's features that training had, in ascending order."""
        ids = (self._ids[name] for name in features_of(text) if name in self._ids)
        return np.array(sorted(ids), dtype=np.int64)

    def encode_each(self, texts: Iterable[str]) -> TokenRows:
        return TokenRows.from_rows([self.encode(text) for text in texts])

    def counts(self, rows: TokenRows, labels: Int[np.ndarray, "n"], classes: int) -> Float[np.ndarray, "f c"]:
        """How many texts of each class have each feature."""
        pairs = rows.ids.astype(np.int64) * classes + np.repeat(labels, rows.lengths)
        return np.bincount(pairs, minlength=len(self) * classes).reshape(len(self), classes).astype(np.float64)

    def strengths(self) -> Float[np.ndarray, "f"]:
        """How strongly each feature counts: a group of letters half as much as a word."""
        return np.array([_LETTERS if name.startswith(_GROUP) else 1.0 for name in self.names])

    def save(self, path: Path) -> None:
        write_text(path, "".join(f"{name}\n" for name in self.names[1:]))

    @classmethod
    def load(cls, path: Path) -> "Ngrams":
        return cls(path.read_text(encoding="utf-8").split("\n")[:-1])


def features_of(text: str, letters: bool = True) -> set[str]:
    """The features of a text, each once.

    >>> sorted(features_of("not bad", letters=False))
    ['pair ^ not', 'pair bad $', 'pair not bad', 'word bad', 'word not']
    """
    words = split_words(text)
    found = {f"{_WORD} {word}" for word in words}
    found.update(f"{_PAIR} {a} {b}" for a, b in zip(["^", *words], [*words, "$"], strict=True) if words)
    if letters:
        for word in words:
            found.update(letter_groups(word))
    return found


@lru_cache(maxsize=100_000)
def letter_groups(word: str) -> tuple[str, ...]:
    """The groups of 3 to 5 letters of a word, its ends marked.

    >>> letter_groups("bad")
    ('letters _ba', 'letters bad', 'letters ad_', 'letters _bad', 'letters bad_', 'letters _bad_')
    """
    ends = f"_{word}_"
    sizes = range(_SHORTEST, min(_LONGEST, len(ends)) + 1)
    return tuple(dict.fromkeys(f"{_GROUP} {ends[i : i + size]}" for size in sizes for i in range(len(ends) - size + 1)))


def parts_of(name: str) -> tuple[str, str]:
    """The kind of a feature and what it is.

    >>> parts_of("pair not bad")
    ('pair', 'not bad')
    """
    kind, _, rest = name.partition(" ")
    return kind, rest


__all__ = ["Ngrams", "features_of", "letter_groups", "parts_of"]
