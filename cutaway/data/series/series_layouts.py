r"""How a table holds series: long (a row a value), wide (a column a series) or in rows (a row a series).

long     unique_id, ds, y          A, 2024-01-01, 3.1
wide     date, A, B                2024-01-01, 3.1, 7.0
rows     id, V1, V2, V3 …          A, 3.1, 3.2, 2.9        (series may end early)
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cutaway.data.series.time_columns import TIME_NAMES, are_times, expect_column, unreadable
from cutaway.extras import need

if TYPE_CHECKING:
    import pandas

_IDS = ("unique_id", "series", "series_id", "item_id", "id", "ts_id")
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
) -> SeriesLayout:
    """The layout of a table. What the caller names is taken as said; ``others`` are covariates, no series."""
    for role, names in (("series", series), ("time", time), ("target", target)):
        for name in names:
            expect_column(frame, name, role, file)
    free = [name for name in frame.columns if name not in (*series, *time, *target, *others)]
    time = tuple(time) or _find_time(frame, free)
    free = [name for name in free if name not in time]
    if not time and not series and not target:
        rows = _rows(frame, free)
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
        return SeriesLayout("wide", time, (), wide, _left_out(frame, [n for n in free if n not in wide], time, file))
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
    known = next((n for n in free if str(n).casefold() in _IDS), None)
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


def _rows(frame: "pandas.DataFrame", free: list[str]) -> SeriesLayout | None:
    """A row a series: a first column of names, all different, and then numbers that end early in some rows."""
    if len(free) < 3 or len(free) != len(frame.columns):
        return None
    first, rest = frame[free[0]], free[1:]
    if _is_numbers(first) or first.duplicated().any() or not all(_is_numbers(frame[n]) for n in rest):
        return None
    note = f"every row is taken for a series, named by {free[0]!r}; if columns are series, name --time"
    return SeriesLayout("rows", (), (free[0],), tuple(rest), note)


def ragged_rows(frame: "pandas.DataFrame", layout: SeriesLayout) -> list["np.ndarray"]:
    """The values of each row up to its last number."""
    block = frame[list(layout.target)].to_numpy(np.float64)
    there = ~np.isnan(block)
    ends = np.where(there.any(1), block.shape[1] - np.argmax(there[:, ::-1], 1), 0)
    return [row[:end] for row, end in zip(block, ends)]


__all__ = ["SeriesLayout", "find_series_layout", "ragged_rows"]
