r"""Sentences with a line for each word: CoNLL-U, and plain columns with the word first and its tag last.

    # text = I can't.                                       comments
    1     I    I    PRON  PRP  …                            a word: ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC
    2-3   can't _   _     _    …                            a multi-word token: what is written for the words 2 and 3
    2     ca   can  AUX   MD   …
    3     n't  not  PART  RB   …
    3.1   …                                                 an empty node: a word that is not written

A blank line ends a sentence. Only words are tagged; everything else is kept as it is and written back as it was. In
plain columns (CoNLL-2000, CoNLL-2003, "word<TAB>tag") fields have tabs or spaces between them. Damaged lines are named
by file and line. Format: universaldependencies.org/format.html; Nivre et al. 2016.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cutaway.data.files import expect_encoding, open_plain, read_pieces

FIELDS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
TAGS = ("upos", "xpos", "feats", "deprel")  # fields that hold a tag
KEYED = ("feats", "misc")  # fields that hold Key=Value|Key=Value
NONE = "_"
_ID = re.compile(r"(\d+)(?:([-.])(\d+))?")
_TAG = re.compile(r"[BIESLU]-\w+|(?=.*[A-Z])[A-Z0-9$.,:`'()_-]{1,12}|[.,:`'()]{1,5}|O")  # NNP, B-PER, PRP$
_COLUMNS = 12  # of plain columns, at most, where nobody said that they are words and tags
_BREAK = "-DOCSTART-"  # CoNLL-2003's line between documents


@dataclass(frozen=True)
class Sentence:
    """The lines of a sentence as fields; ``place`` says where it begins, ``is_conllu`` which of the formats it has."""

    rows: tuple[tuple[str, ...], ...]
    comments: tuple[str, ...] = ()
    is_conllu: bool = True
    place: str = ""

    @property
    def word_rows(self) -> list[int]:
        """The numbers of the rows that are words: not multi-word tokens, not empty nodes."""
        return [i for i, row in enumerate(self.rows) if not self.is_conllu or row[0].isdigit()]

    @property
    def words(self) -> list[str]:
        form = 1 if self.is_conllu else 0
        return [self.rows[i][form] for i in self.word_rows]

    def text(self) -> str:
        """The sentence as lines, a blank one at its end."""
        return "".join(f"{line}\n" for line in (*self.comments, *("\t".join(row) for row in self.rows))) + "\n"


def read_sentences(files: Mapping[str, Path], encoding: str = "utf-8") -> Iterator[Sentence]:
    """The sentences of some files, plain or packed, one after another; those without words are left out."""
    expect_encoding(encoding)
    for name, path in files.items():
        with open_plain(path) as stream:
            yield from parse_sentences(_lines(read_pieces(stream, encoding, name)), name)


def parse_sentences(lines: Iterable[str], name: str = "text") -> Iterator[Sentence]:
    """The sentences of some lines; ``name`` is what messages call them.

    >>> [s.words for s in parse_sentences(["The\tDET", "dog\tNOUN", "", "Stop\tVERB"])]
    [['The', 'dog'], ['Stop']]
    """
    parser = _Parser(name)
    number = 0
    for number, line in enumerate(lines, start=1):
        sentence = parser.take(line, number)
        if sentence is not None:
            yield sentence
    last = parser.take("", number + 1)
    if last is not None:
        yield last


def looks_tagged(text: str) -> bool:
    r"""Whether the beginning of a file is words with a tag each: a line a word, as many columns in each, blank lines
    between sentences, and in the last column few different tags.

    >>> looks_tagged("The\tDET\ndog\tNOUN\n\nStop\tVERB\nit\tPRON\nnow\tADV\n\nA\tDET\nman\tNOUN\n")
    True
    >>> looks_tagged("so good\tpositive\nso bad\tnegative\n"), looks_tagged("To be, or not\nto be, that is\n\n")
    (False, False)
    """
    lines = [line.rstrip("\r") for line in text.split("\n")]
    written = [line for line in lines if line.strip() and not line.startswith("# ")]
    if any(line.split()[0] == _BREAK for line in written[:5]):
        return True
    words = [line.split("\t") if "\t" in written[0] else line.split() for line in written]
    if len(words) < 3 or len({len(word) for word in words}) != 1 or not 2 <= len(words[0]) <= _COLUMNS:
        return False
    if any(not word[0].strip() or " " in word[0].strip() for word in words):
        return False
    blank = sum(not line.strip() for line in "\n".join(lines).strip("\n").split("\n"))
    tags = {word[-1].strip() for word in words}
    return blank > 0 and (len(tags) <= max(2, len(words) / 2) or all(_TAG.fullmatch(tag) for tag in tags))


def _lines(pieces: Iterable[str]) -> Iterator[str]:
    rest = ""
    for piece in pieces:
        *whole, rest = (rest + piece).split("\n")
        yield from whole
    if rest:
        yield rest


class _Parser:
    """Takes lines one by one and gives a sentence at each blank line; the first data line tells the format."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_conllu: bool | None = None
        self.separator: str | None = "\t"
        self.width = 0
        self.start()

    def start(self) -> None:
        self.rows: list[tuple[str, ...]] = []
        self.comments: list[str] = []
        self.begun = self.expected = 0

    def take(self, line: str, number: int) -> Sentence | None:
        line = line.rstrip("\r\n")
        if not line.strip():
            return self._finished()
        if self._is_comment(line):
            if self.rows and self.is_conllu:
                raise self._wrong(number, "comments must come before the words of a sentence", line, "add a blank line")
            self.comments.append(line)
            return None
        if not self.is_conllu and line.split()[0] == _BREAK:
            return self._finished()
        if self.is_conllu is None:
            self._find_format(line, number)
        row = self._row(line, number)
        self.begun = self.begun or number
        self.rows.append(row)
        return None

    def _finished(self) -> Sentence | None:
        rows, comments, begun = tuple(self.rows), tuple(self.comments), self.begun
        self.start()
        found = Sentence(rows, comments, bool(self.is_conllu), f"line {begun:,} of {self.name}")
        return found if rows and found.word_rows else None

    def _is_comment(self, line: str) -> bool:
        if not line.startswith("#"):
            return False
        if self.is_conllu or not self.width:  # before the first word, "#" and a tab are a word with its tag
            return bool(self.is_conllu) or not line.startswith("#\t")
        return len(self._cut(line)) != self.width

    def _find_format(self, line: str, number: int) -> None:
        fields = line.split("\t")
        self.is_conllu = (len(fields) == 10 and _ID.fullmatch(fields[0]) is not None) or ".conllu" in self.name
        if self.is_conllu:
            return
        self.separator = "\t" if len(fields) > 1 else None
        self.width = len(self._cut(line))

    def _cut(self, line: str) -> list[str]:
        return line.split(self.separator) if self.separator else line.split()

    def _row(self, line: str, number: int) -> tuple[str, ...]:
        fields = tuple(field.strip() for field in self._cut(line))
        if self.is_conllu:
            self._check_word(fields, number, line)
        elif len(fields) != self.width:
            rule = f"every line must have as many columns as the first, which has {self.width}"
            raise self._wrong(number, rule, line, "put a blank line between sentences and nothing else")
        if not fields[1 if self.is_conllu else 0]:
            raise self._wrong(number, "a word must not be empty", line, "write _ for a word that is not known")
        return fields

    def _check_word(self, fields: tuple[str, ...], number: int, line: str) -> None:
        if len(fields) != 10:
            rule = f"a line of CoNLL-U must have 10 fields with tabs between them, not {len(fields)}"
            raise self._wrong(number, rule, line, "the fields are " + " ".join(name.upper() for name in FIELDS))
        found = _ID.fullmatch(fields[0])
        if found is None:
            raise self._wrong(number, "the first field must be an ID such as 3, 3-4 or 3.1", line, "count words from 1")
        first, kind, second = int(found[1]), found[2], int(found[3] or 0)
        if kind == ".":
            right = first == self.expected
        elif kind == "-":
            right = first == self.expected + 1 and second >= first
        else:
            right = first == self.expected + 1
            self.expected += 1
        if not right:
            expected = self.expected + 1 if kind else self.expected
            rule = f"words must be numbered one by one from 1, and {expected} is next"
            raise self._wrong(number, rule, line, "add the blank line between sentences, or number the words again")

    def _wrong(self, number: int, rule: str, line: str, way_out: str) -> ValueError:
        shown = line if len(line) <= 60 else line[:57] + "..."
        return ValueError(f"{rule}, got {shown!r} in line {number:,} of {self.name}; {way_out}")


