r"""What runs of word vectors can do, learned here or imported: list their words, be looked at, and be exported."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from cutaway.tasks.abilities.ability import Offer

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from torch import Tensor

    from cutaway.runs.run import Run
    from cutaway.tasks.subjects import Subject
    from cutaway.tasks.words.word_rows import WordRows

WORDS = "words.txt"
_CIRCLES, _ROUND = 4, 4  # words that pictures compare if none are given: four, each with the three nearest to it
_COMMON, _KNOWN = 100, 2000  # the most frequent words say little, rare ones are not learned well


class VectorRuns:
    """A mixin of recipes whose model is a `WordVectors`."""

    abilities: ClassVar[tuple[Offer, ...]] = (
        Offer("embed"),
        Offer("nearest"),
    )

    def word_rows(self, run: "Run") -> "WordRows":
        from cutaway.data.words.word_streams import read_counted_words
        from cutaway.tasks.words.word_rows import WordRows

        path = run.file(WORDS)
        if path is None:
            raise ValueError(f"a run of word vectors needs its {WORDS}, got {run.path} without it; take it from a copy")
        words, counts = read_counted_words(path)
        model: Any = run.model
        matrix = model.vectors().detach().cpu().numpy()
        if len(words) != len(matrix):
            raise ValueError(
                f"a run must have a vector for each word, got {len(words):,} words in {path} and {len(matrix):,} "
                "vectors; take both files from one copy"
            )

        def unseen(word: str) -> Any:
            made = model.vector_of_pieces(word.lower())
            return None if made is None else made.detach().cpu().numpy()

        return WordRows(words, matrix, counts.tolist() if counts.any() else None, unseen)

    def embed(self, run: "Run", inputs: Any) -> "Tensor":
        """The vector of each word; of a text with several words the mean of their unit vectors, unknown ones left out.

        A single str gives a single vector.
        """
        import torch

        from cutaway.tasks.texts.text_inputs import as_texts

        found = torch.stack([torch.from_numpy(vector_of_text(run.word_table, text)) for text in as_texts(inputs)])
        return found[0] if isinstance(inputs, str) else found

    def subject(self, run: "Run", given: str | None = None) -> "Subject":
        """The words that pictures compare: yours, else some that are frequent but not the most frequent."""
        import torch

        from cutaway.tasks.subjects import Subject

        table = run.word_table
        if given is None:
            places, words = circles(table.words, table.matrix), "some frequent words, each before those nearest to it"
        else:
            asked = dict.fromkeys(given.replace(",", " ").split())
            for word in asked:
                table.vector(word)  # says what is wrong with it
            places, words = [i for i in map(table.place, asked) if i is not None], "your words"
            if not places:
                raise ValueError(f"words to compare must be some that were learned, got {given!r}; try others")
        arguments = () if getattr(run.model, "output", None) is None else (torch.tensor([places]),)
        shown = tuple(table.words[i] for i in places)
        return Subject(arguments, words, shown, " ".join(shown))

    def export(self, run: "Run", to: str) -> "Path | None":
        """Writes the vectors in word2vec's text (.txt, .vec) or binary (.bin) format."""
        from pathlib import Path

        from cutaway.data.text.vector_files import write_vectors

        if Path(to).exists():
            raise ValueError(f"vectors are written to a new file, got {to}, which is there; choose another --to")
        return write_vectors(to, run.word_table.words, run.word_table.matrix)


def vector_of_text(table: Any, text: str) -> "np.ndarray":
    """The vector of a word, or the mean of the unit vectors of those words of a text that have one."""
    import numpy as np

    words = text.split()
    if len(words) < 2:
        return np.asarray(table.vector(text.strip()), np.float32)
    known = [table.vector(word) for word in words if table.place(word) is not None]
    if not known:
        raise ValueError(f"a text must hold a word that has a vector, got {text[:60]!r}; leave it out")
    lengths = [max(float(np.linalg.norm(vector)), 1e-12) for vector in known]
    return np.mean([vector / length for vector, length in zip(known, lengths)], 0).astype(np.float32)


def circles(words: Sequence[str], matrix: "np.ndarray") -> list[int]:
    """The rows of a few frequent words, each followed by those nearest to it among frequent words."""
    import numpy as np

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


__all__ = ["WORDS", "VectorRuns", "circles"]
