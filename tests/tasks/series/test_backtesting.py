"""Metrics of forecasts of past windows: by hand, with gaps, by series, and their table."""

import numpy as np
import pytest

from cutaway.data import read_series
from cutaway.tasks.series.backtesting import LEVELS, Backtest, measure
from cutaway.tasks.series.histories import histories_before


def _exact(values):
    return np.repeat(np.asarray(values, float)[..., None], len(LEVELS), -1)


def test_metrics_worked_by_hand():
    histories = histories_before(read_series({"a": [1.0, 2, 4, 6], "b": [10.0, 20, 30, 50]}), 1, 1)
    found = measure(histories, _exact([[5.0], [50.0]]))  # one too low by 1: 2 · mean q · 1 = 1, of 6 + 50
    assert found["wql"] == pytest.approx(1 / 56)
    assert found["unweighted_wql"] == pytest.approx((1 / 6 + 0) / 2)
    assert found["mase"] == pytest.approx((1 / 1.5 + 0) / 2)
    assert found["crps"] == pytest.approx(0.5)
    assert found["coverage_80"] == 0.5


def test_missing_values_do_not_count():
    table = read_series({"a": [1.0, 2, 4, np.nan, 6]})
    found = measure(histories_before(table, 2, 1), _exact([[3.0, 5.0]]))
    assert found["wql"] == pytest.approx(1 / 6)
    assert found["mase"] == pytest.approx(1 / 1.5)


def test_paths_give_crps_and_ranks():
    histories = histories_before(read_series({"a": [1.0, 2, 4]}), 1, 1)
    paths = np.array([[[3.0], [4.0], [5.0], [6.0]]])
    quantiles = np.moveaxis(np.quantile(paths, LEVELS, axis=1), 0, -1)
    backtest = Backtest(histories, quantiles, 1, paths)
    assert backtest.metrics["crps"] == pytest.approx(1.0 - 0.625)
    assert backtest.ranks().tolist() == [[0.375]]  # one below, one equal of four
    without = Backtest(histories, quantiles)
    assert without.ranks()[0, 0] == pytest.approx(1 / 3, abs=0.02)
    assert without.losses().shape == (1, 1)


def test_the_table_of_a_backtest():
    histories = histories_before(read_series({"a": np.arange(9.0)}), 2, 2)
    frame = Backtest(histories, _exact(histories.truth)).to_pandas()
    assert frame["cutoff"].tolist() == [4, 4, 6, 6]
    assert frame["ds"].tolist() == [5, 6, 7, 8] == frame["y"].tolist() == frame["0.9"].tolist()
    assert "wql 0" in repr(Backtest(histories, _exact(histories.truth)))


def test_windows_of_zeros_are_measured_by_the_size_of_their_history():
    after = histories_before(read_series({"a": [4.0, 0, 8, 0, 0]}), 2, 1)
    found = measure(after, _exact([[1.0, 0.0]]))  # too high by 1: 2 · mean (1 − q) · 1 = 1, of two values of size 4
    assert found["wql"] == found["unweighted_wql"] == pytest.approx(1 / 8)
    always = histories_before(read_series({"a": np.zeros(5)}), 2, 1)
    assert measure(always, _exact([[1.0, 0.0]]))["wql"] == pytest.approx(1 / 2)  # absolute: nothing has a size
    assert measure(always, _exact([[0.0, 0.0]]))["wql"] == 0
