r"""Words of a text of any length: read in pieces, counted, and kept on disk as ids for those who learn word vectors.

    text → words (lower case, phrases joined) → those seen at least `least` times → ids in train, validation and test

The vocabulary is that of the training part, the most frequent word first. Rarer words are left out before windows are
laid, as in word2vec: so a window reaches over them. Each line is a sentence, as for word2vec's program and gensim's
LineSentence: where lines begin is kept beside the ids, and windows and phrases end there. Mikolov et al. 2013, §2.3.
"""

import itertools
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int

from cutaway.atomic_files import write_json, write_text, writing
from cutaway.data.cache import cached, recall_fingerprint, remember_fingerprint
from cutaway.data.checks import expect_choice
from cutaway.data.files import TextSource
from cutaway.data.fingerprints import Fingerprint
from cutaway.data.samples.embedded import resolve
from cutaway.data.splits import Splits, expect_shares, split_points
from cutaway.data.text.token_files import Tokens
from cutaway.data.words.phrases import find_phrases, join_phrases
from cutaway.overriding import override

SPLITTERS = {"letters": re.compile(r"\w+(?:['’]\w+)*"), "spaces": re.compile(r"\S+")}
PARTS = ("train", "validation", "test")
_FORMAT = 2  # of the cache: raise it when what is written changes
_DTYPE, _PLACE = np.dtype(np.uint32), np.dtype(np.uint64)
_LARGEST = 20_000_000  # kinds of words that are counted at once; beyond it the rarest so far are forgotten
_LONGEST = 1 << 20  # characters of a word: text without any space is no text of words
_LINE = 1 << 16  # characters of a line that is kept whole; longer ones may be cut between words
_AT_ONCE = 1 << 18  # ids that are written at once


class LinedTokens(Tokens):
    """Ids of the words of a text, and the places where its lines begin; None where lines do not count."""

    lines: Tokens | None = None


class WordCorpus:
    """Ids of the words of a text in three parts; ``words[i]`` was seen ``counts[i]`` times in training.

    ``raw`` counts the words of each part before rare ones were left out.
    """

    def __init__(
        self,
        name: str,
        words: list[str],
        counts: Int[np.ndarray, "v"],
        splits: Splits[Tokens],
        raw: dict[str, int],
        fingerprint: Fingerprint,
    ) -> None:
        self.name, self.words, self.counts, self.splits = name, words, counts, splits
        self.raw, self.fingerprint = raw, fingerprint

    @property
    def train(self) -> Tokens:
        return self.splits.train

    @property
    def validation(self) -> Tokens | None:
        return self.splits.validation

    def open_test(self) -> Tokens:
        """The test part: see `Splits.open_test`."""
        return self.splits.open_test()

    def summary(self) -> str:
        """What a person should know before training on it."""
        parts = ", ".join(f"{part} {count:,}" for part, count in self.raw.items() if count)
        share = len(self.train) / self.raw["train"]
        lines = getattr(self.train, "lines", None)
        each = len(self.train) / max(len(lines), 1) if lines else 0
        ends = f"windows end where a line does: {len(lines):,} lines of {each:.1f} words\n" if lines else ""
        rare = "<0.1" if 0 < 1 - share < 0.001 else f"{100 * (1 - share):.1f}"
        return (
            f"{self.name}: {sum(self.raw.values()):,} words ({parts})\n"
            f"vocabulary: {len(self.words):,} words, each seen at least {self.counts[-1]} times; the rarer ones, "
            f"{rare} % of the text, are left out\n{ends}"
            f"digest: sha256 {self.fingerprint.digest}"
        )

    @override
    def __repr__(self) -> str:
        return f"WordCorpus({self.name!r}, {sum(self.raw.values()):,} words, {len(self.words):,} in the vocabulary)"


