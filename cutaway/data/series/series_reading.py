r"""Series to forecast: CSV, Parquet, DataFrames, dicts and arrays → a `SeriesTable` at regular steps.

read_series("sales.csv")                                       unique_id, ds, y are known at sight
read_series("sales.csv", series="shop", time="day", target="sold", known="price", static="region")
read_series({"a": [1.0, 2.0], "b": [5.0, 4.0, 3.0]}, frequency="D")
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int

from cutaway.data.checks import expect_choice
from cutaway.data.files import find_files
from cutaway.data.fingerprints import Fingerprint, fingerprint_files
from cutaway.data.samples.embedded import resolve
from cutaway.data.series.covariates import known_columns, static_columns
from cutaway.data.series.frequencies import Frequency, read_frequency
from cutaway.data.series.missing_values import MISSING, fill_missing
from cutaway.data.series.regular_steps import MERGES, Steps, find_steps, gap_note, place
from cutaway.data.series.series_layouts import ID_NAMES, SeriesLayout, find_series_layout, ragged_rows
from cutaway.data.series.series_table import SeriesTable
from cutaway.data.series.time_columns import TIME_NAMES, are_times, expect_column, read_times
from cutaway.data.series.time_zones import NO_ZONE
from cutaway.data.stored import Stored
from cutaway.data.tables.csv_files import CsvTable
from cutaway.data.tables.reading import fingerprint_frame
from cutaway.data.tables.table_files import as_numbers, open_table
from cutaway.extras import need

if TYPE_CHECKING:
    import pandas

_Named = Callable[[Sequence[str]], "pandas.DataFrame"]
_EPOCH = "1970-01-01"  # where series start whose frequency is known and whose dates are not


def read_series(
    source: Any,
    series: str | Sequence[str] = (),
    time: str | Sequence[str] = (),
    target: str | Sequence[str] = (),
    known: str | Sequence[str] = (),
    static: str | Sequence[str] = (),
    frequency: str | None = None,
    start: str | None = None,
    missing: str = "keep",
    duplicates: str = "refuse",
    encoding: str = "utf-8",
    header: bool | None = None,
    future: Any = None,
) -> SeriesTable:
    """Series of one frequency.

    ``source`` is a sample's name, a CSV or Parquet file, a DataFrame (long, or wide with a column a series), a pandas
    Series, a dict of arrays or of pandas Series, or an array of (steps,) or (steps, series). Columns are found by
    their names and values; ``series``, ``time`` and ``target`` name them (several in a list, or with commas).
    ``known`` are covariates that are known ahead, in rows beyond the last value too; ``static`` hold for a whole
    series. ``frequency`` is pandas' name of the distance of two steps; without it, it is found from the times, and
    without times series have none. ``start`` is the first time of series without times. ``missing`` is keep (as NaN),
    zero, forward, interpolate or refuse; ``duplicates`` is refuse, mean, sum, first or last. ``future`` is another
    table that goes on with the covariates known ahead.
    """
    expect_choice("missing", missing, MISSING)
    expect_choice("duplicates", duplicates, ("refuse", *MERGES))
    given = read_frequency(frequency) if frequency else None
    frame, name, fingerprint, named = _load(source, encoding, header)
    if not len(frame) or not len(frame.columns):
        raise ValueError(
            f"series need values, got {name} with {len(frame)} rows of {len(frame.columns)} columns; add some"
        )
    asked = {"known": _names(known), "static": _names(static)}
    for role, columns in asked.items():
        for column in columns:
            expect_column(frame, column, role, name)
    others = [*asked["known"], *asked["static"]]
    layout = find_series_layout(frame, _names(series), _names(time), _names(target), others, name, named)
    frame = _with_names(frame, layout.series, asked["static"], named)
    if future is not None:
        more, _, _, named = _load(future, encoding, header)
        more = _with_names(more, layout.series, (), named)
        frame = _with_future(frame, layout, asked["known"], more)
    _expect_names(frame, layout, name, in_memory=named is None)
    if layout.kind == "rows":
        table = _of_rows(frame, layout, name)
    else:
        table = _of_times(frame, layout, asked, given, duplicates, name)
    table = replace(table, name=name, fingerprint=fingerprint)
    if table.frequency is None and given is not None:
        table = _dated(table, given, start)
    elif start:
        raise ValueError(f"start is for series without times that have a frequency, got start={start!r}; leave it out")
    return fill_missing(_tidy(table), missing)


def _names(given: str | Sequence[str]) -> list[str]:
    if isinstance(given, str):
        return [part.strip() for part in given.split(",") if part.strip()]
    return list(given)


def _load(
    source: Any, encoding: str, header: bool | None
) -> "tuple[pandas.DataFrame, str, Fingerprint, _Named | None]":
    """A table, its name, its fingerprint, and what gives columns of a CSV file as names: as text, none missing."""
    source = resolve(source, "series")
    if isinstance(source, (str, os.PathLike)):
        files = find_files(source)
        found = open_table(source, encoding, header=header)
        named = found.as_names if isinstance(found, CsvTable) else None
        return as_numbers(found), Path(source).name, fingerprint_files(files), named
    held = source if isinstance(source, Stored) else None
    frame = as_series_frame(source if held is None else held.frame())
    fingerprint = fingerprint_frame(frame) if held is None else held.fingerprint()
    return frame, str(frame.attrs.get("name", "series in memory")), fingerprint, None


def _with_names(
    frame: "pandas.DataFrame", series: Sequence[str], static: Sequence[str], named: "_Named | None"
) -> "pandas.DataFrame":
    """The table with the names of series as they are written: NA (Namibia), null and 007 are names.

    So are the words of static columns.
    """
    wanted = [n for n in (*series, *(n for n in static if frame[n].dtype.kind not in "iufb")) if n in frame.columns]
    if named is None or not wanted:
        return frame
    again = named(wanted)
    return frame.assign(**{name: again[name].str.strip() for name in wanted})


def _expect_names(frame: "pandas.DataFrame", layout: SeriesLayout, file: str, in_memory: bool) -> None:
    """Every row of a long table must say which series it is of."""
    for name in layout.series:
        if name not in frame.columns:
            continue
        absent = (frame[name].isna() | (frame[name].astype(str).str.strip() == "")).to_numpy(bool)
        if absent.any():
            raise ValueError(
                f"every row must name its series, got none in {int(absent.sum()):,} of {len(frame):,} rows of {name!r} "
                f"(the first is row {int(absent.argmax()) + 1:,}) of {file}; fill it or leave these rows out"
                + " (pandas reads a series called NA as missing: read the file with keep_default_na=False)"
                * in_memory
            )


def _with_future(
    frame: "pandas.DataFrame", layout: SeriesLayout, known: list[str], future: "pandas.DataFrame"
) -> "pandas.DataFrame":
    """The table with rows after it that have times and covariates, but no values."""
    pd = need("pandas", "series", "reading series")
    if not known:
        raise ValueError("future is for covariates known ahead, got none that the run knows; train with known=COLUMNS")
    columns = [*layout.series, *layout.time, *known]
    for column in columns:
        expect_column(future, column, "future", "the future")
    return pd.concat([frame, future[columns]], ignore_index=True)


def as_series_frame(source: Any) -> "pandas.DataFrame":
    """Series in memory as a table: long if they are of different lengths, else with a column a series."""
    pd = need("pandas", "series", "reading series")
    if isinstance(source, SeriesTable):
        return source.to_frame()
    if isinstance(source, pd.Series):
        source = source.to_frame("y" if source.name is None else str(source.name))
    if isinstance(source, pd.DataFrame):
        _expect_own_names(source)
        return _with_index(source if all(isinstance(n, str) for n in source.columns) else source.rename(columns=str))
    if isinstance(source, Mapping):
        return _of_dict(source)
    if hasattr(source, "detach"):
        source = source.detach().cpu().numpy()
    if not hasattr(source, "__len__") or isinstance(source, (str, bytes)):
        raise ValueError(
            f"series must be a path, a DataFrame, a dict of arrays or an array, got {type(source).__name__}; "
            "give {name: values}"
        )
    array = np.asarray(source)
    if array.dtype.kind not in "iufb" or array.ndim not in (1, 2):
        raise ValueError(
            f"an array of series must be numbers of (steps,) or (steps, series), got {array.dtype} of shape "
            f"{array.shape}; give {{name: values}} for series of different lengths"
        )
    return pd.DataFrame(array[:, None] if array.ndim == 1 else array).rename(columns=lambda i: f"series_{i + 1}")


def _expect_own_names(frame: "pandas.DataFrame") -> None:
    """Every column must have a name of its own, also as text: 1 and "1" would be two series of one name."""
    names = [str(name) for name in frame.columns]
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise ValueError(
            f"every column of a table of series must have a name of its own, got {twice!r} for "
            f"{names.count(twice)} of {len(names)}; rename them"
        )


def _with_index(frame: "pandas.DataFrame") -> "pandas.DataFrame":
    """A table whose index says when, or which series, with that as a column; row numbers are left out."""
    pd = need("pandas", "series", "reading series")
    index = frame.index
    if isinstance(index, pd.RangeIndex):
        return frame
    if isinstance(index, pd.MultiIndex):
        return frame.reset_index()
    called = "" if index.name is None else str(index.name)
    numbers = pd.api.types.is_numeric_dtype(index)
    dated = not numbers and are_times(index.to_series())
    known = called.casefold() in (*TIME_NAMES, *ID_NAMES)
    if not known and not dated and (numbers or not (called or index.duplicated().any())):
        return frame.reset_index(drop=True)
    usual = "ds" if dated else "unique_id"
    free = called and called not in map(str, frame.columns)
    return frame.rename_axis(called if free else usual).reset_index()


def _of_dict(source: Mapping[Any, Any]) -> "pandas.DataFrame":
    pd = need("pandas", "series", "reading series")
    parts = []
    for name, values in source.items():
        if isinstance(values, pd.Series) and isinstance(values.index, (pd.DatetimeIndex, pd.PeriodIndex)):
            index = values.index if isinstance(values.index, pd.DatetimeIndex) else values.index.to_timestamp()
            parts.append(pd.DataFrame({"unique_id": str(name), "ds": index, "y": values.to_numpy(np.float64)}))
            continue
        array = np.asarray(values)
        if array.ndim != 1 or array.dtype.kind not in "iufb":
            if any(str(key).casefold() in ("ds", "y") for key in source):
                return pd.DataFrame(dict(source))  # columns, not series
            raise ValueError(
                f"a dict of series must have numbers of one axis for each, got {array.dtype} of shape {array.shape} "
                f"for {str(name)!r}; give {{name: list of numbers}}"
            )
        parts.append(pd.DataFrame({"unique_id": str(name), "ds": np.arange(len(array)), "y": array.astype(np.float64)}))
    if not parts:
        raise ValueError("a dict of series must have at least one, got an empty one; give {name: values}")
    if len({str(name) for name in source}) < len(source):
        shown = ", ".join(map(repr, list(source)[:5]))
        raise ValueError(f"every series of a dict must have a name of its own as text, got {shown}; rename them")
    dated = {part["ds"].dtype.kind for part in parts}
    if len(dated) > 1:
        raise ValueError("series must all have dates, or none of them, got some of each; give all an index of dates")
    if {str(key).casefold() for key in source} >= {"ds", "y"}:
        return pd.DataFrame(dict(source))
    return pd.concat(parts, ignore_index=True)


def _of_rows(frame: "pandas.DataFrame", layout: SeriesLayout, name: str) -> SeriesTable:
    values = ragged_rows(frame, layout)
    names = [str(each) for each in frame[layout.series[0]]]
    return SeriesTable(name, names, values, [0] * len(values), notes=(layout.note,))


def _of_times(
    frame: "pandas.DataFrame",
    layout: SeriesLayout,
    asked: dict[str, list[str]],
    given: Frequency | None,
    duplicates: str,
    file: str,
) -> SeriesTable:
    """The series of a long or wide table."""
    for name in layout.target:
        _expect_numbers(frame, name, file)
    if layout.kind == "wide" and asked["static"]:
        raise ValueError(
            f"static columns are for a long table, one row a value, got --static {asked['static'][0]} for {file} with "
            "a column a series; name the column that tells series apart: --series COLUMN"
        )
    times, zone = read_times(frame, layout.time, file) if layout.time else (np.arange(len(frame)), NO_ZONE)
    ids, names = _ids(frame, layout)
    steps = find_steps(times, ids, names, given, file)
    frequency = steps.frequency

    def time_of(i: int, step: int) -> Any:
        if frequency is None:
            return steps.starts[i] + step
        return zone.back(frequency.times(steps.starts[i], step, 1))[0]

    columns = [frame[name].to_numpy(np.float64, na_value=np.nan) for name in layout.target]
    values = [part for column in columns for part in place(steps, column, names, duplicates, time_of)]
    present = _present(steps)
    told = (layout.note, zone.note, *steps.notes, gap_note(values, present, names, time_of))
    notes = [note for note in told if note]
    known, known_names = known_columns(frame, asked["known"], steps, names, duplicates, time_of)
    static, levels = static_columns(frame, asked["static"], ids, names, file)
    copies = len(layout.target)
    if layout.kind == "wide":
        names = [str(name) for name in layout.target]
    return SeriesTable(
        file,
        names,
        values,
        steps.starts * copies if layout.kind == "wide" else steps.starts,
        None if frequency is None else frequency.name,
        "" if frequency is None else frequency.anchor,
        static,
        levels,
        known * copies if layout.kind == "wide" else known,
        known_names,
        columns={} if layout.kind == "wide" else {r: getattr(layout, r) for r in ("series", "time", "target")},
        notes=tuple(notes),
        zone=zone,
    )


def _expect_numbers(frame: "pandas.DataFrame", name: str, file: str) -> None:
    pd = need("pandas", "series", "reading series")
    if not pd.api.types.is_numeric_dtype(frame[name]) and not frame[name].isna().all():
        numbers = pd.to_numeric(frame[name], errors="coerce")
        bad = (numbers.isna() & frame[name].notna()).to_numpy()
        row = int(np.argmax(bad))
        raise ValueError(
            f"the values of series must be numbers, got {frame[name].iloc[row]!r} in row {row + 1:,} of {name!r} of "
            f"{file}; mend it, or name another column: --target COLUMN"
        )
    infinite = np.isinf(frame[name].to_numpy(np.float64, na_value=np.nan))
    if infinite.any():
        row = int(np.argmax(infinite))
        raise ValueError(
            f"the values of series must be finite, got {frame[name].iloc[row]} in row {row + 1:,} of {name!r} of "
            f"{file}; leave the field empty if the value is missing"
        )


def _ids(frame: "pandas.DataFrame", layout: SeriesLayout) -> tuple[Int[np.ndarray, "rows"], list[str]]:
    """The number of each row's series, and the names of the series in the order that they come in."""
    pd = need("pandas", "series", "reading series")
    if layout.kind == "wide":
        return np.zeros(len(frame), np.int64), [str(layout.target[0])]
    columns = [frame[name].astype(str) for name in layout.series]
    joined = columns[0] if len(columns) == 1 else pd.concat(columns, axis=1).agg(" / ".join, axis=1)
    codes, names = pd.factorize(joined)
    return codes.astype(np.int64), [str(name) for name in names]


