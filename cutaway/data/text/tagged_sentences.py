r"""Sentences of words with a tag each, in three parts: train, validation and test.

The parts are files of their own where there are some (a folder with train, dev and test in the names of its files, or
``validation_file`` and ``test_file``); else shares of the sentences, drawn at random. Sentences
of the same words are in one part.
"""

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from cutaway.data.files import TextSource, find_files
from cutaway.data.fingerprints import Fingerprint, fingerprint_files
from cutaway.data.samples.embedded import resolve
from cutaway.data.splits import Splits, split_groups, text_key, told_repeats
from cutaway.data.tables.endings import PACKED
from cutaway.data.text.conllu import Sentence, expect_column, parse_sentences, read_sentences, tags_of

KIND = "tagged text"  # of samples
_PARTS = {"train": "train", "dev": "validation", "valid": "validation", "validation": "validation", "test": "test"}
_ENDINGS = (".conllu", ".conll", ".tsv", ".bio", ".iob", ".iob2", ".txt")


class Tagged(NamedTuple):
    """The words of a sentence, and the tag of each; None where none is given."""

    words: tuple[str, ...]
    tags: tuple[str | None, ...]


@dataclass(frozen=True)
class TaggedText:
    """Tagged sentences in three parts. `open_test` opens the third."""

    name: str
    splits: Splits[list[Tagged]]
    fingerprint: Fingerprint
    is_conllu: bool
    notes: tuple[str, ...] = ()

    @property
    def train(self) -> list[Tagged]:
        return self.splits.train

    @property
    def validation(self) -> list[Tagged] | None:
        return self.splits.validation

    def open_test(self) -> list[Tagged]:
        """The test sentences: see `Splits.open_test`."""
        return self.splits.open_test()

    def summary(self) -> str:
        """What a person should know before training on it."""
        parts = {"train": self.train} | ({} if self.validation is None else {"validation": self.validation})
        sizes = ", ".join(f"{name} {len(part):,} ({_words(part):,} words)" for name, part in parts.items())
        kinds = {tag for sentence in self.train for tag in sentence.tags if tag is not None}
        notes = "".join(f"{self.name}: {note}\n" for note in self.notes)
        return (
            f"{self.name}: sentences for {sizes}{', and a test' if self.splits.has_test else ''}\n"
            f"tags: {len(kinds):,} ({_listed(kinds)})\n{notes}"
            f"digest: sha256 {self.fingerprint.digest}"
        )


def _words(sentences: list[Tagged]) -> int:
    return sum(len(sentence.words) for sentence in sentences)


def _listed(names: Iterable[str], most: int = 20) -> str:
    names = sorted(names)
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def read_tagged(
    data: str | os.PathLike[str] | TextSource,
    column: str = "",
    validation: float = 0.1,
    test: float = 0.1,
    validation_file: str = "",
    test_file: str = "",
    seed: int = 0,
    encoding: str = "utf-8",
    together: bool = True,
) -> TaggedText:
    """Tagged sentences from CoNLL-U or plain columns: a file, a folder of files, or the name of a sample.

    ``validation`` and ``test`` are shares of the sentences, for which there is no file; sentences of the same words
    are in one part, unless ``together`` is False (of runs made before they were).
    """
    expect_column(column)
    source = resolve(data, KIND)
    if isinstance(source, TextSource):
        sentences = list(parse_sentences("".join(source.pieces()).split("\n"), source.name))
        files: dict[str, dict[str, Path]] = {"train": {}}
        fingerprint, name = source.fingerprint, source.name
    else:
        files = _parts_of(source, validation_file, test_file)
        sentences = list(read_sentences(files["train"], encoding))
        labels = {
            f"{part} {file}" if len(files) > 1 else file: path
            for part, own in files.items()
            for file, path in own.items()
        }
        fingerprint, name = fingerprint_files(labels), Path(source).name
    whole = _tagged(sentences, column, name)
    keys = [text_key(" ".join(sentence.words)) if together else i for i, sentence in enumerate(whole)]
    shares = 0.0 if "validation" in files else validation, 0.0 if "test" in files else test
    (a, b, c), firsts = split_groups(keys, *shares, seed)
    if not len(a):
        raise ValueError(
            f"training needs sentences, got {len(whole)} in {name}; lower validation={validation} or test={test}"
        )

    def opened(part: str) -> list[Tagged]:
        return _tagged(list(read_sentences(files[part], encoding)), column, ", ".join(files[part]))

    held_out = opened("validation") if "validation" in files else [whole[i] for i in b] or None
    last: Callable[[], list[Tagged]] | None = None
    if "test" in files:
        last = lambda: opened("test")
    elif len(c):
        last = lambda: [whole[i] for i in c]
    train = [whole[i] for i in a]
    notes = told_repeats(firsts, "sentences") if len(b) or len(c) else []
    if held_out:
        own = files.get("validation")
        notes += _unknown_tags(train, held_out, "validation_file" if own else "", ", ".join(own or ["validation"]))
    if "test" in files:  # found now, not after training; how well they are guessed is for later
        notes += _unknown_tags(train, opened("test"), "test_file", ", ".join(files["test"]))
    splits = Splits(name, train, held_out, last)
    if "validation" in files and together and held_out:
        learned = set(keys)
        known = sum(text_key(" ".join(sentence.words)) in learned for sentence in held_out)
        notes += [f"{known:,} of {len(held_out):,} sentences to evaluate on are also in training"] if known else []
    return TaggedText(name, splits, fingerprint, sentences[0].is_conllu, tuple(notes))


