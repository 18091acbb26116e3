r"""Dates as people write them: the format that all dates of a column share, days since 1970, and places in cycles.

3.7.2024 → %d.%m.%Y → 19907 days → sine and cosine of the place in the year, the week and the day
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Float

from cutaway.extras import need

if TYPE_CHECKING:
    import pandas

_DAYS = (
    "%Y-%m-%d",
    "%Y-%m",
    "%Y/%m/%d",
    "%d.%m.%Y",
    "%m/%d/%Y",
    "%d/%m/%Y",
    "%d-%m-%Y",
    "%m-%d-%Y",
    "%Y.%m.%d",
    "%Y%m%d",
    "%d.%m.%y",
    "%m/%d/%y",
    "%d/%m/%y",
    "%d %b %Y",
    "%d %B %Y",
    "%d-%b-%Y",
    "%d-%b-%y",
    "%b %d, %Y",
    "%B %d, %Y",
    "%b %d %Y",
    "%b %Y",
    "%B %Y",
    "%Y/%m",
    "%m/%Y",
    "%m.%Y",
)
_TIMES = (" %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
FORMATS = (*_DAYS, *(day + time for time in _TIMES for day in _DAYS if "%d" in day), "ISO8601")
_OTHER = {"%m": "%d", "%d": "%m"}
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_LOOKS_DATED = re.compile(
    rf"\d{{1,4}}[-/.]\d{{1,2}}([-/.]\d{{1,4}})?\b|\d{{1,2}}[/.]\d{{4}}$|\d{{1,2}}[- ]{_MONTH}[- ]\d{{2,4}}\b"
    rf"|{_MONTH} (\d{{1,2}},? )?\d{{4}}\b|(19|20)\d{{6}}$",
    re.IGNORECASE,
)
# Dates that could be taken for numbers: 20240131, and 07.2024.
_DIGITS_ALONE = re.compile(r"(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])|(0[1-9]|1[0-2])\.(19|20)\d\d")
_PERIODS = {"year": 365.2425, "week": 7.0, "day": 1.0}  # days
_FIRST, _LAST = -106_751, 106_751  # days: from 1677 to 2262, what nanoseconds in 64 bits can tell
_SAMPLE = 30  # texts that a format must fit before it is tried on all


class DateFormat(NamedTuple):
    """How a column's dates are written; and if days and months could be the other way round, that other format."""

    format: str
    other: str = ""


def looks_dated(texts: Sequence[str]) -> bool:
    """Whether the first texts look like dates."""
    return all(map(_LOOKS_DATED.match, texts[:_SAMPLE]))


def are_dates_of_digits(texts: Sequence[str]) -> bool:
    """Whether texts that could be taken for numbers are days (20240131) or months (07.2024)."""
    return len(texts) > 1 and all(map(_DIGITS_ALONE.fullmatch, texts)) and find_format(texts) is not None


def find_format(texts: Sequence[str]) -> DateFormat | None:
    """The first format that fits all texts."""
    pd = need("pandas", "tables", "reading a table")
    series, start = pd.Series(texts, dtype=object), pd.Series(texts[:_SAMPLE], dtype=object)
    fitting = (f for f in FORMATS if not np.isnan(dates(start, f)).any())
    found = next((f for f in fitting if not np.isnan(dates(series, f)).any()), None)
    if found is None:
        return None
    swapped = re.sub("%[md]", lambda mark: _OTHER[mark[0]], found)
    ambiguous = swapped != found and swapped in FORMATS and not np.isnan(dates(series, swapped)).any()
    return DateFormat(found, swapped if ambiguous else "")


class OddDate(NamedTuple):
    """A text that the format of most others does not fit, one that it does, and whether the odd one is a date too."""

    text: str
    usual: str
    is_date: bool


def find_odd_date(texts: Sequence[str]) -> OddDate | None:
    """The first odd text of a column for which there is no one format; None if not even half the texts are dates."""
    pd = need("pandas", "tables", "reading a table")
    series = pd.Series(texts, dtype=object)
    missed = [np.isnan(dates(series, f)) for f in FORMATS]
    best = min(missed, key=lambda bad: bad.sum())
    if best.mean() > 0.5:
        return None
    odd = int(np.argmax(best))
    return OddDate(texts[odd], texts[int(np.argmin(best))], any(not bad[odd] for bad in missed))


def dates(series: "pandas.Series", format: str) -> Float[np.ndarray, "n"]:
    """Days since 1970, with their fraction; NaN where there is no date."""
    pd = need("pandas", "tables", "reading a table")
    when = pd.to_datetime(series, utc=True, errors="coerce", format=format or None)
    ticks = when.to_numpy("datetime64[us]")  # microseconds: nanoseconds end in 2262
    return np.where(np.isnat(ticks), np.nan, ticks.astype(np.int64) / 86_400e6)


def out_of_reach(days: Float[np.ndarray, "n"]) -> "np.ndarray":
    """Where a date lies before 1678 or after 2262: too far for the clock of pandas, and seldom meant."""
    with np.errstate(invalid="ignore"):
        return (days < _FIRST) | (days > _LAST)


def waves(days: Float[np.ndarray, "n"], cycle: str) -> Float[np.ndarray, "n 2"]:
    """Sine and cosine of the place in a year, week or day, so that its end lies beside its start."""
    angle = 2 * np.pi * days / _PERIODS[cycle]
    return np.stack([np.sin(angle), np.cos(angle)], axis=1)


def cycles(days: Float[np.ndarray, "n"]) -> tuple[str, ...]:
    """The cycles that some days are long and fine enough to show."""
    span = days.max() - days.min()
    shown = {"year": span >= 180, "week": span >= 7, "day": bool((days % 1 != 0).any())}
    return tuple(cycle for cycle, is_shown in shown.items() if is_shown)


__all__ = [
    "FORMATS",
    "DateFormat",
    "OddDate",
    "are_dates_of_digits",
    "cycles",
    "dates",
    "find_format",
    "find_odd_date",
    "looks_dated",
    "out_of_reach",
    "waves",
]
