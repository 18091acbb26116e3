"""Random walk and seasonal naive: by hand, on messy series, and the figures known for real data."""

import numpy as np
import pytest

from cutaway.data import read_series
from cutaway.data.series.series_reading import extend
from cutaway.tasks.series.backtesting import LEVELS
from cutaway.tasks.series.baselines.naive_forecasts import fitted_random_walk, random_walk, seasonal_naive, trial_loss
from cutaway.tasks.series.histories import histories_at, histories_before


def test_random_walk_worked_by_hand():
    table = read_series({"a": [0.0, 3.0, -1.0]})  # differences 3 and −4: σ² = 12.5
    got = random_walk(histories_at(table, [(0, 3)], 4), 4, [0.5, 0.841344746])
    np.testing.assert_allclose(got[0, :, 0], [-1] * 4)
    np.testing.assert_allclose(got[0, :, 1], -1 + np.sqrt(12.5 * np.arange(1, 5)), rtol=1e-6)


def test_seasonal_naive_worked_by_hand():
    table = read_series({"a": [1.0, 5.0, 2.0, 7.0]})  # differences of a season of 2: 1 and 2
    got = seasonal_naive(histories_at(table, [(0, 4)], 3), 3, [0.5, 0.841344746], season=2)
    np.testing.assert_allclose(got[0, :, 0], [2, 7, 2])
    np.testing.assert_allclose(got[0, :, 1], [2 + 2.5**0.5, 7 + 2.5**0.5, 2 + 5**0.5], rtol=1e-6)


def test_a_series_shorter_than_its_season_is_a_random_walk():
    table = read_series({"a": [1.0, 5.0, 2.0], "b": np.arange(40.0)})
    histories = histories_at(table, [(0, 3), (1, 40)], 2)
    got = seasonal_naive(histories, 2, LEVELS, season=12)
    np.testing.assert_allclose(got[0], random_walk(histories, 2, LEVELS)[0])
    assert np.isfinite(got).all()


def test_missing_values_are_carried_forward():
    table = read_series({"a": [1.0, 2.0, np.nan, np.nan, 3.0]})
    got = random_walk(histories_at(table, [(0, 4)], 1), 1, [0.5])
    assert got.item() == 2


def test_a_constant_series_has_no_spread():
    table = read_series({"a": [3.0] * 9})
    assert (random_walk(histories_at(table, [(0, 9)], 2), 2, LEVELS) == 3).all()


def test_exchange_rates_as_published(data_folder):
    """The Gaussian random walk: 0.0070 on the usual five windows, 0.0102 on the 45 after them."""
    table = read_series(data_folder / "series" / "exchange_rate.txt.gz", frequency="B")
    walk, rule = fitted_random_walk(histories_before(table.cut(6071), 30, 4), 30, LEVELS)
    histories = histories_at(table, [(i, 6071 + 30 * w) for w in range(50) for i in range(8)], 30)
    got = walk(histories, 30, LEVELS)
    assert "σ from the last 20 differences" in rule
    assert trial_loss(got[:40], histories.truth[:40], LEVELS) == pytest.approx(0.0070, abs=5e-5)
    assert trial_loss(got[40:], histories.truth[40:], LEVELS) == pytest.approx(0.0102, abs=5e-5)


def test_m4_hourly_as_published(data_folder):
    """The seasonal naive with Gaussian residuals: 0.0376."""
    folder = data_folder / "series" / "m4"
    train, test = (read_series(folder / f"Hourly-{part}.csv.xz", frequency="h") for part in ("train", "test"))
    histories = histories_before(extend(train, test), 48, 1)
    got = seasonal_naive(histories, 48, LEVELS, season=24)
    assert trial_loss(got, histories.truth, LEVELS) == pytest.approx(0.0376, abs=5e-5)