def _present(steps: Steps) -> list[np.ndarray]:
    """Of each series, at which steps there is a row."""
    found = [np.zeros(length, bool) for length in steps.lengths]
    order = np.argsort(steps.series, kind="stable")
    bounds = np.searchsorted(steps.series[order], np.arange(len(found) + 1))
    for i, there in enumerate(found):
        there[steps.step[order[bounds[i] : bounds[i + 1]]]] = True
    return found


def _dated(table: SeriesTable, frequency: Frequency, start: str | None) -> SeriesTable:
    """Series without times of a frequency that is known: all start at one time."""
    pd = need("pandas", "series", "reading series")
    try:
        first = pd.Timestamp(start or _EPOCH).as_unit("us")
    except ValueError:
        raise ValueError(f"start must be a date, got {start!r}; try start='1990-01-01'") from None
    note = f"no dates: all series are taken to start at {first:%Y-%m-%d}" + ("" if start else "; give --start")
    starts = [frequency.times(first, int(s), 1)[0] for s in table.starts]
    return replace(table, starts=starts, frequency=frequency.name, anchor=frequency.anchor, notes=(*table.notes, note))


def _tidy(table: SeriesTable) -> SeriesTable:
    """Series begin and end with a value; those without any are left out, and named."""
    names, values, starts, known, kept, empty = [], [], [], [], [], []
    for i, each in enumerate(table.values):
        there = np.flatnonzero(~np.isnan(each))
        if not len(there):
            empty.append(table.names[i])
            continue
        first, last = int(there[0]), int(there[-1]) + 1
        kept.append(i)
        names.append(table.names[i])
        values.append(np.ascontiguousarray(each[first:last], np.float64))
        starts.append(table.times(i, first, first + 1)[0] if first else table.starts[i])
        if table.known:
            known.append(table.known[i][first:])
    if not values:
        raise ValueError(f"series need values, got only missing ones in {table.name}; fill it")
    notes = table.notes
    if empty:
        notes = (*notes, f"left out {len(empty):,} series without any value ({', '.join(empty[:3])})")
    static = {name: np.asarray(column)[kept] for name, column in table.static.items()}
    starts = [int(s) if isinstance(s, np.integer) else s for s in starts]
    return replace(table, names=names, values=values, starts=starts, known=known, static=static, notes=notes)


def extend(table: SeriesTable, more: SeriesTable) -> SeriesTable:
    """The series with what came after them, by their names: M4's test file after its training file."""
    rows = {name: i for i, name in enumerate(more.names)}
    absent = [name for name in table.names if name not in rows]
    if absent:
        raise ValueError(
            f"what comes after series must have each of them by its name, got {more.name} without {absent[0]!r} "
            f"({len(absent):,} of {len(table):,} are not there); give the same names"
        )
    joined: list[Float[np.ndarray, "_"]] = []
    for i, name in enumerate(table.names):
        j, length = rows[name], len(table.values[i])
        if more.grid is not None and table.grid is not None and more.starts[j] != table.starts[i]:
            begins, expected = more.starts[j], table.times(i, length, length + 1)[0]
            if begins != expected:
                raise ValueError(
                    f"what comes after a series must start where it ends, got {begins} for {name!r}, which goes on at "
                    f"{expected}; give the values that follow"
                )
        joined.append(np.concatenate([table.values[i], more.values[j]]))
    return replace(table, values=joined)


__all__ = ["as_series_frame", "extend", "read_series"]
