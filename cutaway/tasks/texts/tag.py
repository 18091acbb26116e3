r"""The task of tagging words: sentences with a tag for every word, and the tags of new ones.

    p(tag | sentence)     a row for each word, by a learner
    metrics               mean −log p, accuracy, accuracy on words that training never had, F1 (`tag_metrics.py`)
    baseline              each word's most frequent tag
    lexicon.json          the words and tags of training, in the run folder

`cutaway train tagger` learns it by an LSTM (`word_tagger.py`), `cutaway tune BASE --task tag` by a trained model of
text. CoNLL-U that is given comes back with its tags put in.
"""

import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from cutaway.atomic_files import read_json, write_json
from cutaway.data.files import find_files
from cutaway.data.samples.python_roles import split_python
from cutaway.data.text.conllu import Sentence, read_sentences, sentence_of, with_tags
from cutaway.data.text.lexicon import Lexicon
from cutaway.data.text.tag_batches import EncodedSentences
from cutaway.data.text.tagged_sentences import Tagged, TaggedText, read_tagged
from cutaway.data.text.vector_files import Vectors, read_vectors
from cutaway.data.text.word_splitting import split_words
from cutaway.overriding import override
from cutaway.tasks.task import Files, Task
from cutaway.tasks.texts.equal_texts import TOGETHER, kept_together
from cutaway.tasks.texts.tag_metrics import FrequentTags, Probabilities, tag_metrics, whole_metrics
from cutaway.tasks.texts.text_inputs import as_texts, expect_text, is_file, read_lines

LEXICON = "lexicon.json"  # in the run folder
_ENDINGS = (".conllu", ".conll", ".tsv", ".bio", ".iob", ".iob2")
_PARTS_OF_LEXICON = ("tags", "words", "counts", "characters", "affixes", "shapes", "vectors")
_WRITTEN = 8  # sentences tagged at every evaluation
_READABLE = 12  # words of a sentence to look at, about


class GivenSentences(list[Tagged]):
    """Sentences to tag as a person gave them, by their numbers; ``are_read`` if they come from a file of CoNLL-U."""

    def __init__(self, numbered: dict[int, Sentence], are_read: bool) -> None:
        super().__init__(untagged(sentence.words) for sentence in numbered.values())
        self.numbered, self.are_read = numbered, are_read


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


