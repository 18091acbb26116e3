r"""Images ready to train on: files or arrays → one size → train, validation and test.

All parts share one array of bytes, mapped into memory from the cache; a part is a list of its rows. A model is given
pixels from 0 to 1 and brings them to the scale that suits it by itself.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from jaxtyping import Int, UInt8

from cutaway.data.files import find_files
from cutaway.data.fingerprints import Fingerprint
from cutaway.data.images.image_folders import Level
from cutaway.data.images.image_sizes import Fit
from cutaway.data.images.image_sources import ImageForm, ImageSource, open_images
from cutaway.data.images.image_store import Frame, ImageStore, expect_frame, store_images
from cutaway.data.samples.embedded import resolve
from cutaway.data.splits import Splits, expect_shares, split_rows

KIND = "images"  # of the samples
HoldOut = Literal["auto", "classes", "images"]
UNKNOWN = -1  # the class of an image without a label


@dataclass(frozen=True, eq=False)
class ImageRows:
    """Some images of a store: all its ``pixels``, the ``rows`` that these are, their classes and names."""

    store: UInt8[np.ndarray, "n c h w"]
    rows: Int[np.ndarray, "m"]
    targets: Int[np.ndarray, "m"]
    names: np.ndarray  # of text

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, places: Int[np.ndarray, "k"] | slice) -> "ImageRows":
        """Some of these."""
        return ImageRows(self.store, self.rows[places], self.targets[places], self.names[places])

    def pixels(self, places: Int[np.ndarray, "k"] | slice | None = None) -> UInt8[np.ndarray, "k c h w"]:
        """The bytes of some of these, or of all: one gather."""
        return np.take(self.store, self.rows if places is None else self.rows[places], axis=0)


@dataclass(frozen=True)
class ImageData:
    """Images in three parts, and the names of their classes (none without labels). `open_test` opens the third."""

    name: str
    labels: tuple[str, ...]
    shape: tuple[int, int, int]  # channels, height, width
    splits: Splits[ImageRows]
    counts: dict[str, int]
    fingerprint: Fingerprint
    notes: tuple[str, ...] = ()

    @property
    def train(self) -> ImageRows:
        return self.splits.train

    @property
    def validation(self) -> ImageRows | None:
        return self.splits.validation

    def open_test(self) -> ImageRows:
        """The test images: see `Splits.open_test`."""
        return self.splits.open_test()

    def summary(self) -> str:
        """What a person should know before training on it."""
        parts = ", ".join(f"{part} {count:,}" for part, count in self.counts.items() if count)
        if self.splits.has_test and not self.counts["test"]:
            parts += ", test in a file of its own"
        channels, height, width = self.shape
        colours = "grey" if channels == 1 else "colour"
        planes = f"{channels} channel{'s' * (channels > 1)} ({colours})"
        lines = [f"{self.name}: images for {parts}; {height}×{width} pixels, {planes}"]
        if self.labels:
            counts = np.bincount(self.train.targets[self.train.targets >= 0], minlength=len(self.labels))
            trained = [(label, count) for label, count in zip(self.labels, counts, strict=True) if count]
            first = ", ".join(f"{label} {count:,}" for label, count in trained[:10])
            lines.append(f"{len(trained):,} classes in training: {first}{', …' * (len(trained) > 10)}")
            if len(trained) < len(self.labels):
                absent = [label for label, count in zip(self.labels, counts, strict=True) if not count]
                listed = ", ".join(absent[:10]) + ", …" * (len(absent) > 10)
                lines.append(f"{len(absent):,} classes that training never sees: {listed}")
        else:
            lines.append("no labels")
        return "\n".join(
            [*lines, *(f"{self.name}: {note}" for note in self.notes), f"digest: sha256 {self.fingerprint.digest}"]
        )


def read_images(
    data: Any,
    *,
    labelled: bool = False,
    size: int = 0,
    channels: int = 0,
    fit: Fit = "crop",
    shape: tuple[int, int] | None = None,
    target: str = "",
    level: Level = "first",
    validation: float = 0.1,
    test: float | str | os.PathLike[str] = 0.1,
    seed: int = 0,
    strict: bool = False,
    encoding: str = "utf-8",
    hold_out: HoldOut = "images",
) -> ImageData:
    """Images for training: a sample's name, a folder, a zip, a table of paths, idx files, an .npz, or arrays in memory.

    With ``labelled``, images without a label are left out; else they are kept. ``size``, ``channels`` and ``fit``: see
    image_sizes.py; ``shape`` is a (height, width) that is fixed already; ``target`` and ``level``: see image_lists.py
    and image_folders.py. ``test`` is a share, or a path of its own, which is not read before `open_test`; data that
    comes with a test or validation part keeps it. ``strict`` refuses damaged files instead of leaving them out.
    With ``hold_out="classes"`` all images of a class are in one part, so that the classes of validation and test are
    never seen in training; where the folders above the classes make three groups or more (alphabets of letters), whole
    groups are kept together. Each part has two classes or more then; ``"auto"`` keeps images if there are too few.
    """
    share = float(test) if isinstance(test, (int, float)) else 0.0
    expect_shares(validation, share)
    frame, form = Frame(size, channels, fit, shape), ImageForm(target, level, encoding, labelled)
    expect_frame(frame)
    source = open_images(resolve(data, KIND), form)
    store = store_images(source, frame)
    notes = [*source.notes, *store.notes, *damage_notes(source, store, strict)]
    names = tuple(source.labels[i] for i in store.rows)
    kept, labels = _labelled_rows(source.name, names, labelled, notes)
    rows = ImageRows(
        store.pixels, kept, _numbers(names, kept, labels), np.array(source.names, object)[store.rows[kept]]
    )
    parts = np.array([source.parts[i] for i in store.rows[kept]], object)
    units = _units(rows.targets, labels) if hold_out != "images" else None
    train, held, last = _split(rows, parts, validation, share, seed, notes, units)
    too_few = _too_few_classes(rows.targets, parts, train, held, last, validation, share) if units is not None else ""
    if too_few and hold_out == "classes":
        raise ValueError(
            f"images are compared between classes, so that every part needs two or more, got {too_few} of "
            f"{len(labels)} in {source.name}; give more classes, or keep images of each instead: --hold-out images"
        )
    if too_few:
        units = None
        train, held, last = _split(rows, parts, validation, share, seed, [])
        notes.append(f"{len(labels)} classes are too few to keep whole ones out of training: other images of each are")
    opened = (lambda: rows.take(last)) if len(last) else None
    if not isinstance(test, (int, float)):
        other = test
        find_files(other, setting="test_file")
        stored = store.pixels.shape
        fixed = Frame(0, stored[1], fit, (stored[2], stored[3]))
        opened, last = (lambda: _open_other(other, labels, fixed, form, labelled)), last[:0]
    if units is None:
        _note_small_classes(rows.targets[train], labels, notes, labelled, source.name)
    made = store.pixels.shape[1:]
    return ImageData(
        source.name,
        labels,
        (int(made[0]), int(made[1]), int(made[2])),
        Splits(source.name, rows.take(train), rows.take(held) if len(held) else None, opened),
        {"training": len(train), "validation": len(held), "test": len(last)},
        source.fingerprint,
        tuple(notes),
    )


def read_new_images(
    data: Any, shape: tuple[int, int, int], fit: Fit, labels: Sequence[str] = ()
) -> tuple[ImageRows, list[str]]:
    """Images that a trained model is given: brought to its shape; and notes on those that could not be read.

    A path, several, an array or a list of Pillow images. A class that the folder says, if it is one of ``labels``, is
    kept beside them.
    """
    if hasattr(data, "convert") and hasattr(data, "size"):  # one of Pillow's
        data = [data]
    if getattr(data, "ndim", 0) == 2 or (getattr(data, "ndim", 0) == 3 and data.shape[0] == shape[0] == 3):
        data = data[None]
    source = open_images(data, ImageForm(labelled=False))
    store = store_images(source, Frame(0, shape[0], fit, shape[1:]))
    names = tuple(source.labels[i] for i in store.rows)
    every = np.arange(len(store.rows))
    targets = _numbers(tuple(name if name in labels else None for name in names), every, labels)
    notes = [*source.notes, *damage_notes(source, store, False)]
    return ImageRows(store.pixels, every, targets, np.array(source.names, object)[store.rows]), notes


def damage_notes(source: ImageSource, store: ImageStore, strict: bool) -> list[str]:
    """What to say of files that could not be decoded; an error if they are many, or with ``strict`` any."""
    if not store.damaged:
        return []
    count, whole = len(store.damaged), len(source.names)
    listed = "; ".join(f"{name}: {reason}" for name, reason in list(store.damaged.items())[:3])
    more = "; …" if count > 3 else ""
    if strict or 2 * count > whole:
        way = "mend or remove them, or leave strict out" if strict else "copy the data again"
        raise ValueError(
            f"images must be whole, got {count:,} damaged of {whole:,} in {source.name} ({listed}{more}); {way}"
        )
    return [f"left out: {count:,} damaged of {whole:,} files ({listed}{more})"]


def _labelled_rows(
    name: str, labels: tuple[str | None, ...], labelled: bool, notes: list[str]
) -> tuple[Int[np.ndarray, "m"], tuple[str, ...]]:
    """The rows to keep, and the names of the classes."""
    have = np.array([label is not None for label in labels], bool)
    classes = tuple(sorted({label for label in labels if label is not None}, key=_label_order))
    if labelled and len(classes) < 2:
        raise ValueError(
            f"a classifier needs images of two classes or more, got {', '.join(classes) or 'images without labels'} in "
            f"{name}; put the images of each class into a folder of its own, or give a table of paths and labels"
        )
    if have.any() and not have.all():
        missing = f"{int((~have).sum()):,} images without a label"
        notes.append(f"left out: {missing}" if labelled else f"{missing} are used too")
    return np.flatnonzero(have) if labelled else np.arange(len(labels)), classes


def _numbers(labels: Sequence[str | None], rows: Int[np.ndarray, "m"], classes: Sequence[str]) -> Int[np.ndarray, "m"]:
    place: dict[str | None, int] = {label: i for i, label in enumerate(classes)}
    return np.array([place.get(labels[i], UNKNOWN) for i in rows], np.int64)


def _split(
    rows: ImageRows,
    parts: np.ndarray,
    validation: float,
    test: float,
    seed: int,
    notes: list[str],
    units: Int[np.ndarray, "n"] | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Places of train, validation and test: the data's own parts where it has them, else shares drawn at random."""
    held, last = np.flatnonzero(parts == "validation"), np.flatnonzero(parts == "test")
    rest = np.flatnonzero((parts == "") | (parts == "train"))
    own = [word for word, part in (("validation", held), ("test", last)) if len(part)]
    if own:
        notes.append(f"the data has its own part for {' and '.join(own)}")
    shares = 0.0 if len(held) else validation, 0.0 if len(last) else test
    if units is None:
        drawn = split_rows(len(rest), *shares, seed, rows.targets[rest])
        train, extra_held, extra_last = (rest[part] for part in drawn)
    else:
        known = np.unique(units[rest])
        train, extra_held, extra_last = (
            rest[np.isin(units[rest], known[part])] for part in split_rows(len(known), *shares, seed)
        )
    return train, held if len(held) else extra_held, last if len(last) else extra_last


