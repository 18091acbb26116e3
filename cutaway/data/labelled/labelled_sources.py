r"""Labelled texts in the forms that they come in, each read as texts, labels and what to know of them.

a table           CSV, TSV, Parquet, JSON lines: a column of texts, a column of labels
fastText's lines  __label__good so charming
a folder          one sub-folder a class, with a text in each file: pos/1.txt, pos/2.txt, neg/1.txt
files of classes  one file a class, a text on each line, in a folder or a zip: Arabic.txt, Czech.txt
"""

import csv
import os
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cutaway.data.files import TextSource, expect_encoding, find_files, read_pieces
from cutaway.data.fingerprints import Fingerprint, fingerprint_files
from cutaway.data.labelled.labelled_columns import Columns, find_text_and_label
from cutaway.data.stored import Stored
from cutaway.data.tables.endings import JSON_LINES
from cutaway.data.tables.table_files import as_frame, is_parquet, open_table
from cutaway.data.tables.text_tables import frame_columns, json_columns, read_whole, text_rows

_NOTES = re.compile(r"(readme|licen[cs]e|copying|changelog|notes?)(\.\w+)?", re.IGNORECASE)  # beside the data
_FASTTEXT = re.compile(r"((?:__label__\S+\s+)+)(.*)")


@dataclass(frozen=True)
class LabelledSource:
    """Texts and labels as they came, an empty label where there is none, and where each text stands."""

    name: str
    texts: Sequence[str]
    labels: Sequence[str]
    places: Sequence[str]
    fingerprint: Fingerprint
    notes: tuple[str, ...] = ()
    columns: tuple[tuple[str, ...], str] = (
        ("text",),
        "label",
    )  # of the texts and of the labels, as the file calls them


@dataclass(frozen=True)
class LabelledForm:
    """How to read labelled texts: columns, encoding and header, each found where it is None."""

    text: str | None = None
    target: str | None = None
    encoding: str = "utf-8"
    header: bool | None = None


def open_labelled(data: Any, form: LabelledForm) -> LabelledSource:
    """The texts and labels of a path, of a `TextSource` of lines, or of a DataFrame or dict of columns."""
    expect_encoding(form.encoding)
    if isinstance(data, TextSource):
        return _from_table_text("".join(data.pieces()), data.name, data.fingerprint, form)
    if not isinstance(data, (str, os.PathLike)):
        from cutaway.data.tables.reading import fingerprint_frame

        held = data if isinstance(data, Stored) else None
        frame = as_frame(data) if held is None else held.frame()
        name = str(frame.attrs.get("name", "a table in memory"))
        fingerprint = fingerprint_frame(frame) if held is None else held.fingerprint()
        return _from_columns(frame_columns(frame), name, fingerprint, form, (), 1)
    path = Path(data).expanduser()
    if path.is_dir():
        return _from_folder(path, form)
    files = find_files(path)
    fingerprint = fingerprint_files(files)
    if zipfile.is_zipfile(path):
        members = _members(path)
        if len(members) > 1:
            return _from_classes(path.name, _by_class(members), _zip_reader(path, form.encoding), fingerprint, form)
    if is_parquet(path):
        return _from_columns(frame_columns(open_table(path, form.encoding)), path.name, fingerprint, form, (), 1)
    text = read_whole(path, form.encoding)
    if any(ending in path.name.casefold() for ending in JSON_LINES):
        return _from_columns(json_columns(text, path.name), path.name, fingerprint, form, (), 1)
    return _from_table_text(text, path.name, fingerprint, form)


# Tables ---------------------------------------------------------------------------------------------------------------


def _from_table_text(text: str, name: str, fingerprint: Fingerprint, form: LabelledForm) -> LabelledSource:
    lines = [line for line in text.split("\n") if line.strip()]
    if not lines:
        raise ValueError(f"labelled texts must hold at least one line, got {name}, which is empty; give one with lines")
    if all(line.startswith("__label__") for line in lines):
        return _from_fasttext(lines, name, fingerprint)
    try:
        layout, rows = text_rows(text, name, form.header)
    except csv.Error as error:
        raise ValueError(f"a table must be CSV, got {name} which is not ({error}); save it as CSV again") from error
    columns = {column: [row[i].strip() for row in rows] for i, column in enumerate(layout.names)}
    notes = []
    if layout.header_found and len(columns) > 1:
        first = ", ".join(layout.names[:3]) if layout.header else ", ".join(f"{field[:20]}" for field in rows[0][:3])
        notes.append(
            f"header: the first row ({first}) is taken for names; if it holds data, use --no-header"
            if layout.header
            else f"no header: the first row ({first}) is taken for data; if it holds names, use --header"
        )
    return _from_columns(columns, name, fingerprint, form, tuple(notes), 1 + layout.header)


def _from_fasttext(lines: Sequence[str], name: str, fingerprint: Fingerprint) -> LabelledSource:
    texts, labels = [], []
    for number, line in enumerate(lines, start=1):
        found = _FASTTEXT.fullmatch(line)
        names = found[1].split() if found else line.split()
        if len(names) > 1:
            raise ValueError(
                f"every text must have one label, got {len(names)} ({' '.join(names)}) in line {number:,} of {name}; "
                "keep one of them"
            )
        texts.append(found[2].strip() if found else "")
        labels.append(names[0].removeprefix("__label__").replace("_", " "))
    return LabelledSource(name, texts, labels, [f"line {i:,}" for i in range(1, len(lines) + 1)], fingerprint)


