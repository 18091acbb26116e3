"""Fits of one input: the curve passes through its kinks, and the error is that of the data."""

from itertools import pairwise

import pytest
import torch
from look.rendered import expect_drawn, rows_of, words_of

from cutaway.blocks import line_regions, relu_network
from cutaway.look import fitted_curve


def test_a_hat_by_hand():
    hat = relu_network([0.0, 1.0, 2.0], [0.0, 1.0, 0.0])
    kinks = -1 + 4 * line_regions(hat, [-1.0], [3.0]).kinks
    x = torch.tensor([0.0, 1.0, 2.0])
    picture = fitted_curve(
        hat, x, torch.tensor([0.0, 1.0, 2.0]), kinks=kinks, window=(-1, 3), axes=("time (s)", "height (m)")
    )
    assert rows_of(picture, "kinks") == [{"x": 1.0, "y": 1.0}]
    assert {"x": 1.0, "y": 1.0} in rows_of(picture, "curve")
    assert "Root mean squared error 1.15 over 3 points. 2 linear regions" in picture.note  # √(4/3)
    assert {"time (s)", "height (m)"} <= set(words_of(picture))
    expect_drawn(picture)


def test_between_kinks_the_curve_is_straight(float64):
    torch.manual_seed(1)
    net = torch.nn.Sequential(torch.nn.Linear(1, 9), torch.nn.ReLU(), torch.nn.Linear(9, 1))
    kinks = -2 + 4 * line_regions(net, [-2.0], [2.0]).kinks
    rows = rows_of(fitted_curve(net, [0.0], [0.0], kinks=kinks, window=(-2, 2)), "curve")
    edges = [-2.0, *kinks.tolist(), 2.0]
    for left, right in pairwise(edges):
        inside = [(r["x"], r["y"]) for r in rows if left - 1e-6 <= r["x"] <= right + 1e-6]
        (x0, y0), (x1, y1) = inside[0], inside[-1]
        for x, y in inside:
            assert y == pytest.approx(y0 + (x - x0) * (y1 - y0) / (x1 - x0), abs=2e-4)


def test_kinks_outside_and_points_that_are_none():
    x = torch.tensor([0.0, 1.0, torch.nan])
    picture = fitted_curve(lambda at: at[:, 0], x, torch.zeros(3), kinks=[-50.0, 0.5])
    assert [r["x"] for r in rows_of(picture, "kinks")] == [0.5]
    assert "over 2 points" in picture.note
    assert "linear regions" not in fitted_curve(lambda at: at, [1.0], [1.0]).note
    expect_drawn(picture)


def test_many_kinks_are_marked_at_the_bottom():
    picture = fitted_curve(lambda at: at, [0.0, 1.0], [0.0, 1.0], kinks=torch.linspace(0.01, 0.99, 41))
    assert "42 linear regions: a stroke at the bottom marks each of the 41 kinks." in picture.note
    expect_drawn(picture)


def test_messages():
    with pytest.raises(ValueError, match="one for each of the 2 inputs, got 1; pass the same rows"):
        fitted_curve(lambda at: at, [1.0, 2.0], [1.0])
    with pytest.raises(ValueError, match="a window goes from low to high, got 2 to 1; swap"):
        fitted_curve(lambda at: at, [1.0], [1.0], window=(2, 1))
    with pytest.raises(ValueError, match=r"one number a point, got shape \(\d+, 2\); pick one output"):
        fitted_curve(lambda at: at.expand(-1, 2), [1.0], [1.0])
    with pytest.raises(ValueError, match="at least one finite number, got none of 1"):
        fitted_curve(lambda at: at, [float("nan")], [1.0])
