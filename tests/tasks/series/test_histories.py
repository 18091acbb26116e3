"""Histories at the origins of forecasts."""

import numpy as np

from cutaway.data import read_series
from cutaway.tasks.series.histories import carried_forward, histories_at, histories_before, tails

TABLE = read_series({"a": np.arange(10.0), "b": np.arange(6.0)})


def test_windows_lie_at_the_end_and_are_forecast_once():
    found = histories_before(TABLE, horizon=2, windows=2)
    assert found.series.tolist() == [0, 1, 0, 1]
    assert [values[-1] for values in found.table.values] == [5, 1, 7, 3]
    assert found.truth.tolist() == [[6, 7], [2, 3], [8, 9], [4, 5]]


def test_series_without_room_have_no_window():
    assert histories_before(TABLE, horizon=3, windows=2).series.tolist() == [0, 0]


def test_a_stride_makes_windows_overlap():
    found = histories_before(TABLE, horizon=3, windows=2, stride=1)
    assert found.truth.tolist() == [[6, 7, 8], [2, 3, 4], [7, 8, 9], [3, 4, 5]]


def test_what_is_not_known_is_missing():
    found = histories_at(TABLE, [(0, 9), (1, 6)], horizon=2)
    np.testing.assert_array_equal(found.truth, [[9, np.nan], [np.nan, np.nan]])


def test_tails_and_values_carried_forward():
    x = tails([np.array([1.0, np.nan, 3.0]), np.array([5.0, np.nan])], 4)
    np.testing.assert_array_equal(x, [[np.nan, 1, np.nan, 3], [np.nan, np.nan, 5, np.nan]])
    np.testing.assert_array_equal(carried_forward(x), [[np.nan, 1, 1, 3], [np.nan, np.nan, 5, 5]])
