"""Thresholds, stretches, injected errors and their scores."""

import numpy as np
import pytest

from cutaway.tasks.series.alarms import Stretch, exceedance, inject, merged, score_alarms, stretch_scores, threshold


def test_the_threshold_of_an_exponential_is_exceeded_as_often_as_said():
    scores = np.random.default_rng(0).exponential(size=20_000)
    assert threshold(scores, 1e-6) == pytest.approx(-np.log(1e-6), rel=0.1)
    assert (scores > threshold(scores, 0.1)).mean() == pytest.approx(0.1, abs=1e-3)
    assert threshold(np.ones(50), 0.01) == 1  # no tail at all
    assert threshold(np.array([np.nan, *scores]), 1e-6) == threshold(scores, 1e-6)


def test_stretch_scores_are_trailing_means():
    got = stretch_scores(np.array([1.0, 4.0, np.nan, 7.0]), 2)
    np.testing.assert_allclose(got, [1, 2.5, 2.5, 4])


def test_alarms_near_each_other_are_one_stretch():
    alarms = np.array([0, 1, 0, 1, 0, 0, 0, 1], bool)
    scores = np.array([0.0, 9, 0, 5, 0, 0, 0, 1])
    assert merged(alarms, scores, 3) == [Stretch(1, 4, 1), Stretch(7, 8, 7)]
    assert merged(np.zeros(3, bool), np.zeros(3), 3) == []


def test_scores_of_alarms_by_hand():
    events = [Stretch(10, 12, 10), Stretch(50, 60, 50)]
    found = [Stretch(13, 14, 13), Stretch(30, 31, 30), Stretch(55, 56, 55)]
    assert score_alarms(found, events, late=3) == pytest.approx({"precision": 2 / 3, "recall": 1.0, "f1": 0.8})
    assert score_alarms(found, events, late=0)["recall"] == 0.5
    assert score_alarms(found, [], late=3) == {}
    assert score_alarms([], events, 3) == {"precision": 1.0, "recall": 0.0, "f1": 0.0}


def test_injected_errors_are_where_they_are_said_to_be():
    x = np.sin(np.arange(2000) / 4)
    spoilt, events = inject(x, 24, seed=1)
    changed = np.flatnonzero(spoilt != x)
    inside = {t for event in events for t in range(event.start, event.stop)}
    assert len(events) >= 6
    assert set(changed.tolist()) <= inside
    assert all((spoilt[e.start : e.stop] != x[e.start : e.stop]).any() for e in events)
    again = inject(x, 24, seed=1)
    assert (again.values == spoilt).all()


def test_the_exceedance_of_a_threshold_is_its_probability():
    scores = np.random.default_rng(0).exponential(size=20_000)
    for probability in (0.2, 0.01, 1e-4):
        assert exceedance(scores, threshold(scores, probability)) == pytest.approx(probability, rel=0.05)


def test_nothing_is_put_into_an_outage():
    values = np.full(100, np.nan)
    assert inject(values, 7).events == []
