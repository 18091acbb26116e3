"""Autoregressions of single series: against least squares and statsmodels, and on short and messy histories."""

import numpy as np
import pytest
from statsmodels.tsa.ar_model import AutoReg

from cutaway.data import read_series
from cutaway.tasks.series.baselines.autoregression import autoregression, fit_autoregression, own_lags
from cutaway.tasks.series.histories import histories_at

NOISE = np.random.default_rng(0).normal(size=400)


def made(steps: int = 400) -> np.ndarray:
    """y_t = .5 y_{t−1} + .3 y_{t−4} + 2 + noise."""
    y = np.full(steps, 10.0)
    for t in range(4, steps):
        y[t] = 0.5 * y[t - 1] + 0.3 * y[t - 4] + 2 + 0.1 * NOISE[t]
    return y


def test_weights_and_forecasts_same_as_statsmodels():
    y = made()
    mine = fit_autoregression(y, (1, 4), ridge=0.0)
    mean = y.mean()
    peer = AutoReg(y - mean, [1, 4], trend="n").fit()
    np.testing.assert_allclose(mine.weights, peer.params, rtol=1e-8)
    assert mine.constant == pytest.approx(mean * (1 - mine.weights.sum()), rel=1e-8)
    histories = histories_at(read_series({"a": y}), [(0, len(y))], 12)
    got = autoregression(histories, 12, [0.5], (1, 4), ridge=0.0)
    np.testing.assert_allclose(got[0, :, 0], mean + peer.forecast(12), rtol=1e-8)
    high = autoregression(histories, 12, [0.8413447460685429], (1, 4), ridge=0.0) - got
    expected = peer.get_prediction(len(y), len(y) + 11).se_mean * mine.std / np.sqrt(peer.sigma2)
    np.testing.assert_allclose(high[0, :, 0], expected, rtol=1e-6)


def test_a_strong_ridge_gives_a_random_walk():
    y = made()
    found = fit_autoregression(y, (1, 4), ridge=1e9)
    np.testing.assert_allclose([found.constant, *found.weights], [0, 1, 0], atol=1e-6)
    assert found.std == pytest.approx(np.sqrt((np.diff(y[3:]) ** 2).mean()), rel=0.02)


def test_the_spread_of_a_random_walk_grows_with_the_root_of_the_steps():
    x = np.array([1.0, 2.0, 1.0, 2.0, 1.0, 2.0])  # too short for a fit: steps of ±1
    got = autoregression(histories_at(read_series({"a": x}), [(0, 6)], 4), 4, [0.5, 0.8413447460685429], (1, 2), 0.0)
    np.testing.assert_allclose(got[0, :, 0], 2.0)
    np.testing.assert_allclose(got[0, :, 1] - 2, np.minimum(np.sqrt([1, 2, 3, 4]), 2.0), rtol=1e-9)  # at most its range


def test_short_constant_and_missing_histories():
    x = np.sin(np.arange(60.0))
    gaps = x.copy()
    gaps[50:58] = np.nan
    table = read_series({"gaps": gaps, "constant": np.ones(60), "short": x[:2], "plain": x})
    got = autoregression(
        histories_at(table, [(i, 60) for i in range(4)], 3), 3, [0.1, 0.5, 0.9], own_lags((7,))[1], 0.01
    )
    assert np.isfinite(got).all()
    assert (got[1] == 1).all()
    np.testing.assert_allclose(got[3, :, 1], np.sin(np.arange(60.0, 63.0)), atol=0.1)


def test_an_explosive_history_stays_in_its_widened_range():
    y = 1.2 ** np.arange(60)
    got = autoregression(histories_at(read_series({"a": y}), [(0, 60)], 50), 50, [0.5], (1, 2), 0.0)
    assert got.max() <= 2 * y.max()