def split_words(
    pieces: Iterable[str], by: str = "letters", lower: bool = True, lines: bool = False
) -> Iterator[list[str]]:
    """The words of a text, in lists of what a piece, or with ``lines`` a line, holds; words between pieces are whole.

    >>> list(split_words(["It's a wo", "rd, a-b \\n 42 ."]))
    [["it's", 'a'], ['word', 'a', 'b', '42']]
    >>> list(split_words(["It's a wo", "rd, a-b \\n 42 ."], lines=True))
    [["it's", 'a', 'word', 'a', 'b'], ['42']]
    """
    pattern, rest = SPLITTERS[by], ""
    for piece in pieces:
        text = rest + (piece.lower() if lower else piece)
        end = _last_break(text, lines)
        yield from _found(pattern, text[:end], lines)
        rest = text[end:]
        if len(rest) > _LONGEST:
            raise ValueError(
                f"words must have spaces between them, got {len(rest):,} characters without one; give a text of words"
            )
    yield from _found(pattern, rest, lines)


def _found(pattern: re.Pattern[str], text: str, lines: bool) -> Iterator[list[str]]:
    return filter(None, map(pattern.findall, text.split("\n") if lines else [text]))


def _last_break(text: str, lines: bool) -> int:
    """Where the last whole line, or the last whole word, ends."""
    if lines and len(text) - (end := text.rfind("\n") + 1) <= _LINE:
        return end
    place = len(text)
    while place and not text[place - 1].isspace():
        place -= 1
    return place


def read_words(
    text: str | os.PathLike[str] | TextSource,
    least: int = 5,
    validation: float = 0.0,
    test: float = 0.0,
    *,
    by: str = "letters",
    lower: bool = True,
    phrases: int = 0,
    threshold: float = 100.0,
    lines: bool = True,
    encoding: str = "utf-8",
) -> WordCorpus:
    """The words of a text: a sample's name, a file or folder, or a `TextSource`.

    ``least`` is how often a word of the vocabulary is seen at least. ``by`` is "letters" (signs part words) or "spaces"
    (spaces alone do); ``phrases`` how many times pairs of words are joined (phrases.py), ``threshold`` their score.
    ``lines``: windows and phrases end where a line does.
    """
    expect_shares(validation, test)
    expect_choice("by", by, SPLITTERS)
    if least < 1:
        raise ValueError(f"the least count of a word must be at least 1, got {least}; try 5")
    given = resolve(text, "text")
    source = given if isinstance(given, TextSource) else _source(Path(given), encoding)
    key = {
        "format": _FORMAT,
        "text": source.fingerprint.digest,
        "encoding": source.encoding,
        "least": least,
        "shares": [validation, test],
        "words": [by, lower, phrases, threshold, lines],
    }
    folder = cached("words", key, lambda part: _Writer(source, key).write(part), _sound)
    return _open(source, folder, lines)


def _source(path: Path, encoding: str) -> TextSource:
    known = recall_fingerprint(path)
    source = TextSource.from_path(path, encoding, known=known)
    if source.fingerprint != known:
        remember_fingerprint(path, source.fingerprint)
    return source