def _too_few_classes(
    targets: Int[np.ndarray, "n"],
    parts: np.ndarray,
    train: np.ndarray,
    held: np.ndarray,
    last: np.ndarray,
    validation: float,
    test: float,
) -> str:
    """Which part that was drawn has fewer than two classes, in words; "" if none."""
    asked = {"training": True, "validation": validation > 0, "test": test > 0}
    for (name, wanted), part in zip(asked.items(), (train, held, last), strict=True):
        own = name in set(parts)  # a part of the data's own is as it is
        classes = len(set(targets[part].tolist()))
        if wanted and not own and classes < 2:
            return f"{classes} for {name}"
    return ""


def _units(targets: Int[np.ndarray, "n"], labels: Sequence[str]) -> Int[np.ndarray, "n"]:
    """What must not be taken apart: the number of each image's class, or of the group that its class is in."""
    groups = [label.rsplit("/", 1)[0] if "/" in label else "" for label in labels]
    if all(groups) and len(set(groups)) >= 3:
        return np.unique(groups, return_inverse=True)[1][targets]
    return targets


def _note_small_classes(
    targets: Int[np.ndarray, "n"], labels: Sequence[str], notes: list[str], labelled: bool, name: str
) -> None:
    if not labelled:
        if not len(targets):
            raise ValueError(f"there must be an image to train on, got none in {name}; lower validation and test")
        return
    counts = np.bincount(targets, minlength=len(labels))
    absent = [label for label, count in zip(labels, counts, strict=True) if not count]
    if absent:
        raise ValueError(
            f"every class needs an image to train on, got none for {', '.join(absent[:5])} of {name}; give more images "
            "of it, leave it out, or lower validation and test"
        )
    single = [label for label, count in zip(labels, counts, strict=True) if count == 1]
    if single:
        listed = ", ".join(single[:5]) + (", …" if len(single) > 5 else "")
        notes.append(f"{len(single):,} classes have a single image to train on: {listed}")


