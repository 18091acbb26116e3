"""Words that are set apart can be read, and move no more than they have to."""

import numpy as np

from cutaway.look.charts.word_placement import set_apart


def overlaps(x: np.ndarray, y: np.ndarray, widths: np.ndarray, height: float) -> float:
    beside = np.abs(x[:, None] - x) < (widths[:, None] + widths) / 2
    np.fill_diagonal(beside, False)
    return float(np.where(beside, np.maximum(height - np.abs(y[:, None] - y), 0), 0).max())


def test_no_two_overlap():
    draw = np.random.default_rng(0)
    xy, widths = draw.uniform(0, 480, (60, 2)), draw.uniform(10, 60, 60)
    y = set_apart(xy, widths, 12.0)
    assert overlaps(xy[:, 0], xy[:, 1], widths, 12.0) > 6
    assert overlaps(xy[:, 0], y, widths, 12.0) < 0.5
    assert np.abs(y - xy[:, 1]).max() < 60


def test_what_has_room_stays():
    xy = np.array([[0.0, 0.0], [0.0, 20.0], [100.0, 0.0]])
    assert set_apart(xy, np.full(3, 30.0), 12.0).tolist() == [0, 20, 0]
    assert set_apart(xy[:1], np.ones(1), 12.0).tolist() == [0]


def test_words_at_one_place_keep_their_order():
    y = set_apart(np.zeros((3, 2)), np.ones(3), 10.0)
    assert (np.diff(y) > 9.9).all()
    assert abs(y.mean()) < 1e-9  # none is preferred
