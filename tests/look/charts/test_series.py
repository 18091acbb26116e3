"""Series of metrics: reading, smoothing and thinning."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutaway.look.charts.series import read_series, smoothed, thinned

ROWS = [
    {"step": 0, "split": "validation", "loss": 4.0},
    {"step": 50, "split": "train", "loss": 3.0, "rate": 0.8, "seconds": 2.0},
    {"step": 75, "split": "validation", "loss": 2.9},
    {"step": 100, "split": "train", "loss": None, "rate": 0.7, "seconds": 6.0},
]


def test_rows_become_series_with_training_first():
    train, validation = read_series(ROWS, "loss")
    assert (train.split, validation.split) == ("train", "validation")
    assert train.steps.tolist() == [50, 100]
    assert train.values[0] == 3.0
    assert math.isnan(train.values[1])
    assert validation.values.tolist() == [4.0, 2.9]


def test_the_weights_kept_stand_at_their_step():
    kept = {"step": 100, "split": "validation-whole", "loss": 2.9, "weights_of": 75}
    assert read_series([*ROWS, kept], "loss")[-1].steps.tolist() == [75]


def test_evaluations_take_their_time_from_the_training_rows_around():
    _, validation = read_series(ROWS, "loss")
    assert validation.seconds.tolist() == [0.0, 4.0]  # half way from 2 to 6


def test_rows_without_the_metric_or_without_times():
    (rate,) = read_series(ROWS, "rate")
    assert rate.values.tolist() == [0.8, 0.7]
    assert read_series(ROWS, "accuracy") == []
    assert read_series([], "loss") == []
    (untimed,) = read_series([{"step": 1, "loss": 2.0}], "loss")
    assert untimed.split == "train"
    assert np.isnan(untimed.seconds).all()


@given(st.lists(st.one_of(st.floats(-10, 10), st.just(math.nan)), min_size=1, max_size=12), st.integers(1, 9))
def test_smoothing_is_the_sum_that_it_says(values: list[float], span: int):
    gamma = 1 - 2 / (span + 1)
    found = smoothed(np.array(values), span)
    for t, x in enumerate(values):
        pairs = [(gamma ** abs(t - s), y) for s, y in enumerate(values) if math.isfinite(y)]
        if math.isfinite(x):
            assert found[t] == pytest.approx(sum(w * y for w, y in pairs) / sum(w for w, _ in pairs), abs=1e-9)
        else:
            assert math.isnan(found[t])


def test_smoothing_one_row_changes_nothing_and_a_straight_line_stays():
    assert smoothed(np.array([3.0, 1.0, 2.0]), 1).tolist() == [3.0, 1.0, 2.0]
    line = np.arange(101.0)
    assert smoothed(line, 5)[50] == pytest.approx(50)  # no lag


@given(st.lists(st.floats(-10, 10), min_size=1, max_size=200), st.integers(2, 40))
def test_thinning_keeps_the_extremes_and_the_ends(values: list[float], limit: int):
    kept = thinned(np.array(values), limit)
    assert len(kept) <= limit + 2
    assert kept[0] == 0
    assert kept[-1] == len(values) - 1
    assert max(values[i] for i in kept) == max(values)
    assert min(values[i] for i in kept) == min(values)
    assert list(kept) == sorted(set(kept.tolist()))


def test_thinning_of_nothing_but_gaps():
    assert len(thinned(np.full(100, np.nan), 10)) <= 12
