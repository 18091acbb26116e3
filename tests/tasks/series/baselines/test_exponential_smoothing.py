"""Exponential smoothing: against statsmodels, on series it was made for, and on messy ones."""

import numpy as np
import pandas as pd
import pytest

from cutaway.data import read_series
from cutaway.tasks.series.backtesting import LEVELS, measure
from cutaway.tasks.series.baselines import exponential_smoothing as smoothing
from cutaway.tasks.series.baselines.exponential_smoothing import Smoothing, exponential_smoothing, settings, smooth
from cutaway.tasks.series.histories import histories_at, histories_before


def test_states_errors_and_forecasts_same_as_statsmodels(monkeypatch):
    ets = pytest.importorskip("statsmodels.tsa.exponential_smoothing.ets")
    rng = np.random.default_rng(0)
    m, x = 4, 20 + np.tile([3.0, -1, -4, 2], 12) + 0.3 * np.arange(48) + rng.normal(size=48)
    profile, level, trend = np.array([2.0, -1, -3, 2]), 19.0, 0.25
    monkeypatch.setattr(smoothing, "_initial", lambda x, season, start: (np.array([level]), profile[None]))
    monkeypatch.setattr(smoothing, "_slope", lambda x: np.array([trend]))
    alpha, beta, phi, gamma = 0.3, 0.06, 0.9, 0.2
    choices = Smoothing(*(np.array([v]) for v in (alpha, beta, phi, gamma)))
    found = smooth(x[None], choices, m)
    model = ets.ETSModel(
        pd.Series(x), error="add", trend="add", damped_trend=True, seasonal="add", seasonal_periods=m,
        initialization_method="known", initial_level=level, initial_trend=trend, initial_seasonal=profile,
    )  # fmt: skip
    # statsmodels lists the seasonal states newest first
    theirs = model.smooth([alpha, beta, gamma, phi, level, trend, *profile[::-1]])
    errors = np.asarray(theirs.resid)
    assert found.squares[0, 0] == pytest.approx((errors[8:] ** 2).sum(), rel=1e-9)
    mean, std = smoothing._predict(found, choices, np.array([0]), m, 9)
    np.testing.assert_allclose(mean[0], np.asarray(theirs.forecast(9)), rtol=1e-9)
    variance = np.asarray(theirs.get_prediction(48, 56).forecast_variance, float) / theirs.scale
    np.testing.assert_allclose(std[0] ** 2 / std[0, 0] ** 2, variance / variance[0], rtol=1e-9)


def test_a_season_that_grows_with_the_level_is_found_in_logarithms():
    t = np.arange(96)
    x = np.exp(0.01 * t + 0.3 * np.sin(2 * np.pi * t / 12))
    table = read_series({"a": x})
    got = exponential_smoothing(histories_before(table, 12, 1), 12, [0.5], 12)[0, :, 0]
    np.testing.assert_allclose(got, x[-12:], rtol=0.03)


def test_a_line_goes_on():
    table = read_series({"a": 5 + 2.0 * np.arange(40), "b": -3.0 * np.arange(40)})
    histories = histories_before(table, 4, 1)
    np.testing.assert_allclose(exponential_smoothing(histories, 4, [0.5])[..., 0], histories.truth, atol=0.5)


def test_series_of_all_kinds_have_finite_quantiles():
    x = np.sin(np.arange(60.0))
    gaps = x.copy()
    gaps[10:30] = np.nan
    table = read_series({"plain": x, "gaps": gaps, "constant": np.ones(60), "short": x[:3], "zero": np.zeros(60)})
    got = exponential_smoothing(histories_at(table, [(i, 60) for i in range(5)], 7), 7, LEVELS, 6)
    assert np.isfinite(got).all()
    assert (np.diff(got, axis=-1) >= 0).all()
    assert (got[2] == 1).all()


def test_the_grid_has_a_season_only_if_there_is_one():
    assert (settings(1).gamma == 0).all()
    assert (settings(12).gamma > 0).any()


def test_airline_passengers(data_folder):
    """Over five origins a year apart: a third of the seasonal naive's loss."""
    table = read_series(data_folder / "series" / "airline-passengers.csv")
    histories = histories_before(table, 12, 5)
    assert measure(histories, exponential_smoothing(histories, 12, LEVELS, 12), 12)["wql"] < 0.042
