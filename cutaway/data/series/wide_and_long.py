r"""The series of a table: one a row (wide), or one a group of rows (long); of a `.ts` file too.

    wide     label, x_1, …, x_T            the archives' way; gaps at the end of a row make its series shorter
    long     series, time, value…, label   one row a step; several values are the channels of one series

Columns are found by their usual names, and by what is in them. One that says which series or when (an id, a counter, a
date) is no step and no channel, and is left out: id_columns.py.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float

from cutaway.data.checks import nearest
from cutaway.data.files import find_files
from cutaway.data.series.id_columns import (
    FIRST_STEP,
    id_channels,
    id_columns,
    left_out_note,
    left_out_values_note,
    numbers_first,
    odd_names,
)
from cutaway.data.series.ts_files import read_ts
from cutaway.data.tables.columns import plain_text
from cutaway.data.tables.csv_files import CsvTable
from cutaway.data.tables.table_files import as_frame, load_frame, open_table

if TYPE_CHECKING:
    import pandas

_LABELS = ("target", "label", "class", "class_label", "category", "y")
_GROUPS = ("series", "unique_id", "series_id", "case", "case_id", "id")
_TIMES = ("time", "t", "step", "ds", "date", "timestamp", "index")


class RawSeries(NamedTuple):
    """Series as they were read: (steps, channels) each, labels as written (None: none), names of the channels."""

    values: list[Float[np.ndarray, "_ c"]]
    labels: list[str | None]
    channels: tuple[str, ...]
    notes: tuple[str, ...] = ()
    target: str = ""  # the column of the class, if there is one
    columns: int = 0  # of the table, that of the class included
    left_out: tuple[str, ...] = ()  # columns that are neither step nor channel nor class


def load_series(
    source: Any,
    target: str = "",
    group: str = "",
    time: str = "",
    encoding: str = "utf-8",
    header: bool | None = None,
    trained: tuple[str, int, Sequence[str]] | None = None,
) -> RawSeries:
    """The series of a file or a DataFrame, with their labels where they have any.

    New series need no class: ``trained`` is the column of the class in training, how many columns there were, and
    which of them were left out.
    """
    if isinstance(source, (str, os.PathLike)):
        path = Path(source).expanduser()
        find_files(path)
        if path.suffixes[:1] == [".ts"]:
            return _of_ts(path, encoding, None if trained is None else trained[2])
        found = open_table(path, encoding, header=header)
        notes = tuple(found.notes()) if isinstance(found, CsvTable) else ()
        named = not isinstance(found, CsvTable) or found.layout.header
        frame, name = load_frame(path, encoding, header=header), path.name
    else:
        frame, name, notes, named = as_frame(source), "the table", (), True
    frame = _with_index(frame).rename(columns=str)
    group = _column(frame, group, _GROUPS, "group", found=lambda c: frame[c].duplicated().any()) or ""
    if trained is None:
        label = _column(frame, target, _LABELS, "target")
    else:
        label = _trained_label(frame, named, *trained)
    columns = len(frame.columns)
    when = _column(frame, time, _TIMES, "time") if group else None
    if trained is None:
        left_out = id_columns(frame, [c for c in (group, label, when) if c], group)
        if not group:
            rest = frame.drop(columns=list(left_out))
            label = label or _label_by_sight(rest, named)
            left_out += odd_names([c for c in rest.columns if c != label])
        notes = (*notes, left_out_note(frame, left_out)) if left_out else notes
    else:
        left_out = _trained_columns(frame, named, *trained)
        if named and not group:
            left_out += odd_names([c for c in frame.columns if c not in (label, *left_out)])
    frame = frame.drop(columns=list(left_out))
    found = _of_long(frame, group, label, when, name, notes) if group else _of_wide(frame, label, name, notes)
    return found._replace(columns=columns, left_out=left_out)


def _with_index(frame: "pandas.DataFrame") -> "pandas.DataFrame":
    """A table with the named levels of its index, such as the id of a series, as columns."""
    names = [name for name in frame.index.names if name is not None and name not in frame.columns]
    return frame.reset_index(names)[[*names, *frame.columns]] if names else frame


def _trained_label(
    frame: "pandas.DataFrame", named: bool, target: str, columns: int, left_out: Sequence[str]
) -> str | None:
    """The column that was the class in training, if it is there; without names, by how many columns there are."""
    if named or len(frame.columns) == columns:
        return target if target in frame.columns else None
    if not left_out or len(frame.columns) != columns - len(left_out):
        return None
    before = sum(_place(name) < _place(target) for name in left_out)
    moved = f"column_{_place(target) - before}"  # ids are missing: the class stands further to the left
    return moved if moved in frame.columns and not _is_numeric(frame[moved]) else None


def _trained_columns(
    frame: "pandas.DataFrame", named: bool, target: str, columns: int, left_out: Sequence[str]
) -> tuple[str, ...]:
    """The columns of new series that were left out in training."""
    if named or len(frame.columns) == columns:
        return tuple(name for name in left_out if name in frame.columns)
    if _trained_label(frame, named, target, columns, left_out) or len(frame.columns) < columns - 1:
        return ()  # ids are missing, with the class or without it
    return tuple(f"column_{_place(name) - (_place(name) > _place(target))}" for name in left_out)


def _place(name: str) -> int:
    """The number of a column without a name: column_3."""
    return int(name.rpartition("_")[2])


def _column(frame: "pandas.DataFrame", asked: str, usual: Sequence[str], setting: str, found: Any = None) -> str | None:
    if asked:
        if asked not in frame.columns:
            raise ValueError(
                f"{setting} must be a column of the table, got {asked!r}; the nearest are: "
                f"{nearest(asked, [*frame.columns])}"
            )
        return asked
    names = [c for c in frame.columns if c.casefold() in usual and (found is None or found(c))]
    return names[0] if names else None


def _label_by_sight(frame: "pandas.DataFrame", named: bool) -> str:
    """The only column of words; else, as in the archives, the first (the last if only that has few values)."""
    words = [c for c in frame.columns if not _is_numeric(frame[c])]
    if len(words) == 1:
        return str(words[0])
    first, last = str(frame.columns[0]), str(frame.columns[-1])
    few = [c for c in (first, last) if frame[c].nunique() <= max(2, len(frame) // 2)]
    if words or not few:
        shown = ", ".join(map(str, words[:5])) or f"{first}, …, {last}"
        raise ValueError(f"one column must be the class, got {shown}; name it with --target")
    return few[0]


def _is_numeric(column: "pandas.Series") -> bool:
    return column.dtype.kind in "iufb"


def _first_word(column: "pandas.Series") -> str:
    """The first value that is no number."""
    for value in column.dropna():
        try:
            float(value)
        except (TypeError, ValueError):
            return repr(value)
    return "no values" if column.isna().all() else repr(column.dropna().iloc[0])


def _of_ts(path: Path, encoding: str, trained: Sequence[str] | None) -> RawSeries:
    found = read_ts(path, encoding)
    values = [x.values for x in found]
    names = _channel_names(values[0].shape[1])
    left_out = id_channels(values, names) if trained is None else tuple(trained)
    notes = (left_out_values_note(values, names, left_out),) if left_out and trained is None else ()
    if FIRST_STEP in left_out and (trained is None or numbers_first(values)):
        values = [x[1:] for x in values]
    kept = [i for i, name in enumerate(names) if name not in left_out]
    if len(kept) < len(names):
        values, names = [x[:, kept] for x in values], tuple(names[i] for i in kept)
    return RawSeries(values, [x.label for x in found], names, notes, left_out=left_out)


def _channel_names(count: int) -> tuple[str, ...]:
    return ("value",) if count == 1 else tuple(f"channel {i + 1}" for i in range(count))


def _of_wide(frame: "pandas.DataFrame", label: str | None, name: str, notes: tuple[str, ...]) -> RawSeries:
    steps = frame if label is None else frame.drop(columns=label)
    if not len(frame):
        raise ValueError(f"there must be a series, got none in {name}; give a row for each")
    odd = [str(c) for c in steps.columns if not _is_numeric(steps[c])]
    if odd:
        raise ValueError(
            f"a table with a series in each row must hold numbers beside the class, got {odd[0]!r} with "
            f"{_first_word(steps[odd[0]])} in {name}; mend it, leave that column out, or give a column that says which "
            "series a row belongs to: --series"
        )
    if not len(steps.columns):
        raise ValueError(f"a series must have a value, got {name} with the class alone; give its values as columns")
    values = _single(steps)
    labels: list[str | None] = [None] * len(frame) if label is None else _labels(frame[label])
    notes = (*notes, *_gaps(values))
    return RawSeries([row[:, None] for row in values], labels, ("value",), notes, label or "", len(frame.columns))


def _single(frame: "pandas.DataFrame") -> Float[np.ndarray, "n c"]:
    """Numbers in single precision, in which 1e39 is infinite."""
    with np.errstate(over="ignore"):
        return np.asarray(frame.to_numpy(np.float64).astype(np.float32))


def _gaps(values: Float[np.ndarray, "n t"]) -> tuple[str, ...]:
    """A note on the missing values before the last one of each series."""
    missing = np.isnan(values)
    after_end = np.flip(np.cumprod(np.flip(missing, 1), 1), 1).astype(bool)
    inside = int((missing & ~after_end).sum())
    return (f"{inside:,} missing values are drawn as straight lines",) if inside else ()


def _of_long(
    frame: "pandas.DataFrame", group: str, label: str | None, time: str | None, name: str, notes: tuple[str, ...]
) -> RawSeries:
    kept = [c for c in frame.columns if c not in (group, label, time)]
    odd = [c for c in kept if not _is_numeric(frame[c])]
    if odd or not kept:
        raise ValueError(
            f"a table with a step in each row must hold numbers beside series, time and class, got "
            f"{odd[0] if odd else 'no other column'!r} in {name}; leave that column out"
        )
    values, labels = [], []
    for key, rows in frame.groupby(group, sort=False):
        ordered = rows if time is None else rows.sort_values(time, kind="stable")
        if time is not None and ordered[time].duplicated().any():
            twice = ordered[time][ordered[time].duplicated()].iloc[0]
            raise ValueError(
                f"a series must have one row a time, got {twice} twice in series {key} of {name}; keep one"
            )
        values.append(_single(ordered[kept]))
        own = [None] if label is None else list(dict.fromkeys(_labels(rows[label])))
        if len(own) > 1:
            raise ValueError(
                f"a series must have one class, got {own[0]} and {own[1]} in series {key} of {name}; "
                "name the column of the class with --target"
            )
        labels.append(own[0])
    return RawSeries(values, labels, tuple(kept), notes, label or "", len(frame.columns))


def _labels(column: "pandas.Series") -> list[str | None]:
    """Classes as text: 1 and 1.0 are one class; None where there is none."""
    return [None if missing else plain_text(value) for value, missing in zip(column, column.isna(), strict=True)]


__all__ = ["RawSeries", "load_series"]
