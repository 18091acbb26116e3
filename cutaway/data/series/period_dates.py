r"""Periods as people write them, each by its first day: weeks, months, quarters, halves and years.

2018-W01 · W1 2018 · 2018M01 · Jan 2010 · 2010-Jan · Jan-10 · 201801 · 2018Q1 · Q1 2018 · 1Q18 · 2018H2 · 2018
"""

import re
from collections.abc import Callable, Sequence
from datetime import date
from itertools import pairwise

_AHEAD = 10  # years that a two-digit year may lie ahead

_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_FULL = {
    name[:3]: name
    for name in (
        "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
        "december",
    )
}  # fmt: skip
_MONTH = r"(?P<m>" + "|".join(rf"{short}(?:{_FULL[short][3:]})?" for short in _NAMES) + r"|sept)\.?"
_YEAR = r"(?P<y>1[5-9]\d\d|2[0-2]\d\d)"
_SHORT = r"(?P<yy>\d\d)"
_BETWEEN = r"[-/ .:_]?"
_APART = r"[-/ .,_']+"


def _patterns(*texts: str) -> list[re.Pattern[str]]:
    return [re.compile(text, re.IGNORECASE) for text in texts]


def _quarter(found: re.Match[str]) -> date:
    return date(_year(found), 3 * int(found["n"]) - 2, 1)


def _half(found: re.Match[str]) -> date:
    return date(_year(found), 6 * int(found["n"]) - 5, 1)


def _week(found: re.Match[str]) -> date:
    return date.fromisocalendar(_year(found), int(found["n"]), int(found.groupdict().get("d") or 1))


def _numbered_month(found: re.Match[str]) -> date:
    return date(_year(found), int(found["n"]), 1)


def _named_month(found: re.Match[str]) -> date:
    return date(_year(found), month_number(found["m"]), int(found.groupdict().get("d") or 1))


def _first_of_year(found: re.Match[str]) -> date:
    return date(_year(found), 1, 1)


def _year(found: re.Match[str]) -> int:
    parts = found.groupdict()
    if parts.get("y"):
        return int(parts["y"])
    return full_year(int(parts["yy"]))


def full_year(short: int) -> int:
    """The year of two digits: that of this century, unless it lies more than ten years ahead.

    >>> full_year(10), full_year(99)
    (2010, 1999)
    """
    century = date.today().year // 100 * 100
    return century + short - (100 if century + short > date.today().year + _AHEAD else 0)


def month_number(name: str) -> int:
    """1 for January, Jan or JAN.; 0 for what is no month.

    >>> month_number("Sept."), month_number("march"), month_number("Smarch")
    (9, 3, 0)
    """
    found = re.fullmatch(_MONTH, name.strip(), re.IGNORECASE)
    return _NAMES.index(found["m"][:3].casefold()) + 1 if found else 0


# All texts of a column must be of one of these kinds.
_KINDS: list[tuple[list[re.Pattern[str]], Callable[[re.Match[str]], date]]] = [
    (
        _patterns(
            rf"{_YEAR}{_BETWEEN}(?:w|wk|week|kw)[ -]?(?P<n>\d\d?)(?:-?(?P<d>[1-7]))?",
            rf"(?:w|wk|week|kw)[ -]?(?P<n>\d\d?){_APART}{_YEAR}",
        ),
        _week,
    ),
    (
        _patterns(
            rf"{_YEAR}{_BETWEEN}q(?:tr)?[ -]?(?P<n>[1-4])",
            rf"{_YEAR}{_BETWEEN}(?P<n>[1-4])q",
            rf"q(?:tr)?[ -]?(?P<n>[1-4])[-/ .:,_']*(?:{_YEAR}|{_SHORT})",
            rf"(?P<n>[1-4])q[-/ .:,_']*(?:{_YEAR}|{_SHORT})",
        ),
        _quarter,
    ),
    (_patterns(rf"{_YEAR}{_BETWEEN}[hs](?P<n>[12])", rf"[hs](?P<n>[12]){_APART}{_YEAR}"), _half),
    (
        _patterns(
            rf"{_YEAR}{_BETWEEN}m(?P<n>\d\d?)", rf"m(?P<n>\d\d?){_APART}{_YEAR}", rf"{_YEAR}(?P<n>0[1-9]|1[0-2])"
        ),
        _numbered_month,
    ),
    (_patterns(rf"{_MONTH}[-/ .,_']*{_YEAR}", rf"{_YEAR}[-/ .,_]*{_MONTH}"), _named_month),
    (
        _patterns(rf"(?P<d>\d\d?)[-/ .,_]*{_MONTH}[-/ .,_]*{_YEAR}", rf"{_YEAR}[-/ .,_]*{_MONTH}[-/ .,_]*(?P<d>\d\d?)"),
        _named_month,
    ),
    (_patterns(_YEAR), _first_of_year),
]
_SHORT_YEARS = (
    re.compile(rf"{_MONTH}[-/ .,_']+{_SHORT}", re.IGNORECASE),
    re.compile(rf"{_SHORT}[-/ .,_']+{_MONTH}", re.IGNORECASE),
    re.compile(rf"{_MONTH}{_SHORT}", re.IGNORECASE),
)


def read_periods(texts: Sequence[str]) -> list[date] | None:
    """The first day of each period; None if the texts are not all periods of one kind.

    A month and two digits (Jan-10) are a month of a year only if the texts, in their order, go on as months do:
    Jan-10, Jan-11, … Feb-01 are days of a year that is not told.

    >>> [str(day) for day in read_periods(["2018Q1", "2018Q2"]) or []]
    ['2018-01-01', '2018-04-01']
    >>> read_periods(["Jan-30", "Jan-31", "Feb-01"]) is None
    True
    """
    for patterns, build in _KINDS:
        for pattern in patterns:
            found = _read_all(texts, pattern, build)
            if found is not None:
                return found
    for pattern in _SHORT_YEARS:
        found = _read_all(texts, pattern, _named_month)
        if found is not None and _go_on_as_months(found):
            return found
    return None


def _read_all(
    texts: Sequence[str], pattern: re.Pattern[str], build: Callable[[re.Match[str]], date]
) -> list[date] | None:
    days = []
    for text in texts:
        found = pattern.fullmatch(text)
        if found is None:
            return None
        try:
            days.append(build(found))
        except ValueError:  # there is no such week or month
            return None
    return days or None


def _go_on_as_months(days: Sequence[date]) -> bool:
    """Whether most steps, in the order of the texts, stay below a year; texts of one month alone are years apart."""
    apart = [abs((b.year - a.year) * 12 + b.month - a.month) for a, b in pairwise(days)]
    return len({day.month for day in days}) == 1 or sum(months < 12 for months in apart) > len(apart) / 2


__all__ = ["full_year", "month_number", "read_periods"]
