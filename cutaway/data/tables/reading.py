r"""Tables to train on: CSV, Parquet or a DataFrame → a schema that is shown first → train, validation and test rows."""

import hashlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Int

from cutaway.data.files import find_files
from cutaway.data.fingerprints import Fingerprint, fingerprint_files
from cutaway.data.samples.embedded import resolve
from cutaway.data.splits import Splits, expect_shares, split_rows
from cutaway.data.stored import Stored
from cutaway.data.tables.columns import find_column, measure_column
from cutaway.data.tables.csv_files import CsvTable
from cutaway.data.tables.encoding import Encoded, encode_targets, encode_tidy, tidy, without_infinite
from cutaway.data.tables.schema import Column, Label, Schema
from cutaway.data.tables.table_files import as_frame, expect_columns, load_rows, open_table
from cutaway.data.tables.targets import expect_varied, find_labels, find_targets, find_task, has_target, label_ids
from cutaway.data.tables.text_columns import AS_IT_CAME, Reading, note_infinite, read_text_columns

if TYPE_CHECKING:
    import pandas

TEXTS = 10_000  # columns of words, at most


@dataclass(frozen=True)
class Table:
    """A table in three parts, with the schema that its arrays follow. `open_test` opens the third."""

    name: str
    schema: Schema
    splits: Splits[Encoded]
    counts: dict[str, int]
    dropped: int  # rows without a target
    fingerprint: Fingerprint
    notes: tuple[str, ...] = ()  # what was found out about the file, and how to overrule it

    @property
    def train(self) -> Encoded:
        return self.splits.train

    @property
    def validation(self) -> Encoded | None:
        return self.splits.validation

    def open_test(self) -> Encoded:
        """The test rows: see `Splits.open_test`."""
        return self.splits.open_test()

    def summary(self) -> str:
        """What a person should know before training on it."""
        parts = ", ".join(f"{part} {count:,}" for part, count in self.counts.items() if count)
        if self.splits.has_test and not self.counts["test"]:
            parts += ", test in a file of its own"
        dropped = f"; left out {self.dropped:,} rows without a target" if self.dropped else ""
        notes = "".join(f"\n{self.name}: {note}" for note in self.notes)
        lines = f"{self.schema}\n{self.name}: rows for {parts}{dropped}{notes}"
        return f"{lines}\ndigest: sha256 {self.fingerprint.digest}"


class Source(NamedTuple):
    """A table as it came: its rows, its name, and the CSV file that it is from, if it is from one."""

    frame: "pandas.DataFrame"
    name: str
    fingerprint: Fingerprint
    csv: CsvTable | None = None


def read_table(
    table: "str | os.PathLike[str] | pandas.DataFrame | Mapping[str, Any]",
    target: str | Sequence[str] | None = None,
    task: str | None = None,
    validation: float = 0.1,
    test: float | str | os.PathLike[str] = 0.1,
    seed: int = 0,
    encoding: str = "utf-8",
    header: bool | None = None,
    encode: "Callable[[Schema, pandas.DataFrame], Any]" = encode_tidy,
) -> Table:
    """A table with its schema and its parts: a sample's name, a CSV or Parquet file, a DataFrame or a dict of columns.

    ``target`` is the name of a column, or several (in a list, or with commas); without it one called target, label,
    class or the like, else the last. ``test`` is a share of the rows, or a file of its own, which is not read before
    `open_test`. Rows are drawn at random by ``seed``, for classes with each in its share. ``header`` says whether the
    first row of a CSV file holds names; without it, it is found. ``encode`` makes arrays of tidy rows by the schema.
    """
    share = test if isinstance(test, (int, float)) else 0.0
    expect_shares(validation, share)
    frame, readings, source = read_columns(table, encoding, header)
    name, csv = source.name, source.csv
    targets = find_targets(frame, target)
    for each in targets:
        expect_varied(frame[each])
    kept = frame[has_target(frame, targets)]
    task = find_task(kept, targets, task, readings)
    is_classes = task in ("binary", "multi-class")
    classes = kept[targets[0]].astype(str).to_numpy(str) if is_classes else None
    rows = split_rows(len(kept), validation, share, seed, classes)
    for part, wanted, found in zip(("validation", "test"), (validation, share), rows[1:]):
        if wanted and not len(found):
            raise ValueError(
                f"every part must have a row, got none for {part}={wanted} of {len(kept)} rows; "
                f"use more rows or {part}=0"
            )
    written = tidy(csv.as_written(targets))[targets[0]] if csv is not None and is_classes else None
    schema = find_schema(kept, targets, task, rows[0], readings, find_labels(kept, targets, task, written))
    _expect_inputs(schema, name)
    train, held_out = encode(schema, kept.iloc[rows[0]]), encode(schema, kept.iloc[rows[1]])
    test_rows = kept.iloc[rows[2]]
    opener = (lambda: encode(schema, test_rows)) if share else None
    if not isinstance(test, (int, float)):
        expect_columns(schema, test, encoding)  # a wrong file is an error now, not after training
        opener = partial(_open_other, schema, test, encoding, encode)
        if is_classes:
            _expect_known_labels(schema, test, encoding)
    splits = Splits(name, train, held_out if len(rows[1]) else None, opener)
    counts = dict(zip(("train", "validation", "test"), map(len, rows)))
    notes = () if csv is None else tuple(csv.notes())
    return Table(name, schema, splits, counts, len(frame) - len(kept), source.fingerprint, notes)


