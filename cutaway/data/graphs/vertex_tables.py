r"""Tables of vertices and of edges as numbers: the features of a property graph.

    number      as it is; where it is missing the mean, and a column of its own says so
    flag        0 or 1
    category    a column for each of its values: 1 for the value that holds (one-hot)
    date        its number of days
    others      left out: free text, names of rows, constants

Numbers are not standardised here: what scale suits them is a matter of the model.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from cutaway.data.checks import nearest
from cutaway.data.graphs.edge_lists import as_names
from cutaway.data.tables.columns import column_numbers, find_column, measure_column, word_codes
from cutaway.data.tables.csv_files import CsvTable
from cutaway.data.tables.encoding import tidy
from cutaway.data.tables.schema import Column
from cutaway.data.tables.table_files import as_frame, open_table
from cutaway.data.tables.text_columns import read_text_columns

if TYPE_CHECKING:
    import pandas

_IDS = ("id", "vertex", "node", "name", "vertex_id", "node_id", "key", "nodeid", "label_id")
_TARGETS = ("label", "class", "target", "y", "category", "club", "community", "group")
_CATEGORIES = 100  # values of a category that get columns, at most


def read_vertex_table(table: Any, encoding: str = "utf-8") -> "tuple[list[str], pandas.DataFrame, str, list[str]]":
    """The names of the vertices, the other columns, what the table is called, and notes. A path or a DataFrame."""
    notes: list[str] = []
    if hasattr(table, "columns") or isinstance(table, dict):
        opened, frame, name = None, as_frame(table).reset_index(drop=True), "the table of vertices"
    else:
        opened, name = open_table(table, encoding), str(table)
        if isinstance(opened, CsvTable):
            frame = read_text_columns(opened.frame, opened.as_written, "," if opened.layout.separator == ";" else ".")[
                0
            ]
            if not opened.layout.header:
                notes.append(
                    f"vertices: no header in {opened.name}: its columns are called column_1 to "
                    f"column_{len(opened.layout.names)}; add a first row with their names if they have any"
                )
        else:
            frame = opened
    if not len(frame.columns):
        raise ValueError(f"a table of vertices needs a column of their names, got none in {name}; add one called id")
    frame = frame.set_axis(list(map(str, frame.columns)), axis=1)
    folded = {column.casefold(): column for column in reversed(frame.columns)}
    plain = [column for column in frame.columns if column.casefold() not in _TARGETS]
    key = next((folded[word] for word in _IDS if word in folded), str((plain or list(frame.columns))[0]))
    ids = frame[key]
    if isinstance(opened, CsvTable):  # names as they are written, NA too: only an empty field is none
        ids = opened.as_names([key])[key]
        ids = ids.where(ids.str.strip() != "", None)
    if ids.isna().any():
        row = int(np.argmax(ids.isna().to_numpy())) + 1
        raise ValueError(
            f"every row of a table of vertices must name its vertex, got none in row {row:,} of {name}; the names are "
            f"taken from column {key!r}"
        )
    return list(as_names(ids)), frame.drop(columns=[key]), name, notes


def align_rows(
    names: Sequence[str], table_names: Sequence[str], frame: "pandas.DataFrame", source: str
) -> "tuple[list[str], pandas.DataFrame]":
    """All vertices and their rows: those of the table in its order. ``names`` are the ends of edges."""
    different: dict[str, int] = {}
    for row, name in enumerate(table_names):
        if name in different:
            raise ValueError(
                f"a table of vertices must have one row a vertex, got {name!r} in rows {different[name] + 1:,} and "
                f"{row + 1:,} of {source}; leave one out"
            )
        different[name] = row
    absent = [name for name in names if name not in different]
    if absent:
        raise ValueError(
            f"every edge must end at a vertex of the table, got {len(absent):,} that {source} does not have, the first "
            f"{absent[0]!r} (nearest there: {nearest(absent[0], list(table_names)[:20_000])}); add their rows, with "
            "empty fields for what is not known, or leave out their edges"
        )
    return list(table_names), frame


def find_target(frame: "pandas.DataFrame", target: str, source: str) -> str:
    """The column of what is to be predicted: as asked for, else one with a usual name, else none ('')."""
    names = list(frame.columns)
    if target:
        if target not in names:
            raise ValueError(
                f"target must be a column of {source}, got {target!r}; the nearest of its {len(names)} columns are: "
                f"{nearest(target, names) or 'none'}"
            )
        return target
    folded = {name.casefold(): name for name in reversed(names)}
    return next((folded[word] for word in _TARGETS if word in folded), "")


def feature_numbers(
    frame: "pandas.DataFrame", what: str
) -> tuple[Float[np.ndarray, "n f"], tuple[Column, ...], list[str]]:
    """The columns of a table as numbers, what each of them is, and notes on what was left out."""
    whole, frame = frame, tidy(frame)
    columns: list[Column] = []
    dropped: list[str] = []
    for name in frame.columns:
        column = measure_column(find_column(frame[name]), frame[name])
        if column.kind == "category" and len(column.categories) > _CATEGORIES:
            column = replace(column, kind="ignored", reason=f"{len(column.categories):,} different values")
        if column.kind in ("ignored", "text"):
            dropped.append(f"{name} ({column.reason or column.kind})")
        else:
            columns.append(column)
    notes = [f"features of {what} left out: {', '.join(dropped[:5])}{', …' * (len(dropped) > 5)}"] if dropped else []
    x, gaps = _table_numbers(frame, columns)
    infinite = _infinite(whole, columns)
    notes += [f"{count:,} {what} have an infinite {name}: taken as missing, and marked" for name, count in infinite]
    if infinite:
        gaps = _table_numbers(frame, [column for column in columns if column.name not in dict(infinite)])[1]
        gaps = max(gaps, *(int(frame[name].isna().sum()) - count for name, count in infinite))
    if gaps:
        notes.append(f"{gaps:,} {what} lack a feature: filled in by the mean, and marked")
    return x, tuple(columns), notes


def _infinite(frame: "pandas.DataFrame", columns: Sequence[Column]) -> list[tuple[str, int]]:
    """The columns of numbers some of which are infinite, and how many."""
    found = []
    for column in columns:
        if column.name not in frame:
            continue
        values = frame[column.name]
        count = int(np.isinf(values.to_numpy(np.float64, na_value=np.nan)).sum()) if values.dtype.kind == "f" else 0
        if count:
            found.append((column.name, count))
    return found


def known_feature_numbers(
    frame: "pandas.DataFrame", columns: Sequence[Column], what: str
) -> tuple[Float[np.ndarray, "n f"], list[str]]:
    """The columns that training had, of a new table, as the same numbers; others are not looked at. Notes, too.

    A category that training did not have is none of its columns; what is missing is the mean of training.
    """
    frame = tidy(frame)
    absent = [column.name for column in columns if column.name not in frame.columns]
    if absent:
        raise ValueError(
            f"a table of {what} must have the columns of training, got none called {absent[0]!r} (nearest there: "
            f"{nearest(absent[0], list(frame.columns)) or 'none'}); add it, with empty fields for what is not known"
        )
    x, gaps = _table_numbers(frame, columns)
    notes = [f"{gaps:,} {what} lack a feature: filled in by the mean of training"] if gaps else []
    for column in columns:
        if column.kind == "category":
            codes, words = word_codes(frame[column.name])
            unseen = sorted(set(words) - set(column.categories))
            if unseen:
                count = int(np.isin(codes, [words.index(word) for word in unseen]).sum())
                notes.append(
                    f"{count:,} {what} have a {column.name} that training had not, as {unseen[0]}: taken as none"
                )
    return x, notes


def feature_labels(columns: Sequence[Column]) -> tuple[str, ...]:
    """The names of the numbers that columns become."""
    return tuple(name for column in columns for name in _names(column))


def _table_numbers(frame: "pandas.DataFrame", columns: Sequence[Column]) -> tuple[Float[np.ndarray, "n f"], int]:
    """The numbers of some columns, side by side, and the most rows that lack one of them."""
    parts = [_numbers(column, frame[column.name]) for column in columns]
    made = [values for part, _ in parts for values in part]
    x = np.stack(made, 1).astype(np.float32) if made else np.empty((len(frame), 0), np.float32)
    return x, max((missing for _, missing in parts), default=0)


def _names(column: Column) -> list[str]:
    if column.kind == "category":
        return [f"{column.name}={value}" for value in column.categories]
    return [column.name, f"{column.name} (missing)"] if column.missing else [column.name]


def _numbers(column: Column, series: "pandas.Series") -> tuple[list[np.ndarray], int]:
    if column.kind == "category":
        codes, words = word_codes(series)
        place = {word: i for i, word in enumerate(words)}
        return [codes == place.get(value, len(words)) for value in column.categories], int((codes < 0).sum())
    values = column_numbers(column, series)
    missing = np.isnan(values)
    filled = np.where(missing, column.mean, values)
    return [filled, missing] if column.missing else [filled], int(missing.sum())


__all__ = [
    "align_rows",
    "feature_labels",
    "feature_numbers",
    "find_target",
    "known_feature_numbers",
    "read_vertex_table",
]