def expect_column(column: str) -> None:
    """A column must be one that holds tags: by name, a key of FEATS or MISC, or of plain columns a number from 1."""
    field, _, key = column.partition(":")
    if column in ("", *TAGS) or (field in KEYED and key) or (column.isdigit() and int(column) > 1):
        return
    raise ValueError(
        f"column must be one of {', '.join(TAGS)}, a key such as feats:Tense or misc:NER, or the number of a plain "
        f"column from 2 on, got {column!r}; "
        + (f"try misc:{column}" if column.isalnum() and column.lower() not in FIELDS else "try upos")
    )


def tags_of(sentence: Sentence, column: str = "") -> list[str | None]:
    """The tag of each word; None where none is given. Without a ``column``: UPOS, or the last of plain columns.

    That no key is given is a tag too: most words have no Tense and are no part of a name. It is written "_".

    >>> row = "1 saw see VERB VBD Tense=Past|VerbForm=Fin 0 root _ _".split()
    >>> tags_of(Sentence((tuple(row),))), tags_of(Sentence((tuple(row),)), "feats:Tense")
    (['VERB'], ['Past'])
    """
    place, key = _place(sentence, column)
    fields = [sentence.rows[i][place] for i in sentence.word_rows]
    if key:
        return [_value(field, key) for field in fields]
    if FIELDS[place] == "feats" and sentence.is_conllu:
        return list(fields)
    return [None if field in (NONE, "") else field for field in fields]


