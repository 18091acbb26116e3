r"""The times of rows: dates as people write them, Unix times, years, plain numbers, or several columns that make one.

2024-01-31 13:00 · 31.1.2024 · 1949-01 · 1706702400 · year, month, day, hour · 0, 1, 2 …
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cutaway.data.checks import nearest
from cutaway.data.tables.date_formats import find_format, find_odd_date, looks_dated
from cutaway.extras import need

if TYPE_CHECKING:
    import pandas

TIME_NAMES = (
    "ds",
    "date",
    "datetime",
    "timestamp",
    "time",
    "month",
    "week",
    "day",
    "hour",
    "quarter",
    "year",
    "period",
)
_PARTS = ("year", "month", "day", "hour", "minute", "second")


def read_times(frame: "pandas.DataFrame", columns: Sequence[str], file: str) -> Any:
    """The time of every row: a DatetimeIndex without a zone, or whole numbers."""
    pd = need("pandas", "series", "reading series")
    for column in columns:
        expect_column(frame, column, "time", file)
        if frame[column].isna().any():
            row = int(np.argmax(frame[column].isna().to_numpy()))
            raise ValueError(
                f"every row must have a time, got none in {int(frame[column].isna().sum()):,} of {len(frame):,} rows "
                f"of {column!r} (the first is row {row + 1:,}) of {file}; fill it or leave these rows out"
            )
    if len(columns) == 1:
        return _read(frame[columns[0]], columns[0], file)
    lowered = [column.casefold() for column in columns]
    if set(lowered) <= set(_PARTS) and "year" in lowered:
        parts = (
            frame[list(columns)]
            .set_axis(lowered, axis=1)
            .assign(**{name: 1 for name in ("month", "day") if name not in lowered})
        )
        return _whole(pd.to_datetime(parts, errors="coerce"), parts, file)
    first, *rest = (frame[column].astype(str) for column in columns)
    return _read(first.str.cat(rest, sep=" "), " ".join(columns), file)


def expect_column(frame: "pandas.DataFrame", name: str, role: str, file: str) -> None:
    """A column that a setting names must be there."""
    if name not in frame.columns:
        known = [str(column) for column in frame.columns]
        raise ValueError(
            f"--{role} must name a column, got {name!r} for {file}; the nearest of its {len(known)} are: "
            f"{nearest(name, known)}"
        )


def _read(column: "pandas.Series", name: str, file: str) -> Any:
    pd = need("pandas", "series", "reading series")
    kinds = pd.api.types
    if isinstance(column.dtype, pd.PeriodDtype):
        return pd.DatetimeIndex(column.dt.to_timestamp()).as_unit("us")
    if kinds.is_datetime64_any_dtype(column):
        return _naive(pd.DatetimeIndex(column))
    if kinds.is_numeric_dtype(column) and not kinds.is_bool_dtype(column):
        return _of_numbers(column, name, file)
    texts = column.astype(str).str.strip()
    distinct = list(texts.unique())
    found = find_format(distinct) if looks_dated(distinct) else None
    if found is not None:
        when = pd.to_datetime(texts, utc=True, errors="coerce", format=found.format)
        return _whole(_local(when, texts), texts, file)
    when = pd.to_datetime(texts, errors="coerce", format="ISO8601", utc=True)
    if not when.isna().any():
        return _whole(_local(when, texts), texts, file)
    quarters = _quarters(texts)
    if quarters is not None:
        return quarters
    odd = find_odd_date(distinct)
    if odd is not None:
        row = int(np.argmax((texts == odd.text).to_numpy()))
        raise ValueError(
            f"times must be dates written in one way, got {odd.text!r} in row {row + 1:,} of {name!r} of {file} where "
            f"others are as {odd.usual!r}; write all in one way"
        )
    raise ValueError(
        f"times must be dates or whole numbers, got {distinct[0]!r} in {name!r} of {file}; name the column of "
        "times: --time COLUMN"
    )


def _local(when: "pandas.Series", texts: "pandas.Series") -> "pandas.Series":
    """Times of day with a zone count in UTC, so that no hour is missing or double; whole days as they are written."""
    zoned = texts.str.contains(r"(?:[T ]\d\d:?\d\d.*)(?:Z|[+-]\d\d:?\d\d)$", regex=True)
    if not zoned.any():
        return when
    pd = need("pandas", "series", "reading series")
    walls = pd.to_datetime(texts.str.replace(r"(Z|[+-]\d\d:?\d\d)$", "", regex=True), errors="coerce", format="ISO8601")
    if not walls.isna().any() and bool((walls == walls.dt.normalize()).all()):
        return walls
    return when


def _whole(when: "pandas.Series", texts: "pandas.Series | pandas.DataFrame", file: str) -> "pandas.DatetimeIndex":
    pd = need("pandas", "series", "reading series")
    bad = when.isna().to_numpy()
    if bad.any():
        row = int(np.argmax(bad))
        text = " ".join(map(str, np.ravel(texts.iloc[row])))
        raise ValueError(f"times must be dates that exist, got {text!r} in row {row + 1:,} of {file}; mend it")
    return _naive(pd.DatetimeIndex(when))


def _naive(when: "pandas.DatetimeIndex") -> "pandas.DatetimeIndex":
    if when.tz is not None:
        local = when.tz_localize(None)
        whole_days = bool((local == local.normalize()).all())
        when = local if whole_days else when.tz_convert("UTC").tz_localize(None)
    return when.as_unit("us")


def _of_numbers(column: "pandas.Series", name: str, file: str) -> Any:
    """Years, Unix times in seconds or milliseconds, days as 20240131, or plain step numbers."""
    pd = need("pandas", "series", "reading series")
    numbers = column.to_numpy(np.float64)
    if (numbers % 1).any():
        at = int(np.argmax(numbers % 1 != 0))
        raise ValueError(
            f"times must be dates or whole numbers, got {numbers[at]:g} in row {at + 1:,} of {name!r} of {file}; "
            "round them, or name another column: --time COLUMN"
        )
    low, high = numbers.min(), numbers.max()
    if name.casefold() in ("year", "jahr", "année", "año", "anno") and low > 1600 and high < 2300:
        return pd.DatetimeIndex([f"{int(year):04d}-01-01" for year in numbers]).as_unit("us")
    for unit, factor in (("s", 1), ("ms", 10**3)):
        if 5e8 * factor < low and high < 5e9 * factor:
            return pd.DatetimeIndex(pd.to_datetime(column.astype(np.int64), unit=unit)).as_unit("us")
    if low >= 19000101 and high <= 22001231:
        when = pd.to_datetime(column.astype(np.int64).astype(str), format="%Y%m%d", errors="coerce")
        if not when.isna().any():
            return pd.DatetimeIndex(when).as_unit("us")
    return numbers.astype(np.int64)


def _quarters(texts: "pandas.Series") -> Any:
    """1999Q1, 1999-Q1, Q1 1999."""
    pd = need("pandas", "series", "reading series")
    parts = texts.str.extract(r"^(?P<a>\d{4})[- ]?[Qq](?P<b>[1-4])$|^[Qq](?P<c>[1-4])[- /]?(?P<d>\d{4})$")
    year, quarter = parts["a"].fillna(parts["d"]), parts["b"].fillna(parts["c"])
    if year.isna().any():
        return None
    months = (quarter.astype(int) * 3 - 2).astype(str)
    return pd.DatetimeIndex(pd.to_datetime(year + "-" + months + "-01")).as_unit("us")


def are_times(column: "pandas.Series") -> bool:
    """Whether a column holds dates, so that it can be taken for the times without being named."""
    pd = need("pandas", "series", "reading series")
    kinds = pd.api.types
    if isinstance(column.dtype, pd.PeriodDtype) or kinds.is_datetime64_any_dtype(column):
        return True
    if kinds.is_numeric_dtype(column):
        return str(column.name).casefold() in TIME_NAMES and not bool((column.to_numpy(np.float64) % 1).any())
    texts = [str(text).strip() for text in column.dropna().unique()]
    return bool(texts) and (looks_dated(texts) or _quarters(pd.Series(texts[:30])) is not None)


__all__ = ["TIME_NAMES", "are_times", "expect_column", "read_times"]
