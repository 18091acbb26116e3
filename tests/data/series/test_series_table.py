"""Series side by side: cuts, choices, times, calendars and the long table of them."""

import numpy as np
import pandas as pd

from cutaway.data import read_series


def _table():
    index = pd.date_range("2024-01-01", periods=10, freq="D")
    return read_series({"a": pd.Series(np.arange(10.0), index), "b": pd.Series(np.arange(6.0), index[4:])})


def test_a_cut_drops_the_last_values_of_every_series():
    table = _table()
    assert table.lengths.tolist() == [10, 6]
    assert table.cut(-2).lengths.tolist() == [8, 4]
    assert table.cut(3).values[1].tolist() == [0.0, 1.0, 2.0]
    assert table.cut([9, 2]).lengths.tolist() == [9, 2]
    assert table.lengths.tolist() == [10, 6]


def test_times_and_calendar_go_on_beyond_the_end():
    table = _table()
    assert table.times(1, 6, 8).equals(pd.DatetimeIndex(["2024-01-11", "2024-01-12"]).as_unit("us"))
    assert table.calendar(1, 6, 8).shape == (2, 3)
    assert (table.calendar(0, 4, 10) == table.calendar(1, 0, 6)).all()


def test_short_series_are_named():
    kept, short = _table().longer_than(6)
    assert (kept.names, short) == (["a"], ["b"])


def test_the_long_table_reads_back_as_it_was():
    table = _table()
    again = read_series(table.to_frame())
    assert (again.names, again.frequency, again.starts) == (table.names, table.frequency, table.starts)
    for x, y in zip(table.values, again.values):
        np.testing.assert_array_equal(x, y)


def test_covariates_survive_the_long_table():
    frame = pd.DataFrame({"unique_id": ["a"] * 4 + ["b"] * 4, "ds": [0, 1, 2, 3] * 2, "y": [1, 2, 3, np.nan] * 2,
                          "price": np.arange(8.0), "region": ["n"] * 4 + ["s"] * 4})  # fmt: skip
    table = read_series(frame, known="price", static="region")
    again = read_series(table.to_frame(), known="price", static="region")
    assert again.known[1].tolist() == table.known[1].tolist() == [[4.0], [5.0], [6.0], [7.0]]
    assert again.levels == table.levels == {"region": ("n", "s")}
    assert table.lengths.tolist() == [3, 3]


def test_counts_are_known():
    assert read_series({"a": [1.0, 0.0, 3.0]}).is_count
    assert not read_series({"a": [1.0, 0.5]}).is_count
    assert not read_series({"a": [1.0, -1.0]}).is_count
