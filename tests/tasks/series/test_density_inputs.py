"""Inputs of the light model: scales, lags, waves, gaps."""

import numpy as np
import pytest

from cutaway.data import read_series
from cutaway.tasks.series.density_inputs import count_waves, inputs_of, lags_of, scale_of, waves_of


def test_scales_are_robust():
    x = np.random.default_rng(0).normal(5, 2, 5000)
    x[:50] = 1e9
    assert scale_of(x) == pytest.approx((5, 2), rel=0.05)
    assert scale_of(np.ones(5)) == (1.0, 1.0)
    assert scale_of(np.array([0.0, 0, 0, 0, 0, 0, 0, 0, 3])).spread > 0  # quartiles that coincide


def test_inputs_are_lags_and_waves():
    table = read_series({"a": np.arange(30.0)}, frequency="D")
    scale = scale_of(table.values[0])
    found = inputs_of(table, (1, 7), [scale])
    assert found.step.tolist() == list(range(7, 30))
    z = (table.values[0] - scale.middle) / scale.spread
    np.testing.assert_allclose(found.x[:, 0], z[6:29], rtol=1e-6)
    np.testing.assert_allclose(found.x[:, 1], z[:23], rtol=1e-6)
    np.testing.assert_allclose(found.x[:, 2:], waves_of(table, 0, 7, 30), rtol=1e-6)
    assert found.x.shape[1] == 2 + count_waves(table)


def test_missing_lags_are_carried_forward_and_targets_stay_missing():
    table = read_series({"a": [1.0, np.nan, 3.0, 4.0, 5.0]})
    found = inputs_of(table, (1,), [scale_of(np.array([0.0, 1.0]))._replace(middle=0.0, spread=1.0)])
    assert found.x[:, 0].tolist() == [1, 1, 3, 4]
    assert np.isnan(found.y[0])


def test_lags_fit_the_shortest_series():
    assert lags_of(read_series("city-power")) == (1, 2, 3, 23, 24, 25, 48, 167, 168, 169)
    assert lags_of(read_series({"a": np.arange(12.0)})) == (1, 2, 3)
