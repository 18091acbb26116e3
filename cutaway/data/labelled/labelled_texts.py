r"""Labelled texts to train a classifier on: read from whatever they come in, checked, and split by class.

A text that comes several times stays in one part, so that no text of the test was seen in training. Empty texts and
texts without a label are left out, counted and named. A text has one label: a list of one is that label, an empty list
is none, and a list of several is refused.
"""

import ast
import json
import math
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int

from cutaway.data.fingerprints import Fingerprint
from cutaway.data.labelled.labelled_sources import LabelledForm, LabelledSource, open_labelled
from cutaway.data.samples.embedded import resolve
from cutaway.data.splits import Splits, expect_shares, split_groups, text_key, told_repeats
from cutaway.data.text.pairs import normalise

_FEW = 10  # examples of a class, below which it is named
_NAMED = 5  # classes or places in a note, at most
_SCALE = 20  # steps of a scale such as 0.5, 1.0 … 10.0, at most: more different numbers are measures


class TextRows(NamedTuple):
    """Some texts and the numbers of their labels."""

    texts: list[str]
    labels: Int[np.ndarray, "n"]


@dataclass(frozen=True)
class LabelledTexts:
    """Texts with one label each, in three parts. `open_test` opens the third."""

    name: str
    labels: tuple[str, ...]  # in alphabetical order; their places are the numbers of `TextRows.labels`
    splits: Splits[TextRows]
    counts: dict[str, int]
    fingerprint: Fingerprint
    notes: tuple[str, ...] = ()
    columns: tuple[tuple[str, ...], str] = (("text",), "label")  # of the texts and of the labels

    @property
    def train(self) -> TextRows:
        return self.splits.train

    @property
    def validation(self) -> TextRows | None:
        return self.splits.validation

    def open_test(self) -> TextRows:
        """The test texts: see `Splits.open_test`."""
        return self.splits.open_test()

    def summary(self) -> str:
        """What a person should know before training on it."""
        parts = ", ".join(f"{part} {count:,}" for part, count in self.counts.items() if count)
        if self.splits.has_test and not self.counts["test"]:
            parts += ", test in a file of its own"
        sizes = np.bincount(self.train.labels, minlength=len(self.labels))
        shown = sorted(zip(self.labels, sizes.tolist(), strict=True), key=lambda one: -one[1])
        classes = ", ".join(f"{label} {size:,}" for label, size in shown[:12]) + (", …" if len(shown) > 12 else "")
        words = [len(text.split()) for text in self.train.texts]
        notes = "".join(f"\n{self.name}: {note}" for note in self.notes)
        return (
            f"{self.name}: texts for {parts}\n"
            f"{len(self.labels)} classes, in training: {classes}\n"
            f"words in a text: {np.mean(words):.1f} (at most {max(words):,}){notes}\n"
            f"digest: sha256 {self.fingerprint.digest}"
        )


def read_labelled(
    data: Any,
    text: str | None = None,
    target: str | None = None,
    validation: float = 0.1,
    test: float | str | os.PathLike[str] = 0.1,
    seed: int = 0,
    encoding: str = "utf-8",
    header: bool | None = None,
) -> LabelledTexts:
    """Labelled texts of a sample's name, a file, a folder, a zip, a DataFrame or a dict of columns.

    ``text`` and ``target`` name the columns of a table, which are else found; several text columns, with commas
    between, are joined. ``test`` is a share of the texts or a file (or folder) of its own, which is read for its labels
    alone before `open_test`. Texts are drawn at random by ``seed``, each class in its share.
    """
    share = float(test) if isinstance(test, (int, float)) else 0.0
    expect_shares(validation, share)
    form = LabelledForm(text, target, encoding, header)
    source = open_labelled(resolve(data, "labelled"), form)
    texts, labels, notes = _usable(source)
    names = tuple(sorted(set(labels)))
    _expect_classes(names, labels, source)
    ids = _ids(labels, names)
    parts, repeats = _split(texts, ids, validation, share, seed)
    rows = [TextRows([texts[i] for i in part], ids[part]) for part in parts]
    for part, wanted, found in zip(("validation", "test"), (validation, share), parts[1:], strict=True):
        if wanted and not len(found):
            raise ValueError(
                f"every part must have a text, got none for {part}={wanted} of {len(texts)} texts"
                f"{_different(texts)}; "
                f"use more texts or {part}=0"
            )
    opener = (lambda: rows[2]) if share else None
    if not isinstance(test, (int, float)):
        opener = partial(_open_other, _test_path(test), form, names)
        opener()  # a label that training has not is an error now, not after training
    splits = Splits(source.name, rows[0], rows[1] if len(parts[1]) else None, opener)
    counts = dict(zip(("train", "validation", "test"), map(len, parts), strict=True))
    told = (*source.notes, *notes, *_notes_on_classes(names, ids, parts[0]), *repeats)
    return LabelledTexts(source.name, names, splits, counts, source.fingerprint, told, source.columns)


def _usable(source: LabelledSource) -> tuple[list[str], list[str], list[str]]:
    """Texts and labels that can be learned from, and notes on those that cannot."""
    texts, labels, notes = [], [], []
    empty, unlabelled = [], []
    for text, label, place in zip(source.texts, source.labels, source.places, strict=True):
        if not text.strip():
            empty.append(place)
        elif not (label := _one_label(label, place, source.name)):
            unlabelled.append(place)
        else:
            texts.append(text.strip())
            labels.append(normalise(label))
    for what, places in (("empty texts", empty), ("texts without a label", unlabelled)):
        if places:
            notes.append(f"left out: {len(places):,} {what} ({_listed(places)})")
    if not texts:
        raise ValueError(
            f"labelled texts must hold a text with a label, got {source.name} with {len(empty):,} empty texts and "
            f"{len(unlabelled):,} without a label; look at its columns, or say which they are: --text, --target"
        )
    return texts, labels, notes


