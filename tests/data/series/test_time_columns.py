"""Times as files have them."""

import numpy as np
import pandas as pd
import pytest

from cutaway.data.series.time_columns import are_times, read_times


def _times(values, name="t"):
    return read_times(pd.DataFrame({name: values}), [name], "x.csv")[0]


@pytest.mark.parametrize(
    "texts",
    [
        ["2024-01-01", "2024-01-02"], ["01.01.2024", "02.01.2024"], ["1/1/2024", "1/2/2024"],
        ["Jan 1, 2024", "Jan 2, 2024"], ["2024-01-01T00:00:00Z", "2024-01-02T00:00:00Z"],
        ["2024-01-01 00:00:00+02:00", "2024-01-02 00:00:00+02:00"],
        [1704067200, 1704153600], [1704067200000, 1704153600000], [20240101, 20240102], ["20240101", "20240102"],
    ],
)  # fmt: skip
def test_dates_in_many_formats(texts):
    assert _times(texts).equals(pd.DatetimeIndex(["2024-01-01", "2024-01-02"]).as_unit("us"))


def test_hours_with_a_zone_count_in_utc():
    got = _times(["2024-03-31T01:00:00+01:00", "2024-03-31T03:00:00+02:00"])  # an hour apart, over the clock change
    assert got.tolist() == [pd.Timestamp("2024-03-31 00:00"), pd.Timestamp("2024-03-31 01:00")]
    zoned = pd.date_range("2024-03-30", periods=3, freq="D", tz="Europe/Berlin")
    assert _times(zoned).equals(pd.date_range("2024-03-30", periods=3).as_unit("us"))


def test_quarters_years_months_and_steps():
    assert _times(["1999Q1", "1999Q2"]).tolist() == [pd.Timestamp("1999-01-01"), pd.Timestamp("1999-04-01")]
    assert _times([1999, 2000], "year").tolist() == [pd.Timestamp("1999-01-01"), pd.Timestamp("2000-01-01")]
    assert _times(["1949-01", "1949-02"]).tolist() == [pd.Timestamp("1949-01-01"), pd.Timestamp("1949-02-01")]
    np.testing.assert_array_equal(_times([5, 7]), [5, 7])
    assert _times(pd.period_range("2024-01", periods=2, freq="M"))[1] == pd.Timestamp("2024-02-01")


def test_columns_that_make_one_time():
    frame = pd.DataFrame({"year": [2010], "month": [1], "day": [2], "hour": [3]})
    assert read_times(frame, ["year", "month", "day", "hour"], "x")[0][0] == pd.Timestamp("2010-01-02 03:00")
    frame = pd.DataFrame({"day": ["2010-01-02"], "clock": ["03:00"]})
    assert read_times(frame, ["day", "clock"], "x")[0][0] == pd.Timestamp("2010-01-02 03:00")


def test_what_is_no_time_is_named():
    with pytest.raises(
        ValueError, match=r"every row must have a time, got none in 1 of 2 rows of 't' \(the first is row 2"
    ):
        _times(["2024-01-01", None])
    with pytest.raises(ValueError, match=r"got 'soon' in row 3 of 't' of x.csv where others are as '2024-01-01'"):
        _times(["2024-01-01", "2024-01-02", "soon"])
    with pytest.raises(ValueError, match=r"times must be dates or whole numbers, got 'red' in 't' of x.csv"):
        _times(["red", "blue"])
    with pytest.raises(ValueError, match=r"got 0.5 in row 1 of 't'"):
        _times([0.5, 1.5])
    with pytest.raises(
        ValueError, match=r"--time must name a column, got 'tme' for x.csv; the nearest of its 1 are: t"
    ):
        read_times(pd.DataFrame({"t": [1]}), ["tme"], "x.csv")


@pytest.mark.parametrize(
    ("texts", "second"),
    [
        (["Jan-10", "Feb-10", "Mar-10"], "2010-02-01"), (["2018-W01", "2018-W02"], "2018-01-08"),
        (["201801", "201802"], "2018-02-01"), (["1Q18", "2Q18"], "2018-04-01"), (["2018H1", "2018H2"], "2018-07-01"),
    ],
)  # fmt: skip
def test_periods_as_people_write_them(texts: list[str], second: str):
    assert _times(texts)[1] == pd.Timestamp(second)
    assert are_times(pd.Series(texts))


def test_months_as_numbers_and_in_two_columns():
    assert _times([201801, 201802], "month")[1] == pd.Timestamp("2018-02-01")
    np.testing.assert_array_equal(_times([201801, 201802], "step"), [201801, 201802])
    frame = pd.DataFrame({"year": [2018, 2018], "quarter": ["Q1", "Q2"]})
    assert read_times(frame, ["year", "quarter"], "x")[0][1] == pd.Timestamp("2018-04-01")
