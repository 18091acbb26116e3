r"""What a tagger says of new text: rows for people and programs, or the CoNLL-U that was given with tags put in."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from cutaway.atomic_files import read_json
from cutaway.data.files import find_files
from cutaway.data.text.conllu import Sentence, read_sentences, sentence_of, with_tags
from cutaway.data.text.lexicon import Lexicon
from cutaway.data.text.tag_batches import EncodedSentences
from cutaway.data.text.tagged_sentences import Tagged
from cutaway.data.text.word_splitting import split_words
from cutaway.models.sequences.tagger import TaggerInput
from cutaway.tasks.subjects import SHOWN, Subject
from cutaway.tasks.texts.tag import Probabilities, as_input, tag_probabilities
from cutaway.tasks.texts.text_inputs import as_texts, expect_text, is_file, read_lines

if TYPE_CHECKING:
    from cutaway.runs.run import Run

LEXICON = "lexicon.json"
_ENDINGS = (".conllu", ".conll", ".tsv", ".bio", ".iob", ".iob2")


class TaggedOutput(list[dict[str, Any]]):
    """A dict for every word: its sentence (from 1), the word, its tag, the tag's probability, and those of all tags.

    ``sentences`` are the same as sentences of CoNLL-U, the ones that were given where they were. ``preferred_format``
    is how `cutaway predict` prints it: CoNLL-U in, CoNLL-U out.
    """

    def __init__(self, rows: Sequence[dict[str, Any]], sentences: list[Sentence], preferred_format: str) -> None:
        super().__init__(rows)
        self.sentences, self.preferred_format = sentences, preferred_format

    def to_text(self, kind: str = ".conllu") -> str:
        """All sentences as CoNLL-U, or in the columns that they came in."""
        return "".join(sentence.text() for sentence in self.sentences)


def read_lexicon(run: "Run") -> Lexicon:
    """What the run's model knows of words and tags."""
    path = run.file(LEXICON)
    if path is None:
        raise ValueError(f"a tagger needs its {LEXICON}, got {run.path} without it; take it from a copy")
    names = ("tags", "words", "counts", "characters", "affixes", "shapes", "vectors")
    values = read_json(path, *names)
    return Lexicon.from_dict({name: values[name] for name in names})


def read_source(source: str, encoding: str = "utf-8") -> list[Sentence] | list[str]:
    """A file of CoNLL-U or columns as its sentences; the lines of any other file; else the text itself."""
    if not is_file(source):
        expect_text(source)
        return [source]
    path = Path(source).expanduser()
    if any(ending in _ENDINGS for ending in path.suffixes):
        return _sentences(path, encoding)
    lines = read_lines(source, encoding)
    begin = next((line for line in lines if not line.startswith("#")), "")
    return _sentences(path, encoding) if begin.count("\t") == 9 else lines


def _sentences(path: Path, encoding: str) -> list[Sentence]:
    found = list(read_sentences(find_files(path), encoding))
    if not found:
        raise ValueError(f"a file to tag must have sentences, got {path} with none; write a word a line")
    return found


def split_text(text: str, splitting: str, data: str) -> list[str]:
    """The words of a text, by the rule of a setting."""
    if splitting == "auto":
        splitting = "python" if data == "python-roles" else "words"
    if splitting == "spaces":
        return text.split()
    if splitting == "python":
        from cutaway.data.samples.python_roles import split_python

        return [word for line in split_python(text) for word in line]
    return split_words(text)


def tag_inputs(
    run: "Run",
    inputs: Any,
    split: Callable[[str], list[str]],
    column: str,
    encoding: str,
    by: Callable[[list[Tagged]], Probabilities] | None = None,
) -> TaggedOutput:
    """Tags for texts, lists of words, sentences that were read, or a file as a Path; ``by`` tags, if no `Tagger`."""
    if isinstance(inputs, os.PathLike):
        inputs = read_source(os.fspath(inputs), encoding)
    given = bool(inputs) and isinstance(inputs, (list, tuple)) and isinstance(inputs[0], Sentence)
    numbered = dict(enumerate(inputs, start=1)) if given else _from_texts(inputs, split)
    sentences = list(numbered.values())
    lexicon = read_lexicon(run)
    untagged = [_untagged(sentence.words) for sentence in sentences]
    said = tag_probabilities(run.model, EncodedSentences(untagged, lexicon)) if by is None else by(untagged)
    rows: list[dict[str, Any]] = []
    tagged = []
    for (n, sentence), p in zip(numbered.items(), said, strict=True):
        best = p.argmax(1)
        names = [lexicon.tags[i] for i in best]
        tagged.append(with_tags(sentence, names, column if sentence.is_conllu or column.isdigit() else ""))
        for word, tag, own in zip(sentence.words, names, p, strict=True):
            every = {name: float(x) for name, x in zip(lexicon.tags, own, strict=True)}
            rows.append({"sentence": n, "word": word, "tag": tag, "probability": every[tag], "probabilities": every})
    return TaggedOutput(rows, tagged, ".conllu" if given else "")


def _from_texts(inputs: Any, split: Callable[[str], list[str]]) -> dict[int, Sentence]:
    """Sentences by the number of their text, from 1; a text without a word has none."""
    if isinstance(inputs, (list, tuple)) and inputs and all(isinstance(words, (list, tuple)) for words in inputs):
        words_of = [(" ".join(words), list(words)) for words in inputs]
    else:
        words_of = [(text, split(text)) for text in as_texts(inputs)]
    numbered = enumerate(words_of, start=1)
    found = {n: sentence_of(words, [f"# text = {text}"]) for n, (text, words) in numbered if words}
    if not found:
        raise ValueError("a text to tag must have a word, got none; give it some")
    return found


def _untagged(words: Sequence[str]) -> Tagged:
    return Tagged(tuple(words), (None,) * len(words))


def sentence_input(words: Sequence[str], lexicon: Lexicon, device: torch.device) -> TaggerInput:
    """One sentence as the model takes it."""
    import numpy as np

    return as_input(EncodedSentences([_untagged(words)], lexicon).batch(np.array([0])), device)


def sentence_subject(run: "Run", words: Sequence[str], about: str) -> Subject:
    """A sentence to look at, cut to what a page can show."""
    if not words:
        raise ValueError("a sentence to look at must have a word, got none; give it some")
    if len(words) > SHOWN:
        about = f"the first {SHOWN} of {len(words):,} words of {about}"
    shown = tuple(words[:SHOWN])
    inputs = sentence_input(shown, read_lexicon(run), next(run.model.parameters()).device)
    return Subject((inputs,), about, shown, " ".join(shown))


def write_samples(
    model: nn.Module, lexicon: Lexicon, sentences: Sequence[Tagged], said: Probabilities | None = None
) -> dict[str, str]:
    """Sentences with what the model makes of them, and the true tag where that is another."""
    lines = []
    said = tag_probabilities(model, EncodedSentences(sentences, lexicon)) if said is None else said
    for sentence, p in zip(sentences, said, strict=True):
        parts = []
        for word, truth, best in zip(sentence.words, sentence.tags, p.argmax(1), strict=True):
            said = lexicon.tags[best]
            parts.append(f"{word}/{said}" + ("" if truth in (None, said) else f" (is {truth})"))
        lines.append(" ".join(parts))
    return {"tagged.txt": "\n".join(lines) + "\n"}


__all__ = [
    "TaggedOutput",
    "read_lexicon",
    "read_source",
    "sentence_input",
    "sentence_subject",
    "split_text",
    "tag_inputs",
    "write_samples",
]