def with_tags(sentence: Sentence, tags: Sequence[str], column: str = "") -> Sentence:
    """The sentence with these tags in their column, and all else as it was; words alone get a second column."""
    if not sentence.is_conllu and len(sentence.rows[0]) == 1:
        return replace(sentence, rows=tuple((row[0], tag) for row, tag in zip(sentence.rows, tags, strict=True)))
    place, key = _place(sentence, column)
    rows = list(sentence.rows)
    for i, tag in zip(sentence.word_rows, tags, strict=True):
        field = _set_key(rows[i][place], key, tag, FIELDS[place] == "feats") if key else tag
        rows[i] = (*rows[i][:place], field, *rows[i][place + 1 :])
    return replace(sentence, rows=tuple(rows))


def sentence_of(words: Sequence[str], comments: Sequence[str] = ()) -> Sentence:
    """Words as a CoNLL-U sentence with nothing said about them yet."""
    rows = tuple((str(i), word, *(NONE,) * 8) for i, word in enumerate(words, start=1))
    return Sentence(rows, tuple(comments))


def _place(sentence: Sentence, column: str) -> tuple[int, str]:
    """Which field of a row holds the tag, and under which key of it."""
    width = len(sentence.rows[0])
    if column.isdigit():
        if not 1 < int(column) <= width:
            raise ValueError(
                f"column must be one of the {width} columns after the first, got column={column} in {sentence.place}; "
                f"try {width}"
            )
        return int(column) - 1, ""
    if not sentence.is_conllu:
        if column:
            raise ValueError(
                f"column {column!r} is a field of CoNLL-U, got plain columns in {sentence.place}; give the number of "
                f"the column, such as {width}, or leave it out for the last"
            )
        if width < 2:
            raise ValueError(
                f"words must come with tags, got a single column in {sentence.place}; write the word, a tab and its tag"
            )
        return width - 1, ""
    field, _, key = (column or "upos").partition(":")
    return FIELDS.index(field), key


def _value(field: str, key: str) -> str:
    pairs = (part.partition("=") for part in field.split("|"))
    return next((value for name, _, value in pairs if name == key), NONE)


def _set_key(field: str, key: str, value: str, in_order: bool) -> str:
    """FEATS are sorted by their keys, without regard to case; MISC is not."""
    parts = [part for part in field.split("|") if field != NONE and part.partition("=")[0] != key]
    parts += [] if value == NONE else [f"{key}={value}"]
    return "|".join(sorted(parts, key=lambda part: part.partition("=")[0].lower()) if in_order else parts) or NONE


__all__ = [
    "FIELDS",
    "NONE",
    "Sentence",
    "expect_column",
    "looks_tagged",
    "parse_sentences",
    "read_sentences",
    "sentence_of",
    "tags_of",
    "with_tags",
]
