"""Dates as people write them: the format of a column, days, and cycles."""

import numpy as np
import pandas as pd
import pytest

from cutaway.data.tables.date_formats import (
    are_dates_of_digits,
    cycles,
    dates,
    find_format,
    find_odd_date,
    looks_dated,
    out_of_reach,
    waves,
)


@pytest.mark.parametrize(
    ("texts", "format", "first"),
    [
        (["2024-01-05", "2024-02-07"], "%Y-%m-%d", "2024-01-05"),
        (["5.1.2024", "17.12.2023"], "%d.%m.%Y", "2024-01-05"),
        (["01/13/2024", "03/04/2024"], "%m/%d/%Y", "2024-01-13"),
        (["13/02/2024", "03/04/2024"], "%d/%m/%Y", "2024-02-13"),
        (["13-02-2024", "03-04-2024"], "%d-%m-%Y", "2024-02-13"),
        (["05 Jan 2024", "17 Feb 2023"], "%d %b %Y", "2024-01-05"),
        (["5-Jan-24", "17-Feb-23"], "%d-%b-%y", "2024-01-05"),
        (["January 5, 2024", "March 17, 2023"], "%B %d, %Y", "2024-01-05"),
        (["20240105", "20230501"], "%Y%m%d", "2024-01-05"),
        (["07.2024", "12.2023"], "%m.%Y", "2024-07-01"),
        (["2024-07", "2023-12"], "%Y-%m", "2024-07-01"),
        (["2024-01-05 10:00:00", "2024-01-05 11:30:00"], "%Y-%m-%d %H:%M:%S", "2024-01-05 10:00"),
        (["13/2/24 3:00 PM", "6/1/24 4:00 AM"], "%d/%m/%y %I:%M %p", "2024-02-13 15:00"),
        (["2024-01-05T10:00:00Z", "2024-01-05T11:30:00+01:00"], "ISO8601", "2024-01-05 10:00"),
    ],
)
def test_formats(texts, format, first):
    assert looks_dated(texts)
    assert find_format(texts) == (format, "")
    expected = (pd.Timestamp(first) - pd.Timestamp(0)) / pd.Timedelta(days=1)
    assert dates(pd.Series(texts), format)[0] == pytest.approx(expected, abs=1e-9)


def test_days_and_months_either_way():
    assert find_format(["01/02/2024", "03/04/2024"]) == ("%m/%d/%Y", "%d/%m/%Y")


def test_no_dates():
    assert not looks_dated(["12 apples", "7 pears"])
    assert find_format(["2024-01-05", "soon"]) is None
    assert not are_dates_of_digits(["20241399", "20240101"])  # no such month
    assert not are_dates_of_digits(["7.2024", "8.2024"])  # more likely numbers
    assert are_dates_of_digits(["07.2024", "08.2024"])


def test_the_odd_one_out():
    assert find_odd_date(["2024-01-05", "2024-01-06", "05/01/2024"]) == ("05/01/2024", "2024-01-05", True)
    assert find_odd_date(["n.d.", "2024-01-05", "2024-01-06"]) == ("n.d.", "2024-01-05", False)
    assert find_odd_date(["a", "b", "2024-01-06"]) is None


def test_far_dates_are_read_and_known_to_be_far():
    days = dates(pd.Series(["9999-12-31", "2024-01-01", None, "1600-01-01"]), "%Y-%m-%d")
    assert days[0] == 2932896
    assert out_of_reach(days).tolist() == [True, False, False, True]


def test_by_hand():
    days = dates(pd.Series(["1970-01-02", "1971-01-01 12:00", None]), "ISO8601")
    assert days[:2].tolist() == [1.0, 365.5]
    assert np.isnan(days[2])
    assert dates(pd.Series(["1970-01-02T01:00:00+01:00"]), "ISO8601").tolist() == [1.0]


def test_waves_close():
    there, back = waves(np.array([0.25, 7.25]), "week")
    assert there == pytest.approx(back)
    assert waves(np.array([0.0, 0.25]), "day") == pytest.approx(np.array([[0.0, 1.0], [1.0, 0.0]]))


def test_cycles_that_days_can_show():
    assert cycles(np.arange(400.0)) == ("year", "week")
    assert cycles(np.arange(0, 4, 0.25)) == ("day",)
