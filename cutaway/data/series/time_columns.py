r"""The times of rows: dates as people write them, Unix times, years, plain numbers, or several columns that make one.

2024-01-31 13:00 · 31.1.2024 · 1949-01 · Jan-10 · 2018-W01 · 2018Q1 · 1706702400 · year, month, day, hour · 0, 1, 2 …
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from cutaway.data.checks import nearest
from cutaway.data.series.period_dates import full_year, read_periods
from cutaway.data.series.time_zones import NO_ZONE, Zone, in_utc, split_zones, without_zone
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
_LOOKED_AT = 10_000  # texts, to name the one that is no date
_PARTS = ("year", "month", "day", "hour", "minute", "second")


def read_times(frame: "pandas.DataFrame", columns: Sequence[str], file: str) -> tuple[Any, Zone]:
    """The time of every row, a DatetimeIndex without a zone, or whole numbers; and the zone that they had."""
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
        if all(pd.api.types.is_numeric_dtype(parts[name]) for name in parts):
            return _whole(pd.to_datetime(parts, errors="coerce"), parts, file), NO_ZONE
    if set(lowered) <= {"year", "month"} or set(lowered) <= {"year", "quarter"} or set(lowered) <= {"year", "week"}:
        year, part = (frame[columns[lowered.index(n)]].astype(str) for n in sorted(lowered, reverse=True))
        letter = {"quarter": "Q", "week": "W", "month": "-"}[min(lowered)]
        joined = year.str.strip() + letter + part.str.strip().str.lstrip("QqWw")
        return _read(joined, " ".join(columns), file)
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


def _read(column: "pandas.Series", name: str, file: str) -> tuple[Any, Zone]:
    pd = need("pandas", "series", "reading series")
    kinds = pd.api.types
    if isinstance(column.dtype, pd.PeriodDtype):
        return pd.DatetimeIndex(column.dt.to_timestamp()).as_unit("us"), NO_ZONE
    if kinds.is_datetime64_any_dtype(column):
        return without_zone(pd.DatetimeIndex(column))
    if kinds.is_numeric_dtype(column) and not kinds.is_bool_dtype(column):
        return _of_numbers(column, name, file), NO_ZONE
    texts = column.astype(str).str.strip()
    zoned = split_zones(texts)
    if zoned is not None:
        return in_utc(pd.Series(_of_texts(zoned.texts, name, file)[0]), zoned, file)
    when, note = _of_texts(texts, name, file)
    return when, NO_ZONE._replace(note=note)


def _of_texts(texts: "pandas.Series", name: str, file: str) -> "tuple[pandas.DatetimeIndex, str]":
    """Times as people write them, without zones; and a note where they could be read in two ways."""
    pd = need("pandas", "series", "reading series")
    distinct = list(texts.unique())
    periods = read_periods(distinct)
    if periods is not None:
        days = dict(zip(distinct, periods, strict=True))
        return pd.DatetimeIndex(np.array([days[text] for text in texts], "datetime64[us]")), ""
    found = find_format(distinct) if looks_dated(distinct) else None
    if found is not None:
        when = _of_format(texts, found.format, file)
        if not found.other:
            return when, ""
        other = _of_format(texts, found.other, file)
        # days and months could change places: the way in which times lie at more regular distances
        ways = [(when, found.format), (other, found.other)][:: -1 if _distances(other) < _distances(when) else 1]
        shown = texts.iloc[-1]
        note = f"{name!r} is read as {_words(ways[0][1])} ({shown} is {ways[0][0][-1]:%Y-%m-%d}), and could be "
        note += f"{_words(ways[1][1])}; write 2024-01-31 to be sure"
        return ways[0][0], note
    when = pd.to_datetime(texts, errors="coerce", format="ISO8601")
    if not when.isna().any():
        return _whole(when, texts, file), ""
    odd = find_odd_date(distinct)
    if odd is not None:
        row = int(np.argmax((texts == odd.text).to_numpy()))
        raise ValueError(
            f"times must be dates written in one way, got {odd.text!r} in row {row + 1:,} of {name!r} of {file} where "
            f"others are as {odd.usual!r}; write all in one way"
        )
    raise ValueError(unreadable(distinct, name, file))


def _of_format(texts: "pandas.Series", written: str, file: str) -> "pandas.DatetimeIndex":
    """Times of one format; years of two digits are of this century unless they lie far ahead."""
    pd = need("pandas", "series", "reading series")
    when = _whole(pd.to_datetime(texts, errors="coerce", format=written), texts, file)
    if "%y" not in written:
        return when
    years = {year: full_year(year % 100) for year in when.year.unique()}
    if all(year == full for year, full in years.items()):
        return when
    moved = [time.replace(year=years[time.year]) for time in when]
    return pd.DatetimeIndex(moved).as_unit("us")


def _distances(when: "pandas.DatetimeIndex") -> int:
    """How many different distances times have: in days, and months for what comes once a month."""
    times = when.unique().sort_values()
    months = {12 * (b.year - a.year) + b.month - a.month for a, b in pairwise(times)}
    days = set(np.diff(times.to_numpy()).tolist())
    return min(len(days), len(months) if times.day.nunique() == 1 else len(days))


def _words(written: str) -> str:
    return "day, month, year" if written.index("%d") < written.index("%m") else "month, day, year"


def unreadable(texts: Sequence[str], name: str, file: str) -> str:
    """What to say of texts that are no dates: the first that is none, where others are."""
    readable = [read_periods([text]) is not None for text in texts[:_LOOKED_AT]]
    first = texts[readable.index(False)] if False in readable else texts[0]
    return (
        f"times must be dates or whole numbers, got {first!r} in {name!r} of {file}; write them as 2024-01-31 (or "
        "2024-01, 2024-W05, 2024Q1, Jan 2024), or name another column of times: --time COLUMN"
    )


def _whole(when: "pandas.Series", texts: "pandas.Series | pandas.DataFrame", file: str) -> "pandas.DatetimeIndex":
    pd = need("pandas", "series", "reading series")
    bad = when.isna().to_numpy()
    if bad.any():
        row = int(np.argmax(bad))
        text = " ".join(map(str, np.ravel(texts.iloc[row])))
        raise ValueError(f"times must be dates that exist, got {text!r} in row {row + 1:,} of {file}; mend it")
    return pd.DatetimeIndex(when).as_unit("us")


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
    if (
        name.casefold() in TIME_NAMES
        and low >= 150001
        and high <= 229912
        and ((numbers % 100 >= 1) & (numbers % 100 <= 12)).all()
    ):
        return pd.DatetimeIndex(pd.to_datetime(column.astype(np.int64).astype(str), format="%Y%m")).as_unit("us")
    if low >= 19000101 and high <= 22001231:
        when = pd.to_datetime(column.astype(np.int64).astype(str), format="%Y%m%d", errors="coerce")
        if not when.isna().any():
            return pd.DatetimeIndex(when).as_unit("us")
    return numbers.astype(np.int64)


def are_times(column: "pandas.Series") -> bool:
    """Whether a column holds dates, so that it can be taken for the times without being named."""
    pd = need("pandas", "series", "reading series")
    kinds = pd.api.types
    if isinstance(column.dtype, pd.PeriodDtype) or kinds.is_datetime64_any_dtype(column):
        return True
    if kinds.is_numeric_dtype(column):
        values = column.to_numpy(np.float64)
        return str(column.name).casefold() in TIME_NAMES and bool((np.floor(values) == values).all())
    texts = [str(text).strip() for text in column.dropna().unique()]
    if not texts:
        return False
    zoned = split_zones(pd.Series(texts[:100]))
    if zoned is not None:
        texts = list(zoned.texts)
    return looks_dated(texts) or read_periods(texts) is not None


__all__ = ["TIME_NAMES", "are_times", "expect_column", "read_times", "unreadable"]