class WordTags(Task):
    """Sentences of words with a tag each, from CoNLL-U or columns."""

    kind: ClassVar[str] = "texts/tag"
    figure = "error"
    parts: TaggedText
    vectors: Vectors | None = None  # given ones, which the lexicon of a `tagger` knows

    @override
    def read_parts(self) -> TaggedText:
        settings = self.settings
        return read_tagged(
            settings.data,
            settings.column,
            settings.validation,
            settings.test,
            settings.validation_file,
            settings.test_file,
            seed=settings.seed,
            encoding=settings.encoding,
            together=kept_together(self.run),
        )

    @cached_property
    def lexicon(self) -> Lexicon:
        """The words and tags of training."""
        if self.run is not None:
            values = read_json(self.file_of_run(LEXICON, "of a tagger"), *_PARTS_OF_LEXICON)
            return Lexicon.from_dict({name: values[name] for name in _PARTS_OF_LEXICON})
        words, tags = ([getattr(sentence, part) for sentence in self.parts.train] for part in ("words", "tags"))
        lexicon = Lexicon.from_sentences(words, tags, self.vectors.words if self.vectors else ())
        if len(lexicon.tags) < 2:
            raise ValueError(
                f"a tagger needs at least two tags, got {self.parts.name} where every tag is {lexicon.tags[0]!r}; "
                f"choose another column than column={self.settings.column or 'upos'}"
            )
        return lexicon

    def encode(self, sentences: Sequence[Tagged], hide: float = 0.0) -> EncodedSentences:
        """Sentences as numbers of the lexicon, true tags where they have some."""
        return EncodedSentences(sentences, self.lexicon, hide)

    @override
    def facts(self) -> dict[str, Any]:
        facts = super().facts() | {TOGETHER: True}
        if self.parts.validation is not None:
            facts["baseline"] = self.baseline(self.parts.validation)
        return facts

    @override
    def files(self) -> Files:
        return {LEXICON: lambda path: write_json(path, self.lexicon.to_dict())}

    def baseline(self, sentences: Sequence[Tagged]) -> dict[str, Any]:
        """A rule in words, and its metrics on some sentences."""
        metrics = FrequentTags(self.parts.train).metrics(sentences, self.lexicon)
        return {"rule": FrequentTags.rule, "metrics": metrics}

    def metrics(self, p: Probabilities, truth: EncodedSentences) -> dict[str, float]:
        """Loss, accuracy and the share of errors."""
        return tag_metrics(p, truth)

    def test_metrics(self, learner: Any) -> dict[str, float]:
        """Metrics of the test part, beside those of the baseline."""
        sentences = self.parts.open_test()
        naive = self.baseline(sentences)["metrics"]
        found = whole_metrics(learner.outputs(sentences), self.encode(sentences))
        return found | {f"baseline_{name}": value for name, value in naive.items()}

    # What a person gives, and what they get.

    def read_inputs(self, source: str) -> list[Sentence] | list[str]:
        """The sentences or lines of a file, or a text itself."""
        return read_source(source, self.settings.encoding)

    def split(self, text: str) -> list[str]:
        """The words of a text, by the rule of the setting."""
        return split_text(text, self.settings.splitting, self.settings.data)

    def inputs(self, source: Any) -> GivenSentences:
        """Texts, lists of words, sentences that were read, or a file as a Path."""
        if isinstance(source, os.PathLike):
            source = self.read_inputs(os.fspath(source))
        if bool(source) and isinstance(source, (list, tuple)) and isinstance(source[0], Sentence):
            return GivenSentences(dict(enumerate(source, start=1)), True)
        if isinstance(source, (list, tuple)) and source and all(isinstance(words, (list, tuple)) for words in source):
            words_of = [(" ".join(words), list(words)) for words in source]
        else:
            words_of = [(text, self.split(text)) for text in as_texts(source)]
        numbered = enumerate(words_of, start=1)
        found = {n: sentence_of(words, [f"# text = {text}"]) for n, (text, words) in numbered if words}
        if not found:
            raise ValueError("a text to tag must have a word, got none; give it some")
        return GivenSentences(found, False)

    def answers(self, probabilities: Probabilities, given: GivenSentences) -> TaggedOutput:
        """The tag of every word; of sentences that were read, these with their tags put in."""
        tags, column = self.lexicon.tags, self.settings.column
        rows: list[dict[str, Any]] = []
        tagged = []
        for (n, sentence), p in zip(given.numbered.items(), probabilities, strict=True):
            names = [tags[i] for i in p.argmax(1)]
            tagged.append(with_tags(sentence, names, column if sentence.is_conllu or column.isdigit() else ""))
            for word, tag, own in zip(sentence.words, names, p, strict=True):
                every = {name: float(x) for name, x in zip(tags, own, strict=True)}
                row = {"sentence": n, "word": word, "tag": tag, "probability": every[tag], "probabilities": every}
                rows.append(row)
        return TaggedOutput(rows, tagged, ".conllu" if given.are_read else "")

    def sentence_to_show(self, given: str | None) -> tuple[str | Sequence[str], str]:
        """A text, or the words of a sentence, for a look, and what it is: of a file, its first sentence."""
        if given is not None:
            first: Any = next(filter(None, self.read_inputs(given)), "")
            return first if isinstance(first, str) else first.words, "your sentence"
        text = self.parts
        some, trained_on = (text.train, "") if text.validation is None else (text.validation, "not ")
        words = min((sentence.words for sentence in some), key=lambda words: abs(len(words) - _READABLE))
        return words, f"a sentence that it was {trained_on}trained on"

    def sentences_to_write(self) -> list[Tagged]:
        """Some that are tagged at every evaluation."""
        return (self.parts.train if self.parts.validation is None else self.parts.validation)[:_WRITTEN]


def given_vectors(path: str, most: int, text: TaggedText) -> Vectors:
    """The vectors of a file that are taken: its first ``most``, and those of words of the training data."""
    found = read_vectors(path)
    own = {form for sentence in text.train for word in sentence.words for form in (word, word.lower())}
    kept = [i for i, word in enumerate(found.words) if i < most or word in own]
    if not any(found.words[i] in own for i in kept):
        raise ValueError(
            f"vectors must be of words of the data, got {path} with none of those of {text.name}; "
            "give vectors of its language"
        )
    return Vectors([found.words[i] for i in kept], found.matrix[kept])


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
        return [word for line in split_python(text) for word in line]
    return split_words(text)


def untagged(words: Sequence[str]) -> Tagged:
    """A sentence whose tags are not known."""
    return Tagged(tuple(words), (None,) * len(words))


def write_samples(probabilities: Probabilities, lexicon: Lexicon, sentences: Sequence[Tagged]) -> dict[str, str]:
    """Sentences with what the model makes of them, and the true tag where that is another."""
    lines = []
    for sentence, p in zip(sentences, probabilities, strict=True):
        parts = []
        for word, truth, best in zip(sentence.words, sentence.tags, p.argmax(1), strict=True):
            tag = lexicon.tags[best]
            parts.append(f"{word}/{tag}" + ("" if truth in (None, tag) else f" (is {truth})"))
        lines.append(" ".join(parts))
    return {"tagged.txt": "\n".join(lines) + "\n"}