def _open_other(path: Any, labels: tuple[str, ...], frame: Frame, form: ImageForm, labelled: bool) -> ImageRows:
    """A test set of its own, brought to the shape of training."""
    source = open_images(path, form)
    store = store_images(source, frame)
    damage_notes(source, store, False)
    names = tuple(source.labels[i] for i in store.rows)
    unknown = sorted({name for name in names if name is not None} - set(labels)) if labels else []
    if unknown:
        raise ValueError(
            f"the classes of a test set must be those of training, got {', '.join(unknown[:5])} in {Path(path).name}; "
            f"they are: {', '.join(labels[:10])}"
        )
    kept = np.array([i for i, name in enumerate(names) if name is not None or not labelled], np.int64)
    if not len(kept):
        raise ValueError(f"a test set needs images with labels, got none in {Path(path).name}; give folders of classes")
    return ImageRows(
        store.pixels, kept, _numbers(names, kept, labels), np.array(source.names, object)[store.rows[kept]]
    )


def _label_order(label: str) -> tuple[int, float, str]:
    """Numbers by their size, then words."""
    try:
        return 0, float(label), label
    except ValueError:
        return 1, 0.0, label


__all__ = ["KIND", "UNKNOWN", "ImageData", "ImageRows", "read_images", "read_new_images"]
