"""Calibration of the spread of forecasts: it finds factors that were put in, goes half of the way, and keeps still."""

from statistics import NormalDist

import numpy as np
import pytest

from cutaway.tasks.series.backtesting import LEVELS
from cutaway.tasks.series.calibration import own_factors, widening

Z = np.array([NormalDist().inv_cdf(level) for level in LEVELS])


def gaussians(rows: int, factors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Quantiles of N(0, 1) in units of 1 to 1000, and truths that spread by other factors."""
    rng = np.random.default_rng(0)
    unit = np.geomspace(1, 1000, rows)[:, None]
    truth = unit * factors * rng.normal(size=(rows, len(factors)))
    return unit[..., None] * np.broadcast_to(Z, (rows, len(factors), len(Z))), truth


def test_half_of_the_way_to_the_factor_that_was_put_in():
    for factor in (0.7, 1.0, 1.6):
        found = widening(*gaussians(2000, np.full(16, factor)), LEVELS)
        np.testing.assert_allclose(found, np.sqrt(factor), rtol=0.04)


def test_steps_have_factors_of_their_own():
    found = widening(*gaussians(2000, np.linspace(0.6, 1.8, 32)), LEVELS)
    assert (np.diff(found) >= -1e-9).all()
    assert found[0] < 0.9 < 1.2 < found[-1]


def test_at_most_four_times_and_1_where_nothing_is_known():
    quantiles, truth = gaussians(200, np.full(3, 50.0))
    np.testing.assert_allclose(widening(quantiles, truth, LEVELS), 2.0)
    assert (widening(quantiles, np.full_like(truth, np.nan), LEVELS) == 1).all()
    assert (widening(np.zeros_like(quantiles), truth, LEVELS) == 1).all()  # no width to measure in


@pytest.mark.parametrize("factor", [0.7, 1.0, 2.0])
def test_the_own_factor_is_that_of_the_own_windows_nearer_1_for_few(factor):
    quantiles, truth = gaussians(400, np.full(24, factor))
    many = own_factors(quantiles, truth, np.zeros(400, np.int64), 2)
    np.testing.assert_allclose(many, [factor, 1.0], rtol=0.05)  # the second has no window
    few = own_factors(quantiles[:1], truth[:1], np.zeros(1, np.int64), 1)
    r = np.quantile(np.abs(truth[0]) / quantiles[0, 0, -1], 0.8 * (1 + 1 / 6), method="higher")
    np.testing.assert_allclose(few, [np.sqrt(r)])


def test_windows_of_a_short_history_make_paths_wider_but_not_narrower():
    narrow, wide = gaussians(50, np.full(24, 0.5)), gaussians(50, np.full(24, 2.0))
    series, none = np.zeros(50, np.int64), np.zeros(50, bool)
    assert own_factors(*narrow, series, 1, none).tolist() == [1.0]
    assert own_factors(*narrow, series, 1, ~none)[0] < 0.6
    assert own_factors(*wide, series, 1, none)[0] > 1.8


def test_missing_truth_says_nothing():
    quantiles, truth = gaussians(5, np.full(6, 3.0))
    assert own_factors(quantiles, np.full_like(truth, np.nan), np.zeros(5, np.int64), 1).tolist() == [1.0]
