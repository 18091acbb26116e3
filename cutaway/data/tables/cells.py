r"""The cells of a table: numbers and ids of all its columns, and which of them are known.

    number, flag, date    z = (x − mean) / std, and the waves of a date's cycles; 0 where missing
    category              its place in the list of training; 0 where missing, or never seen in training

No column is a target: any cell can be hidden, and restored from the others of its row.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from cutaway.data.checks import nearest
from cutaway.data.fingerprints import Fingerprint
from cutaway.data.splits import Splits, expect_shares, split_rows
from cutaway.data.tables.columns import column_numbers, expect_none, find_column, measure_column, word_codes
from cutaway.data.tables.date_formats import waves
from cutaway.data.tables.encoding import encode_targets
from cutaway.data.tables.reading import read_columns
from cutaway.data.tables.schema import Column, Schema
from cutaway.data.tables.text_columns import AS_IT_CAME

if TYPE_CHECKING:
    import pandas

TASK = "cells"  # of a schema without targets
_FARTHEST = 1e30  # deviations from the mean, as in encoding.py
_FEWEST = 2  # columns: a cell is restored from the others of its row


class Cells(NamedTuple):
    """Rows as arrays; ``known`` has a column for every cell: those of numbers first, then those of categories."""

    numbers: Float[np.ndarray, "n p"]
    categories: Int[np.ndarray, "n q"]
    known: Bool[np.ndarray, "n c"]
    targets: Shaped[np.ndarray, "n ..."] | None = None  # of a task

    def take(self, rows: Any) -> "Cells":
        """Some of the rows."""
        return Cells(*(None if part is None else part[rows] for part in self))  # type: ignore[arg-type]

    @property
    def size(self) -> int:
        """How many rows there are."""
        return len(self.known)


def cell_columns(schema: Schema) -> tuple[Column, ...]:
    """The columns that are cells, in the order of `Cells.known`."""
    return tuple(column for column in schema.columns if column.numbers) + schema.categories


def cell_inputs(schema: Schema) -> tuple[int, ...]:
    """How many inputs each number, flag or date has: its value, and the waves of its cycles."""
    return tuple(1 + 2 * len(column.cycles) for column in schema.columns if column.numbers)


def encode_cells(schema: Schema, frame: "pandas.DataFrame", unknown: Collection[str] = ()) -> Cells:
    """The rows of a tidy table as cells; those of the columns ``unknown`` are not looked at."""
    numbers: list[np.ndarray] = []
    ids: list[np.ndarray] = []
    known: list[np.ndarray] = []
    for column in cell_columns(schema):
        hidden = column.name in unknown
        if not hidden and column.name not in frame:
            raise ValueError(
                f"a table must have the columns of training, got one without {column.name!r}; the nearest of its "
                f"{len(frame.columns)} columns are: {nearest(column.name, list(frame.columns))}"
            )
        if column.numbers:
            found = np.full(len(frame), np.nan) if hidden else column_numbers(column, frame[column.name])
            known.append(~np.isnan(found))
            numbers.append(_inputs(column, found, None if hidden else frame[column.name]))
        else:
            places = np.full(len(frame), -1) if hidden else _places(column, frame[column.name])
            known.append(places >= 0)
            ids.append(np.maximum(places, 0))
    rows = len(frame)
    return Cells(
        np.concatenate(numbers, axis=1).astype(np.float32) if numbers else np.empty((rows, 0), np.float32),
        np.stack(ids, axis=1) if ids else np.empty((rows, 0), np.int64),
        np.stack(known, axis=1),
    )


def encode_labelled_cells(schema: Schema, frame: "pandas.DataFrame", cells: Schema) -> Cells:
    """Rows of a table with a target, as the cells of a ``cells`` schema; a target that is one of them is not shown."""
    names = [column.name for column in schema.targets]
    found = encode_cells(cells, frame, unknown=names)
    return found._replace(targets=encode_targets(schema, frame)) if set(names) <= set(frame.columns) else found


def _inputs(column: Column, values: Float[np.ndarray, "n"], series: "pandas.Series | None") -> Float[np.ndarray, "n k"]:
    z = (values - column.mean) / column.std
    if series is not None:
        rule = f"numbers within {_FARTHEST:.0e} deviations of the mean"
        expect_none(np.abs(z) > _FARTHEST, column.name, series, rule)
    parts = [z[:, None], *(waves(values, cycle) for cycle in column.cycles)]
    return np.nan_to_num(np.concatenate(parts, axis=1), nan=0.0)


def _places(column: Column, series: "pandas.Series") -> Int[np.ndarray, "n"]:
    codes, words = word_codes(series)
    known = {word: i for i, word in enumerate(column.categories)}
    return np.array([*(known.get(word, -1) for word in words), -1], np.int64)[codes]  # code −1, missing, is the last


@dataclass(frozen=True)
class CellTable:
    """A table without a target, in three parts. ``whole`` names its columns of whole numbers."""

    name: str
    schema: Schema
    splits: Splits[Cells]
    counts: dict[str, int]
    whole: tuple[str, ...]
    fingerprint: Fingerprint
    notes: tuple[str, ...] = ()

    @property
    def train(self) -> Cells:
        return self.splits.train

    @property
    def validation(self) -> Cells | None:
        return self.splits.validation

    def open_test(self) -> Cells:
        """The test rows: see `Splits.open_test`."""
        return self.splits.open_test()

    def summary(self) -> str:
        """What a person should know before training on it."""
        parts = ", ".join(f"{part} {count:,}" for part, count in self.counts.items() if count)
        missing = 1 - float(self.train.known.mean())
        told = (
            f"; {missing:.1%} of the cells in training are missing" if missing else "; no cell in training is missing"
        )
        notes = "".join(f"\n{self.name}: {note}" for note in self.notes)
        lines = f"{self.schema}\n{self.name}: rows for {parts}{told}{notes}"
        return f"{lines}\ndigest: sha256 {self.fingerprint.digest}"


def read_cells(
    table: Any,
    leave_out: Sequence[str] = (),
    validation: float = 0.1,
    test: float = 0.1,
    seed: int = 0,
    encoding: str = "utf-8",
    header: bool | None = None,
) -> CellTable:
    """A table (as for `read_table`) whose columns are all cells, but for those to ``leave_out``."""
    expect_shares(validation, test)
    frame, readings, source = read_columns(table, encoding, header)
    for name in leave_out:
        if name not in frame:
            raise ValueError(
                f"leave_out must name columns of the table, got {name!r}; the nearest of its {len(frame.columns)} "
                f"columns are: {nearest(name, list(frame.columns))}"
            )
    rows = split_rows(len(frame), validation, test, seed)
    if not len(rows[0]):
        raise ValueError(f"there must be a row to train on, got none of {len(frame)}; lower validation and test")
    seen = frame.iloc[rows[0]]
    columns = []
    for name in frame.columns:
        if name in leave_out:
            columns.append(Column(name, "ignored", reason="left out by --leave-out"))
            continue
        found = measure_column(find_column(frame[name], readings.get(name, AS_IT_CAME)), seen[name])
        empty = not found.categories if found.kind == "category" else bool(found.numbers) and found.missing == 1
        columns.append(replace(found, kind="ignored", reason="no value in the training rows") if empty else found)
    schema = Schema(tuple(columns), (), TASK)
    _expect_cells(schema, source.name)
    whole = tuple(c.name for c in schema.columns if c.kind == "number" and _is_whole(column_numbers(c, seen[c.name])))
    train, held, last = (encode_cells(schema, frame.iloc[part]) for part in rows)
    splits = Splits(source.name, train, held if held.size else None, (lambda: last) if last.size else None)
    counts = dict(zip(("train", "validation", "test"), map(len, rows)))
    notes = () if source.csv is None else tuple(source.csv.notes())
    return CellTable(source.name, schema, splits, counts, whole, source.fingerprint, notes)


def _is_whole(values: Float[np.ndarray, "n"]) -> bool:
    present = values[~np.isnan(values)]
    return bool((present % 1 == 0).all())


def _expect_cells(schema: Schema, name: str) -> None:
    found = cell_columns(schema)
    if len(found) < _FEWEST:
        told = "; ".join(f"{c.name}: {c.reason}" for c in schema.columns if c not in found and c.reason)
        have = ", ".join(repr(c.name) for c in found) or "none"
        raise ValueError(
            f"a cell is restored from the others of its row, so {_FEWEST} columns must vary, got {have} in {name}"
            + (f" ({told[:300]})" if told else "")
            + "; add columns"
        )


__all__ = [
    "TASK",
    "CellTable",
    "Cells",
    "cell_columns",
    "cell_inputs",
    "encode_cells",
    "encode_labelled_cells",
    "read_cells",
]