def _one_label(label: str, place: str, name: str) -> str:
    """The label of a text, also where it is written as a list of one; "" for none.

    >>> _one_label("['sport']", "row 1", "news.csv"), _one_label("[sic]", "row 2", "news.csv")
    ('sport', '[sic]')
    """
    label = label.strip()
    if not (label.startswith(("[", "{", "(")) and label.endswith(("]", "}", ")"))):
        return label
    found = None
    for read in (json.loads, ast.literal_eval):
        try:
            found = read(label)
            break
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
    if isinstance(found, dict) or (isinstance(found, (list, tuple, set)) and len(found) > 1):
        raise ValueError(
            f"every text must have one label, got {label[:60]} in {place} of {name}; keep one of them, or write a row "
            "for each"
        )
    if not isinstance(found, (list, tuple, set)):
        return label
    only = next(iter(found), None)
    return "" if only is None else str(only).strip()


def _different(texts: Sequence[str]) -> str:
    different = len({text_key(text) for text in texts})
    return "" if different == len(texts) else f", of which only {different} are different"


def _listed(things: Sequence[str]) -> str:
    return ", ".join(things[:_NAMED]) + (", …" if len(things) > _NAMED else "")


def _ids(labels: Sequence[str], names: Sequence[str]) -> Int[np.ndarray, "n"]:
    number = {name: i for i, name in enumerate(names)}
    return np.array([number[label] for label in labels], dtype=np.int64)


def _expect_classes(names: Sequence[str], labels: Sequence[str], source: LabelledSource) -> None:
    if len(names) == 1:
        raise ValueError(
            f"a classifier needs at least two classes, got {source.name} where every label is {names[0]!r}; "
            "add texts of another class, or name the column of labels: --target"
        )
    many = len(labels) > 3 and len(names) > len(labels) / 2
    if are_measures(names) or (many and all(is_number(name) for name in names)):
        raise ValueError(
            f"labels must be classes, got {len(names):,} different numbers, such as {names[0]} and {names[-1]}, in the "
            f"column {source.columns[1]!r} of {source.name}; name another column of labels: --target, or write classes "
            "instead of numbers (low, middle, high)"
        )
    if many:
        raise ValueError(
            f"labels must repeat, got {len(names):,} different ones for {len(labels):,} texts in {source.name} (such "
            f"as {names[0][:40]!r}); name the column of labels: --target"
        )


def are_measures(names: Sequence[str]) -> bool:
    """Whether labels are measured numbers, not names: more than a scale has, with digits after the point.

    >>> are_measures([f"{i / 7:.3f}" for i in range(30)]), are_measures(["0.5", "1.0", "1.5"]), are_measures(["1", "2"])
    (True, False, False)
    """
    if len(names) <= _SCALE or not all(is_number(name) for name in names):
        return False
    return sum(float(name) % 1 != 0 for name in names) > len(names) / 2


def is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _split(
    texts: Sequence[str], ids: Int[np.ndarray, "n"], validation: float, test: float, seed: int
) -> tuple[tuple[np.ndarray, ...], list[str]]:
    """The rows of each part, the same text always in one; and notes on texts that come again."""
    parts, firsts = split_groups([text_key(text) for text in texts], validation, test, seed, ids)
    notes = told_repeats(firsts, "texts")
    torn = np.flatnonzero(ids != ids[firsts])
    if len(torn):
        where = texts[int(torn[0])]
        notes.append(f"{len(torn):,} texts come again with another label, such as {where[:60]!r}: look at these labels")
    return parts, notes


def _notes_on_classes(names: Sequence[str], ids: Int[np.ndarray, "n"], train: Int[np.ndarray, "m"]) -> list[str]:
    sizes = np.bincount(ids, minlength=len(names))
    rare = [f"{name} ({size})" for name, size in zip(names, sizes.tolist(), strict=True) if size < _FEW]
    notes = [f"classes with fewer than {_FEW} texts, hard to learn and to measure: {_listed(rare)}"] if rare else []
    folded = Counter(name.casefold() for name in names)
    like = [name for name in names if folded[name.casefold()] > 1]
    if like:
        notes.append(f"labels that differ in capitals alone are taken for different classes: {_listed(like)}")
    unseen = [names[i] for i in np.setdiff1d(np.arange(len(names)), ids[train]).tolist()]
    if unseen:
        notes.append(f"classes that training has no text of: {_listed(unseen)}")
    return notes


def _test_path(test: str | os.PathLike[str]) -> Path:
    from cutaway.data.files import find_files

    find_files(test, setting="test_file")
    return Path(test).expanduser()


def _open_other(path: Path, form: LabelledForm, names: tuple[str, ...]) -> TextRows:
    """The texts of a test file, with the labels of training."""
    texts, labels, _ = _usable(open_labelled(path, form))
    for label in labels:
        if label not in names:
            raise ValueError(
                f"test_file must have the labels of training, got {label!r} in {path.name}; "
                f"the labels are: {_listed(names)}"
            )
    return TextRows(texts, _ids(labels, names))


def count_shared(train: TextRows, other: TextRows) -> int:
    """How many texts of one part are also in training: they test memory, not understanding."""
    seen = {text_key(text) for text in train.texts}
    return sum(text_key(text) in seen for text in other.texts)


__all__ = ["LabelledTexts", "TextRows", "count_shared", "read_labelled"]
