r"""Tables to train on: CSV, Parquet or a DataFrame → a schema that is shown first → train, validation and test rows."""

import hashlib
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int

from cutaway.data.files import find_files
from cutaway.data.fingerprints import Fingerprint, fingerprint_files
from cutaway.data.samples.embedded import resolve
from cutaway.data.splits import Splits, expect_shares, split_rows
from cutaway.data.tables.columns import find_column, measure_column
from cutaway.data.tables.csv_files import read_csv
from cutaway.data.tables.encoding import Encoded, encode, tidy
from cutaway.data.tables.schema import Column, Schema
from cutaway.data.tables.targets import expect_varied, find_labels, find_targets, find_task, has_target
from cutaway.extras import need

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Table:
    """A table in three parts, with the schema that its arrays follow. `open_test` opens the third."""

    name: str
    schema: Schema
    splits: Splits[Encoded]
    counts: dict[str, int]
    dropped: int  # rows without a target
    fingerprint: Fingerprint

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
        return f"{self.schema}\n{self.name}: rows for {parts}{dropped}\ndigest: sha256 {self.fingerprint.digest}"


def read_table(
    table: "str | os.PathLike[str] | pandas.DataFrame",
    target: str | Sequence[str] | None = None,
    task: str | None = None,
    validation: float = 0.1,
    test: float | str | os.PathLike[str] = 0.1,
    seed: int = 0,
    encoding: str = "utf-8",
) -> Table:
    """A table with its schema and its parts: a sample's name, a CSV or Parquet file, or a DataFrame.

    ``target`` is the name of a column, or several (in a list, or with commas); without it one called target, label,
    class or the like, else the last. ``test`` is a share of the rows, or a file of its own, which is not read before
    `open_test`. Rows are drawn at random by ``seed``, for classes with each in its share.
    """
    share = test if isinstance(test, (int, float)) else 0.0
    expect_shares(validation, share)
    frame, name, fingerprint = _load(table, encoding)
    frame = tidy(frame)
    _expect_values(frame, name)
    targets = find_targets(frame, target)
    for each in targets:
        expect_varied(frame[each])
    kept = frame[has_target(frame, targets)]
    task = find_task(kept, targets, task)
    classes = kept[targets[0]].astype(str).to_numpy(str) if task in ("binary", "multi-class") else None
    rows = split_rows(len(kept), validation, share, seed, classes)
    for part, wanted, found in zip(("validation", "test"), (validation, share), rows[1:]):
        if wanted and not len(found):
            raise ValueError(
                f"every part must have a row, got none for {part}={wanted} of {len(kept)} rows; "
                f"use more rows or {part}=0"
            )
    schema = find_schema(kept, targets, task, rows[0])
    _expect_inputs(schema, name)
    train, held_out = encode(schema, kept.iloc[rows[0]]), encode(schema, kept.iloc[rows[1]])
    test_rows = kept.iloc[rows[2]]
    opener = (lambda: encode(schema, test_rows)) if share else None
    if not isinstance(test, (int, float)):
        find_files(test)  # a wrong path is an error now, not after training
        has_header = list(frame.columns) != [f"column_{i + 1}" for i in range(len(frame.columns))]
        opener = partial(_open_other, schema, test, encoding, has_header)
    splits = Splits(name, train, held_out if len(rows[1]) else None, opener)
    counts = dict(zip(("train", "validation", "test"), map(len, rows)))
    return Table(name, schema, splits, counts, len(frame) - len(kept), fingerprint)


def find_schema(frame: "pandas.DataFrame", targets: Sequence[str], task: str, training: Int[np.ndarray, "n"]) -> Schema:
    """Kinds from all rows, statistics from the training rows."""
    seen = frame.iloc[training]
    inputs = [name for name in frame.columns if name not in targets]
    columns = tuple(measure_column(find_column(frame[name]), seen[name]) for name in inputs)
    return Schema(
        columns, tuple(_target(frame[t], seen[t], task) for t in targets), task, find_labels(frame, targets, task)
    )


def _target(series: "pandas.Series", seen: "pandas.Series", task: str) -> Column:
    if task in ("binary", "multi-class"):
        return Column(str(series.name), "category")  # its labels keep their type, in the schema
    column = find_column(series) if task == "multi-label" else Column(str(series.name), "number")
    return measure_column(column, seen)


def load_frame(
    path: str | os.PathLike[str], encoding: str = "utf-8", separator: str | None = None, header: bool | None = None
) -> "pandas.DataFrame":
    """The table of a CSV file (packed or not) or a Parquet file; separator and header are found if not given."""
    files = find_files(path)
    if len(files) > 1:
        raise ValueError(f"a table must be one file, got the folder {path} with {len(files)}; give one of them")
    (file,) = files.values()
    if file.suffix.lower() in (".xlsx", ".xls", ".ods"):
        raise ValueError(f"a table must be CSV or Parquet, got the spreadsheet {file.name}; save its sheet as CSV")
    with open(file, "rb") as opened:
        is_parquet = opened.read(4) == b"PAR1"
    if is_parquet:
        need("pyarrow", "tables", "reading Parquet")
        return need("pandas", "tables", "reading a table").read_parquet(file)
    return read_csv(file, encoding, separator, header)


def _load(
    table: "str | os.PathLike[str] | pandas.DataFrame", encoding: str
) -> tuple["pandas.DataFrame", str, Fingerprint]:
    found = resolve(table, "table")
    if isinstance(found, Path):
        return load_frame(found, encoding), found.name, fingerprint_files(find_files(found))
    return found, str(found.attrs.get("name", "table")), fingerprint_frame(found)


def _open_other(schema: Schema, path: str | os.PathLike[str], encoding: str, header: bool) -> Encoded:
    frame = tidy(load_frame(path, encoding, header=header))
    names = [column.name for column in schema.targets]
    for name in names:
        if name not in frame:
            raise ValueError(
                f"test rows must have the target, got {Path(path).name} without the column {name!r}; its columns are: "
                f"{', '.join(frame.columns)}"
            )
    return encode(schema, frame[has_target(frame, names)])


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
    if frame.isna().all(axis=None):
        raise ValueError(f"a table must hold values, got only missing ones in the {rows:,} rows of {name}; fill it")


def _expect_inputs(schema: Schema, name: str) -> None:
    if not schema.numbers and not schema.categories:
        told = "; ".join(f"{column.name}: {column.reason}" for column in schema.columns[:3])
        raise ValueError(
            f"a table must have a column to predict from, got none of use in {name} ({told}); add columns that vary"
        )


__all__ = ["Table", "find_schema", "fingerprint_frame", "load_frame", "read_table"]
