r"""How a table holds series: long (a row a value), wide (a column a series) or in rows (a row a series).

long     unique_id, ds, y          A, 2024-01-01, 3.1
wide     date, A, B                2024-01-01, 3.1, 7.0
rows     id, V1, V2, V3 …          A, 3.1, 3.2, 2.9        (series may end early)
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cutaway.data.series.time_columns import TIME_NAMES, are_times, expect_column, unreadable
from cutaway.extras import need

if TYPE_CHECKING:
    import pandas

ID_NAMES = ("unique_id", "series", "series_id", "item_id", "id", "ts_id")
_COUNTERS = ("t", "step", "index", "idx", "row", "no", "nr", "unnamed: 0", "column_1")
_TARGETS = ("y", "target", "value", "values", "sales", "demand", "count", "quantity")


class SeriesLayout(NamedTuple):
    """How to read a table: ``kind`` is long, wide or rows; the columns of times, of the series' names and of values."""

    kind: str
    time: tuple[str, ...]
    series: tuple[str, ...]
    target: tuple[str, ...]
    note: str = ""


def find_series_layout(
    frame: "pandas.DataFrame",
    series: Sequence[str],
    time: Sequence[str],
    target: Sequence[str],
    others: Sequence[str],
    file: str,
    as_names: Callable[[Sequence[str]], "pandas.DataFrame"] | None = None,
) -> SeriesLayout:
    """The layout of a table. What the caller names is taken as said; ``others`` are covariates, no series.

    ``as_names`` gives columns of a CSV file as they are written, in which NA and 007 are names.
    """
    for role, names in (("series", series), ("time", time), ("target", target)):
        for name in names:
            expect_column(frame, name, role, file)
    free = [name for name in frame.columns if name not in (*series, *time, *target, *others)]
    time = tuple(time) or _find_time(frame, free)
    free = [name for name in free if name not in time]
    if not time and not target:
        rows = _rows(frame, series, free, as_names)
        if rows is not None:
            return rows
    series = tuple(series) or _find_ids(frame, free, time)
    if not series:
        wide = tuple(target) or tuple(name for name in free if _is_numbers(frame[name]))
        if not wide:
            shown = ", ".join(map(str, frame.columns[:5]))
            raise ValueError(
                f"a table of series must have columns of numbers, got none in {file} ({shown})"
                f"{_odd_value(frame, free)}; mend it, or name the column of values: --target COLUMN"
            )
        if not time and not target:
            _expect_no_dates(frame, wide, file)
        counter = "" if time or target else _counter(frame, wide)
        note = _left_out(frame, [n for n in free if n not in wide], time, file)
        if counter:
            wide = tuple(name for name in wide if name != counter)
            note = "; ".join([f"{counter!r} counts the rows and is no series"] + [note] * bool(note))
        return SeriesLayout("wide", time, (), wide, note)
    return SeriesLayout("long", time, series, (_find_target(frame, free, series, target, file),))


def _left_out(frame: "pandas.DataFrame", names: Sequence[str], time: tuple[str, ...], file: str) -> str:
    """A note on columns that are not read; one that must be the times, and cannot be read as such, is refused."""
    words = [name for name in names if frame[name].notna().any() and not _is_numbers(frame[name])]
    if not words:
        return ""
    if not time:
        texts = {name: [str(text) for text in frame[name].dropna().unique()] for name in words}
        dated = [n for n in words if str(n).casefold() in TIME_NAMES or _look_like_times(texts[n], len(frame))]
        if dated:
            raise ValueError(unreadable(texts[dated[0]], str(dated[0]), file))
    shown = ", ".join(f"{name!r} ({frame[name].dropna().iloc[0]})" for name in words[:3])
    return f"columns of words are not read: {shown}; name what they are: --time, --series or --known COLUMN"


def _look_like_times(texts: Sequence[str], rows: int) -> bool:
    """Whether the texts of a column, one for each row, all have digits: dates of a kind that is not known."""
    return len(texts) == rows and all(any(c.isdigit() for c in text) for text in texts)


