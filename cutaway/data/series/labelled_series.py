r"""Series with a class each: files → train, validation and test, padded to one length.

The forms of files are in wide_and_long.py and ts_files.py. A missing value inside a series is replaced by the straight
line between its neighbours.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from cutaway.data.files import find_files
from cutaway.data.fingerprints import Fingerprint, fingerprint_files
from cutaway.data.samples.embedded import resolve
from cutaway.data.series.wide_and_long import RawSeries, load_series
from cutaway.data.splits import Splits, expect_shares, split_rows
from cutaway.data.tables.reading import fingerprint_frame
from cutaway.data.tables.table_files import as_frame


class SeriesRows(NamedTuple):
    """Series side by side, zero after the end of shorter ones, and the number of the class of each; −1 if unknown."""

    values: Float[np.ndarray, "n t c"]
    lengths: Int[np.ndarray, "n"]
    targets: Int[np.ndarray, "n"]

    def take(self, rows: Int[np.ndarray, "m"]) -> "SeriesRows":
        """Some of them, padded to the longest of all."""
        return SeriesRows(self.values[rows], self.lengths[rows], self.targets[rows])


@dataclass(frozen=True)
class LabelledSeries:
    """Series with classes in three parts. `open_test` opens the third."""

    name: str
    labels: tuple[str, ...]
    channels: tuple[str, ...]
    splits: Splits[SeriesRows]
    counts: dict[str, int]
    fingerprint: Fingerprint
    notes: tuple[str, ...] = ()
    target: str = ""  # the column of the class, and how many columns the table had, for reading new series
    columns: int = 0
    left_out: tuple[str, ...] = ()  # columns that tell series apart and are no values of them

    @property
    def train(self) -> SeriesRows:
        return self.splits.train

    @property
    def validation(self) -> SeriesRows | None:
        return self.splits.validation

    def open_test(self) -> SeriesRows:
        """The test series: see `Splits.open_test`."""
        return self.splits.open_test()

    def summary(self) -> str:
        """What a person should know before training on it."""
        parts = ", ".join(f"{part} {count:,}" for part, count in self.counts.items() if count)
        if self.splits.has_test and not self.counts["test"]:
            parts += ", test in a file of its own"
        steps = self.train.lengths
        span = f"{steps[0]:,}" if steps.min() == steps.max() else f"{steps.min():,} to {steps.max():,}"
        counts = np.bincount(self.train.targets, minlength=len(self.labels))
        classes = ", ".join(f"{label} {count:,}" for label, count in list(zip(self.labels, counts, strict=True))[:10])
        more = ", …" if len(self.labels) > 10 else ""
        channels = f", {len(self.channels)} channels ({', '.join(self.channels[:6])})" if len(self.channels) > 1 else ""
        return "\n".join(
            [
                f"{self.name}: series for {parts}; {span} steps{channels}",
                f"classes in training: {classes}{more}",
                *(f"{self.name}: {note}" for note in self.notes),
                f"digest: sha256 {self.fingerprint.digest}",
            ]
        )


def read_labelled_series(
    source: Any,
    target: str = "",
    group: str = "",
    time: str = "",
    validation: float = 0.2,
    test: float | str | os.PathLike[str] = 0.2,
    seed: int = 0,
    encoding: str = "utf-8",
    header: bool | None = None,
) -> LabelledSeries:
    """Series with classes: a sample's name, a CSV, Parquet or .ts file, or a DataFrame.

    ``target`` is the column of the class, ``group`` the column that says which series a row belongs to (long form),
    ``time`` the one that orders its rows; without them they are found by their names. ``test`` is a share, or a file of
    its own, which is not read before `open_test`.
    """
    share = test if isinstance(test, (int, float)) else 0.0
    expect_shares(validation, share)
    source = resolve(source, "labelled series")
    raw = load_series(source, target, group, time, encoding, header)
    name = (
        Path(source).name
        if isinstance(source, (str, os.PathLike))
        else getattr(source, "attrs", {}).get("name", "series")
    )
    unlabelled = sum(label is None for label in raw.labels)
    kept = [i for i, label in enumerate(raw.labels) if label is not None]
    labels = tuple(sorted({str(raw.labels[i]) for i in kept}, key=_label_order))
    if len(labels) < 2:
        raise ValueError(
            f"a classifier needs series of two classes or more, got {', '.join(labels) or 'none'} in {name}; name the "
            "column of the class with --target"
        )
    rows = as_rows([raw.values[i] for i in kept], [str(raw.labels[i]) for i in kept], labels, name)
    parts = split_rows(len(kept), validation, share, seed, rows.targets)
    train, held, last = (rows.take(part) for part in parts)
    other = None if isinstance(test, (int, float)) else test
    opened = (lambda: last) if len(last.targets) else None
    if other is not None:
        find_files(other, setting="test_file")
        opened = lambda: _open_other(other, labels, raw, (group, time, encoding, header))
    absent = [label for label, count in zip(labels, np.bincount(train.targets, minlength=len(labels))) if not count]
    if absent:
        raise ValueError(
            f"every class needs a series to train on, got none for {', '.join(absent[:5])} of {name}; give more "
            "series of it, or leave it out"
        )
    notes = raw.notes + ((f"left out: {unlabelled:,} series without a class",) if unlabelled else ())
    if isinstance(source, (str, os.PathLike)):
        mark = fingerprint_files(find_files(source))
    else:
        mark = fingerprint_frame(as_frame(source))
    return LabelledSeries(
        name,
        labels,
        raw.channels,
        Splits(name, train, held if len(held.targets) else None, opened),
        {"training": len(train.targets), "validation": len(held.targets), "test": len(last.targets)},
        mark,
        notes,
        raw.target,
        raw.columns,
        raw.left_out,
    )


def _open_other(
    path: Any, labels: Sequence[str], train: RawSeries, how: tuple[str, str, str, bool | None]
) -> SeriesRows:
    raw = load_series(path, "", *how, trained=(train.target, train.columns, train.left_out))
    expect_channels(raw.channels, train.channels, Path(path).name)
    unknown = sorted({str(label) for label in raw.labels} - set(labels))
    if unknown:
        raise ValueError(
            f"the classes of a test file must be those of training, got {', '.join(unknown[:5])} in {Path(path).name}; "
            f"they are: {', '.join(labels[:10])}"
        )
    return as_rows(raw.values, [str(label) for label in raw.labels], labels, Path(path).name)


def expect_channels(found: Sequence[str], wanted: Sequence[str], name: str) -> None:
    """Series must have as many channels as those of training."""
    if len(found) != len(wanted):
        raise ValueError(
            f"series must have the {len(wanted)} channels of training, got {len(found)} in {name}; "
            f"they are: {', '.join(wanted[:6])}"
        )


def _label_order(label: str) -> tuple[int, float, str]:
    """Numbers by their size, then words."""
    try:
        return 0, float(label), label
    except ValueError:
        return 1, 0.0, label


def as_rows(
    values: Sequence[Float[np.ndarray, "_ c"]], labels: Sequence[str] | None, classes: Sequence[str], name: str
) -> SeriesRows:
    """Series padded to the longest; missing values filled."""
    if not len(values):
        raise ValueError(f"there must be a series, got none in {name}; check the file")
    lengths = np.array([_real_length(x) for x in values])
    if not lengths.all():
        raise ValueError(
            f"a series must have a value, got number {int(np.flatnonzero(lengths == 0)[0]) + 1} of {name} without any; "
            "leave it out"
        )
    endless = next((i for i, x in enumerate(values) if np.isinf(x).any()), None)
    if endless is not None:
        raise ValueError(
            f"a series must be made of numbers below 1e38, got an infinite or larger one in number {endless + 1} of "
            f"{name}; mend it, or leave the field empty"
        )
    out = np.zeros((len(values), int(lengths.max()), values[0].shape[1]), np.float32)
    for i, (x, n) in enumerate(zip(values, lengths, strict=True)):
        out[i, :n] = _filled(x[:n])
    place = {label: i for i, label in enumerate(classes)}
    targets = np.full(len(values), -1) if labels is None else np.array([place[label] for label in labels])
    return SeriesRows(out, lengths, targets)


def _real_length(x: Float[np.ndarray, "t c"]) -> int:
    """Steps up to the last one that has a value."""
    seen = np.flatnonzero(~np.isnan(x).all(1))
    return int(seen[-1]) + 1 if len(seen) else 0


def _filled(x: Float[np.ndarray, "t c"]) -> Float[np.ndarray, "t c"]:
    """Straight lines over gaps, the nearest value before the first and after the last; 0 for an empty channel."""
    gaps = np.isnan(x)
    if not gaps.any():
        return x
    x, places = x.copy(), np.arange(len(x))
    for j in np.flatnonzero(gaps.any(0)):
        here = ~gaps[:, j]
        x[:, j] = np.interp(places, places[here], x[here, j]) if here.any() else 0.0
    return x


__all__ = ["LabelledSeries", "SeriesRows", "as_rows", "expect_channels", "read_labelled_series"]
