"""Dates in words: against an independent reading of them, and the same everywhere."""

import datetime
import hashlib
import re

import pytest

from cutaway.data.samples.dates import FIRST, LAST, make_dates, spell, spell_ordinal, spell_year, written_forms

MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]


def read(text: str) -> datetime.date:
    """Another way round: every number, word and month of a text by looking it up."""
    text = text.lower()
    if figures := re.fullmatch(r"(\d+)\.(\d+)\.(\d{4})", text):
        day, month, year = map(int, figures.groups())
        return datetime.date(year, month, day)
    month = next(i for i, name in enumerate(MONTHS, 1) if re.search(rf"\b{name}", text))
    years = {year: year for year in range(1900, 2100)}
    year = next((y for y in years if re.search(rf"\b{y}\b", text)), None)
    if year is None:
        year = next(y for y in years if text.endswith(f", {spell_year(y)}"))
        day = next(d for d in range(31, 0, -1) if re.search(rf"\b{spell_ordinal(d)}\b", text.split(",")[0]))
    else:
        day = int(re.search(r"\b(\d{1,2})(?:st|nd|rd|th)?\b", text.replace(str(year), ""))[1])
    return datetime.date(year, month, day)


def test_every_line_says_the_date_that_it_is_paired_with():
    lines = make_dates(3000).splitlines()
    targets = [line.split("\t")[1] for line in lines]
    assert len(set(targets)) == 3000  # no date twice
    for line in lines:
        source, target = line.split("\t")
        assert read(source).isoformat() == target, line
        assert FIRST <= read(source) <= LAST


def test_numbers_in_words_are_all_different():
    assert len({spell(n) for n in range(1, 100)}) == 99
    assert len({spell_ordinal(n) for n in range(1, 100)}) == 99
    assert len({spell_year(n) for n in range(1900, 2100)}) == 200
    found = " ".join(spell_ordinal(n) for n in (1, 2, 3, 5, 8, 9, 12, 30))
    assert found == "first second third fifth eighth ninth twelfth thirtieth"


def test_weekdays_are_right():
    assert written_forms(datetime.date(1969, 7, 20))[2] == "Sunday, 20 July 1969"  # the landing on the moon
    assert written_forms(datetime.date(2000, 1, 1))[7] == "Sat, Jan 1 2000"


@pytest.mark.parametrize("count", [100, 20_000])
def test_always_the_same(count: int):
    one, other = make_dates(count), make_dates(count)
    assert hashlib.sha256(one.encode()).digest() == hashlib.sha256(other.encode()).digest()
    assert one.count("\n") == count
