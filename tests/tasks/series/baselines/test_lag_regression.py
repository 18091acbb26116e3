"""The linear model on lags: against scikit-learn's ridge, on series that it can forecast exactly, and messy ones."""

import numpy as np
from sklearn.linear_model import Ridge

from cutaway.data import read_series
from cutaway.tasks.series.backtesting import LEVELS
from cutaway.tasks.series.baselines.lag_regression import _fit, _scaled, fit_lag_regression, lags_for
from cutaway.tasks.series.histories import histories_at, histories_before


def test_weights_same_as_scikit_learn():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(53, 5)), rng.normal(size=(53, 2))
    strength = 0.1 * np.trace(x.T @ x) / 5 / 53**0.5
    expected = Ridge(alpha=strength, fit_intercept=False).fit(x, y)
    np.testing.assert_allclose(_fit(x, y, LEVELS, 0.1).weights, expected.coef_.T, rtol=1e-9)


def test_windows_are_seen_from_their_last_value():
    u, last, spread = _scaled(np.array([[1.0, 3.0, 2.0], [np.nan, 4.0, 4.0]]))
    np.testing.assert_allclose(u, [[-1.5, 1.5, 0], [0, 0, 0]])
    assert (last.tolist(), spread.tolist()) == ([2, 4], [2 / 3, 0])


def test_waves_are_forecast():
    t = np.arange(400)
    table = read_series({"a": 50 + 10 * np.sin(2 * np.pi * t / 24), "b": 7 * np.cos(2 * np.pi * t / 24)}, frequency="h")
    train = table.cut(-24)
    model = fit_lag_regression(train, histories_before(train, 24, 4), 24, LEVELS)
    assert len(model.weights) == lags_for(train, 24) == 56
    histories = histories_before(table, 24, 1)
    np.testing.assert_allclose(model.quantiles(histories, 24, [0.5])[..., 0], histories.truth, atol=0.05)


def test_short_constant_and_missing_series():
    x = np.sin(np.arange(60.0))
    gaps = x.copy()
    gaps[50:58] = np.nan
    table = read_series({"plain": x, "gaps": gaps, "constant": np.ones(60), "short": x[:2]})
    model = fit_lag_regression(table, histories_before(table, 3, 2), 3, LEVELS)
    got = model.quantiles(histories_at(table, [(i, 60) for i in range(4)], 3), 3, LEVELS)
    assert np.isfinite(got).all()
    assert (got[2] == 1).all()
