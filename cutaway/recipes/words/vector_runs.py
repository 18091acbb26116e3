r"""What runs of word vectors can do, learned here or imported: list their words, be looked at, and be exported."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from cutaway.recipes.subjects import Subject
    from cutaway.recipes.words.word_rows import WordRows
    from cutaway.runs.run import Run

WORDS = "words.txt"
_COMPARED = 12  # words that pictures compare if none are given
_COMMON = 50  # words that are left out there: the most frequent say little


class VectorRuns:
    """A mixin of recipes whose model is a `WordVectors`."""

    def word_rows(self, run: "Run") -> "WordRows":
        from cutaway.data.words.word_streams import read_counted_words
        from cutaway.recipes.words.word_rows import WordRows

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

    def subject(self, run: "Run", given: str | None = None) -> "Subject":
        """The words that pictures compare: yours, else some that are frequent but not the most frequent."""
        import torch

        from cutaway.recipes.subjects import Subject

        table = run.word_table
        if given is None:
            places = list(range(min(_COMMON, len(table.words) // 2), len(table.words)))
            places = [i for i in places if table.words[i].isalpha() and len(table.words[i]) > 2] or places
            places, words = places[:_COMPARED], "some frequent words"
        else:
            asked = dict.fromkeys(given.replace(",", " ").split())
            for word in asked:
                table.vector(word)  # says what is wrong with it
            places, words = [i for i in map(table.place, asked) if i is not None], "your words"
            if not places:
                raise ValueError(f"words to compare must be some that were learned, got {given!r}; try others")
        arguments = () if getattr(run.model, "output", None) is None else (torch.tensor([places]),)
        return Subject(arguments, words, tuple(table.words[i] for i in places))

    def export(self, run: "Run", to: str) -> "Path | None":
        """Writes the vectors in word2vec's text (.txt, .vec) or binary (.bin) format."""
        from pathlib import Path

        from cutaway.data.text.vector_files import write_vectors

        if Path(to).exists():
            raise ValueError(f"vectors are written to a new file, got {to}, which is there; choose another --to")
        return write_vectors(to, run.word_table.words, run.word_table.matrix)


__all__ = ["WORDS", "VectorRuns"]