def _tagged(sentences: list[Sentence], column: str, name: str) -> list[Tagged]:
    found = [Tagged(tuple(sentence.words), tuple(tags_of(sentence, column))) for sentence in sentences]
    if not found:
        raise ValueError(f"tagged text must have sentences, got {name} with none; see that it holds a word a line")
    if all(tag is None for sentence in found for tag in sentence.tags):
        raise ValueError(
            f"words must have tags to learn from, got {name} with none in its column {column or 'upos'}; "
            "choose another column, such as column=xpos"
        )
    return found


def _unknown_tags(train: list[Tagged], other: list[Tagged], setting: str, name: str) -> list[str]:
    """A line on the tags that training has not: they count as wrong. In a file (``setting``), some must be known."""
    known, there = ({tag for s in part for tag in s.tags if tag is not None} for part in (train, other))
    if setting and not known & there:
        raise ValueError(
            f"{setting} must have tags of training, got {_listed(there, 5)} in {name} and none of them; the tags of "
            f"training are: {_listed(known, 5)}"
        )
    if not there - known:
        return []
    count = sum(tag is not None and tag not in known for sentence in other for tag in sentence.tags)
    return [
        f"tags of {name} that training has not: {_listed(there - known, 5)} ({count:,} words, which count as wrong)"
    ]


def _parts_of(path: Path, validation_file: str, test_file: str) -> dict[str, dict[str, Path]]:
    """The files of each part; parts that have none are not there."""
    found = find_files(path)
    if path.is_dir():
        found = _with_ending(found, path)
    named = {name: _part(name) for name in found} if path.is_dir() else {}
    parts: dict[str, dict[str, Path]] = {}
    if "train" in named.values():
        for name, part in named.items():
            if part:
                parts.setdefault(part, {})[name] = found[name]
    else:
        parts["train"] = found
    for part, file in (("validation", validation_file), ("test", test_file)):
        if file:
            parts[part] = find_files(file, setting=f"{part}_file")
    return parts


def _with_ending(files: Mapping[str, Path], folder: Path) -> dict[str, Path]:
    """The files of the ending that comes first in the list: beside CoNLL-U, releases hold the bare text too."""
    for ending in _ENDINGS:
        fitting = {name: path for name, path in files.items() if ending in _suffixes(path)[:1]}
        if fitting:
            return fitting
    raise ValueError(
        f"a folder of tagged text must hold files that end in {', '.join(_ENDINGS[:4])}, got {folder} with "
        f"{', '.join(list(files)[:3])}; give one file, or rename them"
    )


def _suffixes(path: Path) -> list[str]:
    endings = [ending.lower() for ending in path.suffixes]
    while endings and endings[-1] in PACKED:
        endings.pop()
    return endings[::-1]


def _part(name: str) -> str:
    found = re.findall(r"[a-z]+", Path(name).name.lower())
    return next((_PARTS[word] for word in found if word in _PARTS), "")


__all__ = ["KIND", "Tagged", "TaggedText", "read_tagged"]