def _find_time(frame: "pandas.DataFrame", free: list[str]) -> tuple[str, ...]:
    named = sorted(
        (n for n in free if str(n).casefold() in TIME_NAMES), key=lambda n: TIME_NAMES.index(str(n).casefold())
    )
    lowered = {str(n).casefold(): n for n in named}
    parts = [lowered[p] for p in ("year", "month", "day", "hour") if p in lowered]
    if len(parts) >= 3 and all(_is_numbers(frame[n]) for n in parts):
        return tuple(parts)
    for name in [*named, *free[:3]]:
        if frame[name].notna().any() and are_times(frame[name]):
            return (name,)
    # A column that is called a date, and holds some beside a word or two: reading it says which.
    halves = ((name, frame[name].iloc[len(frame) // 2 :]) for name in named)
    return next(((name,) for name, part in halves if part.notna().any() and are_times(part)), ())


def _expect_no_dates(frame: "pandas.DataFrame", names: Sequence[str], file: str) -> None:
    """A column of numbers that is called a date, and rises with the rows, must not be taken for a series: 2010.01."""
    for name in names:
        if str(name).casefold() in TIME_NAMES and len(names) > 1:
            steps = np.diff(frame[name].to_numpy(np.float64, na_value=np.nan))
            if len(steps) and (steps > 0).all():
                raise ValueError(unreadable([str(frame[name].iloc[0])], str(name), file))


def _counter(frame: "pandas.DataFrame", names: Sequence[str]) -> str:
    """The column, if there is one, that numbers the rows: the first of all, called as a counter is, or not at all."""
    first = names[0]
    if len(names) < 2 or first != frame.columns[0] or str(first).casefold() not in _COUNTERS or len(frame) < 3:
        return ""
    column = frame[first].to_numpy(np.float64, na_value=np.nan)
    return str(first) if column[0] in (0, 1) and bool((np.diff(column) == 1).all()) else ""


def _odd_value(frame: "pandas.DataFrame", free: list[str]) -> str:
    """The first value that is no number in a column that mostly has numbers, in words."""
    pd = need("pandas", "series", "reading series")
    for name in free:
        odd = frame[name].notna() & pd.to_numeric(frame[name], errors="coerce").isna()
        if 0 < odd.sum() < len(frame) / 2:
            row = int(odd.to_numpy().argmax())
            return f", where {name!r} has {frame[name].iloc[row]!r} in row {row + 1:,}"
    return ""


def _is_numbers(column: "pandas.Series") -> bool:
    pd = need("pandas", "series", "reading series")
    kinds = pd.api.types
    return kinds.is_numeric_dtype(column) or (kinds.is_object_dtype(column) and column.isna().all())


def _find_ids(frame: "pandas.DataFrame", free: list[str], time: tuple[str, ...]) -> tuple[str, ...]:
    """The columns that tell series apart, where times come more than once."""
    known = next((n for n in free if str(n).casefold() in ID_NAMES), None)
    if known is not None and (frame[known].duplicated().any() or not time):
        return (known,)
    if not time or not frame.duplicated(list(time)).any():
        return ()
    words = [n for n in free if not _is_numbers(frame[n])]
    for name in words:
        if not frame.duplicated([*time, name]).any():
            return (name,)
    if words and not frame.duplicated([*time, *words]).any():
        return tuple(words)
    return ()


def _find_target(
    frame: "pandas.DataFrame", free: list[str], series: Sequence[str], target: Sequence[str], file: str
) -> str:
    if len(target) > 1:
        raise ValueError(
            f"a long table has one column of values, got --target {', '.join(target)}; give one, or one column a series"
        )
    if target:
        return target[0]
    free = [name for name in free if name not in series and _is_numbers(frame[name])]
    named = [name for wanted in _TARGETS for name in free if str(name).casefold() == wanted]
    if named or len(free) == 1:
        return (named or free)[0]
    raise ValueError(
        f"the column of values must be known, got {len(free)} that could be it in {file} "
        f"({', '.join(map(str, free[:5])) or 'none is of numbers'}); name it: --target COLUMN"
    )


def _rows(
    frame: "pandas.DataFrame",
    series: Sequence[str],
    free: list[str],
    as_names: Callable[[Sequence[str]], "pandas.DataFrame"] | None,
) -> SeriesLayout | None:
    """A row a series: a first column of names, all different, and then numbers that end early in some rows.

    Names may be numbers in a column that the caller named, or that is called id (or the like) in a table with more
    columns than rows: else it may number the rows.
    """
    if len(series) > 1 or len(free) + len(series) < 3 or len(free) + len(series) != len(frame.columns):
        return None
    first = series[0] if series else free[0]
    rest = [name for name in free if name != first]
    names = frame[first] if as_names is None else as_names([first])[first]
    called = str(first).casefold() in ID_NAMES and len(rest) > len(frame)
    if names.duplicated().any() or (_is_numbers(frame[first]) and not series and not called):
        return None
    if not all(_is_numbers(frame[name]) for name in rest):
        return None
    note = f"every row is taken for a series, named by {first!r}; if columns are series, name --time"
    return SeriesLayout("rows", (), (first,), tuple(rest), note)


def ragged_rows(frame: "pandas.DataFrame", layout: SeriesLayout) -> list["np.ndarray"]:
    """The values of each row up to its last number."""
    block = frame[list(layout.target)].to_numpy(np.float64)
    there = ~np.isnan(block)
    ends = np.where(there.any(1), block.shape[1] - np.argmax(there[:, ::-1], 1), 0)
    return [row[:end] for row, end in zip(block, ends)]


__all__ = ["ID_NAMES", "SeriesLayout", "find_series_layout", "ragged_rows"]
