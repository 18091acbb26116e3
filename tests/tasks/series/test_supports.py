"""Forecasts stay among the values that their series can take."""

import numpy as np
import pytest

from cutaway.data.series.series_table import SeriesTable
from cutaway.tasks.series.supports import expect_support, find_support, path_quantiles, whole_series, within_support

COUNTS, SHARES, REAL = np.array([0.0, 3, 1, 2]), np.array([0.2, 0.9, np.nan, 0.5]), np.array([-1.5, 2.0, 0.5, 1.0])


def table_of(*series: np.ndarray) -> SeriesTable:
    return SeriesTable("t", [f"s{i}" for i in range(len(series))], [np.asarray(s) for s in series], [0] * len(series))


@pytest.mark.parametrize(
    ("series", "expected"),
    [
        ((COUNTS,), "counts"), ((SHARES,), "nonnegative"), ((REAL,), "real"), ((COUNTS, SHARES), "own"),
        ((COUNTS, REAL), "own"), ((SHARES, SHARES), "nonnegative"), ((REAL, REAL - 1), "real"),
    ],
)  # fmt: skip
def test_the_support_follows_from_the_values(series: tuple[np.ndarray, ...], expected: str):
    assert find_support(table_of(*series)) == expected


@pytest.mark.parametrize(
    ("support", "values", "message"),
    [
        ("counts", SHARES, "support=counts is for whole numbers from 0 up, got 0.2 in series 's0'"),
        ("nonnegative", REAL, "support=nonnegative is for numbers from 0 up, got -1.5"),
        ("unit", COUNTS, "support=unit is for numbers from 0 to 1, got 3"),
    ],
)
def test_a_support_that_the_values_leave_is_refused(support: str, values: np.ndarray, message: str):
    with pytest.raises(ValueError, match=message):
        expect_support(table_of(values), support)
    expect_support(table_of(values), "real")


def test_paths_stay_within_the_support():
    table = table_of(COUNTS, SHARES, REAL)
    paths = np.tile(np.array([-0.7, 0.3, 1.6]), (3, 2, 1))
    np.testing.assert_array_equal(
        within_support(paths, table, "own")[:, 0], [[0, 0, 2], [0, 0.3, 1.6], [-0.7, 0.3, 1.6]]
    )
    np.testing.assert_array_equal(within_support(paths[1:2], table_of(SHARES), "unit")[0, 0], [0, 0.3, 1])
    assert within_support(paths, table, "") is paths
    np.testing.assert_array_equal(whole_series(table, "own"), [True, False, False])


def test_a_series_that_stands_still_goes_on():
    found = within_support(np.array([[[4.0, 6.0]]]), table_of(np.full(30, 5.0)), "real")
    np.testing.assert_array_equal(found, [[[5, 5]]])


def test_quantiles_of_counts_are_counts():
    paths = np.array([[[0.0], [1.0], [1.0], [4.0]]] * 2)
    found = path_quantiles(paths, [0.1, 0.5, 0.9], np.array([True, False]))
    np.testing.assert_array_equal(found[0, 0], [0, 1, 4])
    np.testing.assert_allclose(found[1, 0], np.quantile([0, 1, 1, 4], [0.1, 0.5, 0.9]))


def test_a_freak_does_not_change_the_support():
    values = np.r_[np.tile([1.0, 2.0, 3.0], 10), -1e9, 2.0, 1.0]
    table = table_of(values)
    assert whole_series(table, "counts").tolist() == [True]
    found = within_support(np.array([[[-2.4, 1.6]]]), table, "counts")
    assert found.tolist() == [[[0.0, 2.0]]]
