"""Weeks, months, quarters and years as people write them."""

from datetime import date

import pytest

from cutaway.data.series.period_dates import full_year, month_number, read_periods


@pytest.mark.parametrize(
    ("texts", "days"),
    [
        (["2018-W01", "2018-W52"], [date(2018, 1, 1), date(2018, 12, 24)]),
        (["2018W53", "2018W01"], None),  # 2018 has 52 weeks
        (["2020W53"], [date(2020, 12, 28)]),
        (["KW 5 2020"], [date(2020, 1, 27)]),
        (["2018-W01-3"], [date(2018, 1, 3)]),
        (["Jan-2010", "Dec-2010"], [date(2010, 1, 1), date(2010, 12, 1)]),
        (["Jan 2010", "Sept 2010"], [date(2010, 1, 1), date(2010, 9, 1)]),
        (["2010 May"], [date(2010, 5, 1)]),
        (["2018M01", "2018M12"], [date(2018, 1, 1), date(2018, 12, 1)]),
        (["2018M13"], None),
        (["2018-Q4", "2019-Q1"], [date(2018, 10, 1), date(2019, 1, 1)]),
        (["Q1'18", "Q2'18"], [date(2018, 1, 1), date(2018, 4, 1)]),
        (["2018H2"], [date(2018, 7, 1)]),
        (["2018", "2019"], [date(2018, 1, 1), date(2019, 1, 1)]),
        (["Jan-69", "Feb-69"], [date(1969, 1, 1), date(1969, 2, 1)]),
        (["Jan-10", "2018-W01"], None),
        (["Smarch-10"], None),
        ([], None),
    ],
)
def test_the_first_day_of_each_period(texts: list[str], days: list[date] | None):
    assert read_periods(texts) == days


def test_a_month_and_two_digits_are_a_year_only_if_they_go_on_so():
    assert read_periods(["Jan-10", "Feb-10", "Mar-10"]) == [date(2010, 1, 1), date(2010, 2, 1), date(2010, 3, 1)]
    assert read_periods(["10-Jan", "10-Feb"]) == [date(2010, 1, 1), date(2010, 2, 1)]
    assert read_periods(["Jan-29", "Jan-30", "Jan-31", "Feb-01", "Feb-02"]) is None  # days of a year


def test_names_of_months():
    assert [month_number(name) for name in ("January", "JAN", "sept.", "Decem")] == [1, 1, 9, 0]


def test_two_digits_are_a_year_that_is_not_far_ahead():
    this = date.today().year
    assert full_year(this % 100) == this
    assert full_year((this + 10) % 100) == this + 10
    assert full_year((this + 11) % 100) == this + 11 - 100
    found = read_periods(["Nov-49", "Dec-49", "Jan-50"])
    assert found == [date(1949, 11, 1), date(1949, 12, 1), date(1950, 1, 1)]
    assert read_periods(["Jan10", "Feb10", "Mar10"]) == [date(2010, 1, 1), date(2010, 2, 1), date(2010, 3, 1)]