def read_columns(
    table: Any, encoding: str = "utf-8", header: bool | None = None
) -> "tuple[pandas.DataFrame, dict[str, Reading], Source]":
    """The columns of a table with numbers as numbers, how those that came as text were read, and where it is from."""
    source = _load(table, encoding, header)
    csv = source.csv
    _expect_few_texts(source.frame, source.name)
    frame = tidy(source.frame.reset_index(drop=True))
    _expect_values(frame, source.name)
    decimal = "," if csv is not None and csv.layout.separator == ";" else "."
    frame, readings = read_text_columns(
        frame, None if csv is None else lambda names: tidy(csv.as_written(names)), decimal
    )
    return without_infinite(frame), note_infinite(source.frame) | readings, source


def find_schema(
    frame: "pandas.DataFrame",
    targets: Sequence[str],
    task: str,
    training: Int[np.ndarray, "n"],
    readings: Mapping[str, Reading],
    labels: tuple[Label, ...],
) -> Schema:
    """Kinds from all rows, statistics from the training rows."""
    seen = frame.iloc[training]
    inputs = [name for name in frame.columns if name not in targets]
    columns = tuple(measure_column(find_column(frame[n], readings.get(n, AS_IT_CAME)), seen[n]) for n in inputs)
    found = tuple(_target(frame[t], seen[t], task, readings.get(t, AS_IT_CAME)) for t in targets)
    schema = Schema(columns, found, task, labels)
    if task == "regression":
        return schema
    truth = encode_targets(schema, seen)
    counts = truth.sum(0) if task == "multi-label" else np.bincount(truth, minlength=len(labels))
    return replace(schema, counts=tuple(counts.tolist()), rows_counted=len(seen))


def _target(series: "pandas.Series", seen: "pandas.Series", task: str, reading: Reading) -> Column:
    if task in ("binary", "multi-class"):  # its labels keep their type, in the schema
        return Column(str(series.name), "category", format=reading.format, reason=reading.note)
    if task == "multi-label":
        return measure_column(find_column(series, reading), seen)
    return measure_column(Column(str(series.name), "number", format=reading.format, reason=reading.note), seen)


def _load(table: Any, encoding: str, header: bool | None) -> Source:
    found = resolve(table, "table")
    if isinstance(found, Path):
        opened, fingerprint = open_table(found, encoding, header=header), fingerprint_files(find_files(found))
        if isinstance(opened, CsvTable):
            return Source(opened.frame, found.name, fingerprint, opened)
        return Source(opened, found.name, fingerprint)
    held = found if isinstance(found, Stored) else None
    frame = as_frame(found) if held is None else held.frame()
    fingerprint = fingerprint_frame(frame) if held is None else held.fingerprint()
    return Source(frame, str(frame.attrs.get("name", "table")), fingerprint)


def _open_other(schema: Schema, path: str | os.PathLike[str], encoding: str, encode: Callable[..., Any]) -> Any:
    expect_columns(schema, path, encoding)  # once more: it may have changed since
    frame = tidy(load_rows(schema, path, encoding))
    names = [column.name for column in schema.targets]
    return encode(schema, frame[has_target(frame, names)])


def _expect_known_labels(schema: Schema, path: str | os.PathLike[str], encoding: str) -> None:
    """The labels of a test file must be those of training, which is told before it; rows that do not read wait."""
    try:
        frame = tidy(load_rows(schema, path, encoding))
    except ValueError:
        return
    target = schema.targets[0].name
    try:
        label_ids(schema, frame[has_target(frame, [target])][target])
    except ValueError as error:
        raise ValueError(f"test_file must have the labels of training, got {Path(path).name}: {error}") from None


def fingerprint_frame(frame: "pandas.DataFrame") -> Fingerprint:
    """The fingerprint of a table held in memory: its columns with their types, and its rows as CSV."""
    digest = hashlib.sha256(repr([(str(n), str(t)) for n, t in frame.dtypes.items()]).encode())
    size = 0
    for first in range(0, len(frame), 10_000):
        rows = frame.iloc[first : first + 10_000].to_csv(index=False, header=False).encode()
        digest.update(rows)
        size += len(rows)
    return Fingerprint(digest.hexdigest(), size, taken=time.time_ns())


def _expect_values(frame: "pandas.DataFrame", name: str) -> None:
    rows, width = frame.shape
    if not rows or not width:
        raise ValueError(
            f"a table must hold at least one row, got {name} with {rows} rows of {width} columns; add rows"
        )
    if width < 2:
        raise ValueError(
            f"a table must have a column besides its target, got {name} with 1 column ({frame.columns[0]!r}); "
            "look for the separator between its fields"
        )
    if frame.isna().to_numpy().all():
        raise ValueError(f"a table must hold values, got only missing ones in the {rows:,} rows of {name}; fill it")


def _expect_few_texts(frame: "pandas.DataFrame", name: str) -> None:
    """Numbers are one matrix, however many; each column of words has a list and a matrix of its own."""
    texts = [str(column) for column, kind in frame.dtypes.items() if kind.kind not in "iufbcmM"]
    if len(texts) > TEXTS:
        raise ValueError(
            f"a table can have up to {TEXTS:,} columns of words, got {len(texts):,} in {name} ({', '.join(texts[:3])}, "
            "...); leave out those that say little, or write them as numbers"
        )


def _expect_inputs(schema: Schema, name: str) -> None:
    if not schema.numbers and not schema.categories:
        told = "; ".join(f"{column.name}: {column.reason}" for column in schema.columns[:3])
        raise ValueError(
            f"a table must have a column to predict from, got none of use in {name} ({told}); add columns that vary"
        )


__all__ = ["Source", "Table", "find_schema", "fingerprint_frame", "read_columns", "read_table"]