def _from_columns(
    columns: Columns, name: str, fingerprint: Fingerprint, form: LabelledForm, notes: tuple[str, ...], first: int
) -> LabelledSource:
    texts, label = find_text_and_label(columns, name, form.text, form.target)
    joined = ["\n".join(filter(None, parts)) for parts in zip(*(columns[one] for one in texts), strict=True)]
    if form.text is None or form.target is None:
        told = f"texts are in the column {texts[0]!r}, labels in {label!r}; to choose others: --text, --target"
        notes = (*notes, told) if len(columns) > 2 or form.text or form.target else (*notes, told.split(";")[0])
    places = [f"row {i:,}" for i in range(first, first + len(joined))]
    return LabelledSource(name, joined, columns[label], places, fingerprint, notes, (texts, label))


# A file or a folder for every class -----------------------------------------------------------------------------------


def _from_folder(path: Path, form: LabelledForm) -> LabelledSource:
    files = {name: file for name, file in find_files(path).items() if not _NOTES.fullmatch(file.name)}
    if not files:
        raise ValueError(f"a folder of labelled texts must hold files, got {path} with none; look for a misspelling")
    if len(files) == 1:
        return open_labelled(next(iter(files.values())), form)
    fingerprint = fingerprint_files(files)
    tops = {name.split("/")[0] for name in files if "/" in name}
    if {"train", "test"} <= tops:
        raise ValueError(
            f"the sub-folders of labelled texts are their classes, got train and test in {path}; "
            f"use --data {path / 'train'} --test-file {path / 'test'}"
        )
    return _from_classes(
        path.name, _by_class(list(files)), lambda name: read_whole(files[name], form.encoding), fingerprint, form
    )


def _members(path: Path) -> list[str]:
    """The data files of a zip, without the notes that archives carry beside them."""
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
    return [
        name
        for name in names
        if not any(part.startswith((".", "__")) for part in name.split("/"))
        and not _NOTES.fullmatch(name.rsplit("/", 1)[-1])
    ]


def _zip_reader(path: Path, encoding: str) -> Any:
    def read(name: str) -> str:
        with zipfile.ZipFile(path) as archive, archive.open(name) as stream:
            return "".join(read_pieces(stream, encoding, name))

    return read


def _by_class(files: Sequence[str]) -> dict[str, list[str]]:
    """Class → its files: by sub-folder if there are several, else each file is a class.

    >>> _by_class(["data/pos/1.txt", "data/neg/1.txt", "data/neg/2.txt"])
    {'neg': ['data/neg/1.txt', 'data/neg/2.txt'], 'pos': ['data/pos/1.txt']}
    >>> list(_by_class(["names/Arabic.txt", "names/Czech.txt"])), list(_by_class(["rt-pol.neg", "rt-pol.pos"]))
    (['Arabic', 'Czech'], ['neg', 'pos'])
    """
    files = sorted(files)
    paths = [name.split("/") for name in files]
    shared = 0
    while all(len(path) > shared + 1 for path in paths) and len({path[shared] for path in paths}) == 1:
        shared += 1
    below = [path[shared:] for path in paths]
    if all(len(path) > 1 for path in below):
        found: dict[str, list[str]] = {}
        for path, name in zip(below, files, strict=True):
            found.setdefault(path[0], []).append(name)
        return found
    stray = next((name for name, path in zip(files, below, strict=True) if len(path) > 1), None)
    if stray is not None:
        raise ValueError(
            f"labelled texts come in a sub-folder a class or in a file a class, got both ({stray} beside "
            f"{next(name for name, path in zip(files, below, strict=True) if len(path) == 1)}); keep one kind"
        )
    return {label: [name] for label, name in zip(_class_names([path[-1] for path in below]), files, strict=True)}


def _class_names(files: Sequence[str]) -> list[str]:
    """What tells files apart: their names without the parts between dots that all of them have."""
    parts = [name.split(".") for name in files]
    while all(len(part) > 1 for part in parts) and len({part[-1] for part in parts}) == 1:
        parts = [part[:-1] for part in parts]
    while all(len(part) > 1 for part in parts) and len({part[0] for part in parts}) == 1:
        parts = [part[1:] for part in parts]
    return [".".join(part) for part in parts]


def _from_classes(
    name: str, classes: Mapping[str, Sequence[str]], read: Any, fingerprint: Fingerprint, form: LabelledForm
) -> LabelledSource:
    for setting in ("text", "target"):
        if getattr(form, setting) is not None:
            raise ValueError(
                f"{setting} names a column of a table, got {getattr(form, setting)!r} for {name}, where each of the "
                f"{len(classes)} classes has its files; leave it out"
            )
    several = any(len(files) > 1 for files in classes.values())
    texts, labels, places = [], [], []
    for label, files in classes.items():
        for file in files:
            for place, text in _texts_of(file, read(file), several):
                texts.append(text)
                labels.append(label)
                places.append(place)
    kind = "a text in each file of a sub-folder" if several else "a text on each line of a file"
    note = f"{kind}; {len(classes)} classes by {'sub-folder' if several else 'file'}"
    return LabelledSource(name, texts, labels, places, fingerprint, (note,))


def _texts_of(file: str, content: str, whole: bool) -> Iterator[tuple[str, str]]:
    if whole:
        yield file, content.strip()
        return
    for number, line in enumerate(content.rstrip("\n").split("\n"), start=1):
        yield f"line {number:,} of {file}", line.strip()


__all__ = ["LabelledForm", "LabelledSource", "open_labelled"]