class _Writer:
    """Reads the text once to count its words, once for each pass of phrases, once for the vocabulary, once for ids."""

    def __init__(self, source: TextSource, key: dict[str, Any]) -> None:
        self.source, self.least, self.shares = source, key["least"], key["shares"]
        self.by, self.lower, self.passes, self.threshold, self.lines = key["words"]
        self.phrases: list[frozenset[tuple[str, str]]] = []
        self.ends: list[int] = []

    def write(self, folder: Path) -> None:
        total = sum(map(len, split_words(self.source.pieces(), self.by, self.lower)))
        if not total:
            raise ValueError(f"text must hold words, got {self.source.name} with none; give a file with text")
        self.ends = [*split_points(total, *self.shares), total]
        for _ in range(self.passes):
            self.phrases.append(find_phrases(self._part(0), self.least, self.threshold, apart=self.lines))
        counts = self._counts()
        words = sorted((w for w, n in counts.items() if n >= self.least), key=lambda w: (-counts[w], w))
        self._expect_words(words, counts)
        number = {word: i for i, word in enumerate(words)}
        raw = {part: self._write_ids(folder, i, number) for i, part in enumerate(PARTS)}
        self.source.expect_unchanged()
        write_text(folder / "words.txt", "".join(f"{word} {counts[word]}\n" for word in words))
        write_json(folder / "words.json", {"raw": raw, "vocabulary": len(words)})

    def _write_ids(self, folder: Path, part: int, number: dict[str, int]) -> int:
        """Writes the ids of a part and the places where its lines begin; how many words it has, rare ones too."""
        raw, place = 0, 0
        ids: list[int] = []
        begins: list[int] = []
        with writing(folder / f"{PARTS[part]}.bin") as file, writing(folder / f"{PARTS[part]}.lines") as lines:

            def write() -> None:
                file.write(np.array(ids, _DTYPE).tobytes())
                lines.write(np.array(begins, _PLACE).tobytes())
                ids.clear()
                begins.clear()

            for stretch in self._part(part):
                raw += len(stretch)
                found = [number[word] for word in stretch if word in number]
                if found and self.lines:
                    begins.append(place)
                place += len(found)
                ids += found
                if len(ids) > _AT_ONCE:
                    write()
            write()
        return raw

    def _part(self, number: int) -> Iterator[list[str]]:
        """The words of one of the three parts."""
        begin, end = [0, *self.ends][number], self.ends[number]
        stretches = _cut(split_words(self.source.pieces(), self.by, self.lower, self.lines), begin, end)
        for phrases in self.phrases:
            stretches = join_phrases(stretches, phrases, apart=self.lines)
        return stretches

    def _counts(self) -> Counter[str]:
        counts: Counter[str] = Counter()
        for stretch in self._part(0):
            counts.update(stretch)
            if len(counts) > _LARGEST:  # rare words of a huge text: a count that is lost was below `least`, most likely
                counts = Counter({word: n for word, n in counts.items() if n > 1})
        return counts

    def _expect_words(self, words: list[str], counts: Counter[str]) -> None:
        if len(words) >= 2:
            return
        common = counts.most_common(1)
        most = f"the most frequent, {common[0][0]!r}, is there {common[0][1]} times" if common else "there is none"
        lower = max(1, sorted(counts.values())[-min(len(counts), 100)]) if counts else 1
        way = f"try min_count={lower}" if len(counts) > 1 and lower < self.least else "give a longer text"
        raise ValueError(
            f"a vocabulary needs at least two words that are seen min_count={self.least} times, got {len(words)} in "
            f"{self.source.name} ({most}); {way}"
        )


def _cut(stretches: Iterable[list[str]], begin: int, end: int) -> Iterator[list[str]]:
    """Words ``begin`` to ``end`` − 1."""
    place = 0
    for stretch in stretches:
        if place >= end:
            return
        if place + len(stretch) > begin:
            yield stretch[max(begin - place, 0) : end - place]
        place += len(stretch)


def _sound(folder: Path) -> bool:
    try:
        entry = json.loads((folder / "words.json").read_text(encoding="utf-8"))
        return (folder / "words.txt").is_file() and set(entry["raw"]) == set(PARTS)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _open(source: TextSource, folder: Path, lines: bool) -> WordCorpus:
    entry = json.loads((folder / "words.json").read_text(encoding="utf-8"))
    words, counts = read_counted_words(folder / "words.txt")

    def part(name: str) -> Tokens:
        tokens = LinedTokens.from_file(folder / f"{name}.bin", _DTYPE)
        assert isinstance(tokens, LinedTokens)
        if lines:
            tokens.lines = Tokens.from_file(folder / f"{name}.lines", _PLACE)
        return tokens

    raw = entry["raw"]
    splits = Splits(
        source.name,
        part("train"),
        part("validation") if raw["validation"] else None,
        (lambda: part("test")) if raw["test"] else None,
    )
    return WordCorpus(source.name, words, counts, splits, raw, source.fingerprint)


def read_counted_words(path: Path) -> tuple[list[str], Int[np.ndarray, "v"]]:
    """Words and their counts, from lines "word count"."""
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    pairs = [line.rsplit(" ", 1) for line in lines]
    if not pairs or not all(len(pair) == 2 and pair[1].isdigit() for pair in pairs):
        raise ValueError(f"words must come one a line with their counts, got {path}; take it from a copy")
    return [word for word, _ in pairs], np.array([int(n) for _, n in pairs], np.int64)


def write_counted_words(path: Path, words: list[str], counts: Iterable[int]) -> None:
    """The file that `read_counted_words` reads."""
    write_text(path, "".join(f"{word} {count}\n" for word, count in itertools.zip_longest(words, counts)))


__all__ = [
    "SPLITTERS",
    "LinedTokens",
    "WordCorpus",
    "read_counted_words",
    "read_words",
    "split_words",
    "write_counted_words",
]
