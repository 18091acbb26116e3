r"""Vectors of words as a run has them, learned here or imported: listed, looked at, averaged over texts, exported."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from cutaway.data.text.vector_files import write_vectors
from cutaway.models.words.word_vectors import WordVectors
from cutaway.overriding import override
from cutaway.tasks.learner import Learner
from cutaway.tasks.subjects import Subject
from cutaway.tasks.texts.text_inputs import as_texts
from cutaway.tasks.words.vectors import WORDS, KnownWords
from cutaway.tasks.words.word_rows import WordRows

_CIRCLES, _ROUND = 4, 4  # words that pictures compare if none are given: four, each with the three nearest to it
_COMMON, _KNOWN = 100, 2000  # the most frequent words say little, rare ones are not learned well


class VectorTable(Learner):
    """A `WordVectors` and the words that its rows belong to."""

    task: KnownWords
    model: WordVectors

    def word_rows(self) -> WordRows:
        """The words, a vector for each, and what makes one of the pieces of a word never seen."""
        words, counts = self.task.words
        matrix = self.model.vectors().detach().cpu().numpy()
        if len(words) != len(matrix):
            raise ValueError(
                f"a run must have a vector for each word, got {len(words):,} words in {self.run.path / WORDS} and "
                f"{len(matrix):,} vectors; take both files from one copy"
            )
        return WordRows(words, matrix, counts.tolist() if counts.any() else None, self._unseen)

    def _unseen(self, word: str) -> Any:
        made = self.model.vector_of_pieces(word.lower())
        return None if made is None else made.detach().cpu().numpy()

    def embed(self, inputs: Any) -> Tensor:
        """The vector of each word; of a text with several words the mean of their unit vectors, unknown ones left out.

        A single str gives a single vector.
        """
        table = self.run.word_table
        found = torch.stack([torch.from_numpy(vector_of_text(table, text)) for text in as_texts(inputs)])
        return found[0] if isinstance(inputs, str) else found

    @override
    def subject(self, given: str | None = None) -> Subject:
        """The words that pictures compare: yours, else some that are frequent but not the most frequent."""
        table = self.run.word_table
        if given is None:
            places, words = circles(table.words, table.matrix), "some frequent words, each before those nearest to it"
        else:
            asked = dict.fromkeys(given.replace(",", " ").split())
            for word in asked:
                table.vector(word)  # says what is wrong with it
            places, words = [i for i in map(table.place, asked) if i is not None], "your words"
            if not places:
                raise ValueError(f"words to compare must be some that were learned, got {given!r}; try others")
        arguments = () if getattr(self.model, "output", None) is None else (torch.tensor([places]),)
        shown = tuple(table.words[i] for i in places)
        return Subject(arguments, words, shown, " ".join(shown))

    def export(self, to: str) -> Path | None:
        """Writes the vectors in word2vec's text (.txt, .vec) or binary (.bin) format."""
        if Path(to).exists():
            raise ValueError(f"vectors are written to a new file, got {to}, which is there; choose another --to")
        return write_vectors(to, self.run.word_table.words, self.run.word_table.matrix)


def vector_of_text(table: Any, text: str) -> np.ndarray:
    """The vector of a word, or the mean of the unit vectors of those words of a text that have one."""
    words = text.split()
    if len(words) < 2:
        return np.asarray(table.vector(text.strip()), np.float32)
    known = [table.vector(word) for word in words if table.place(word) is not None]
    if not known:
        raise ValueError(f"a text must hold a word that has a vector, got {text[:60]!r}; leave it out")
    lengths = [max(float(np.linalg.norm(vector)), 1e-12) for vector in known]
    return np.mean([vector / length for vector, length in zip(known, lengths)], 0).astype(np.float32)


def circles(words: Sequence[str], matrix: np.ndarray) -> list[int]:
    """The rows of a few frequent words, each followed by those nearest to it among frequent words."""
    frequent = range(min(_COMMON, len(words) // 2), min(_KNOWN, len(words)))
    rows = np.array([i for i in frequent if words[i].isalpha() and len(words[i]) > 3] or list(frequent))
    x = matrix[rows] / np.maximum(np.linalg.norm(matrix[rows], axis=1, keepdims=True), 1e-12)
    free, found = np.ones(len(rows), bool), list[int]()
    for _ in range(_CIRCLES):
        if not free.any():
            break
        near = x @ x[free.argmax()]  # of those that are left, the most frequent
        near[~free] = -np.inf
        near[free.argmax()] = np.inf
        circle = [i for i in np.argsort(-near, kind="stable")[:_ROUND].tolist() if free[i]]
        free[circle] = False
        found += rows[circle].tolist()
    return found
