"""Functions on a grid: where each value stands, and where areas meet."""

import numpy as np
import pytest
import torch

from cutaway.look.charts.fields import borders, evaluated, expect_window, finer, grid_values, window_around

WINDOW = ((0.0, 2.0), (10.0, 12.0))


def test_the_top_row_is_the_top_of_the_window():
    x = grid_values(lambda at: at[:, 0], WINDOW, 2, 4)
    y = grid_values(lambda at: at[:, 1], WINDOW, 2, 4)
    assert x.tolist() == [[0.25, 0.75, 1.25, 1.75]] * 2
    assert y.tolist() == [[11.5] * 4, [10.5] * 4]
    assert grid_values(lambda at: at, WINDOW, 2, 4).shape == (2, 4, 2)


def test_finer_is_exact_for_planes():
    x, y = np.meshgrid(np.arange(5.0), np.arange(4.0))
    plane = finer(2 * x - 3 * y + 1, 3)
    inner = plane[1:-1, 1:-1]
    rows, columns = (np.arange(n * 3)[1:-1] for n in (4, 5))
    expected = 2 * ((columns + 0.5) / 3 - 0.5)[None] - 3 * ((rows + 0.5) / 3 - 0.5)[:, None] + 1
    assert np.allclose(inner, expected)
    assert finer(np.ones((1, 1, 2)), 4).shape == (4, 4, 2)


def test_borders_by_hand():
    assert borders(np.array([[0, 0, 1], [0, 0, 1], [2, 2, 1]])).astype(int).tolist() == [
        [0, 1, 0],
        [1, 1, 0],
        [0, 1, 0],
    ]


def test_a_window_around_points():
    assert window_around(np.array([[0.0, 1.0], [10.0, 1.0]]), 0.1) == ((-1.0, 11.0), (0.5, 1.5))


def test_many_points_are_asked_in_parts():
    sizes = []

    def function(at: torch.Tensor) -> torch.Tensor:
        sizes.append(len(at))
        return at.sum(1)

    points = torch.randn(20_000, 2)
    assert np.allclose(evaluated(function, points), points.sum(1).numpy())
    assert max(sizes) <= 8192


def test_messages():
    with pytest.raises(ValueError, match=r"each rising and finite, got \(2.0, 1.0\), \(0.0, 1.0\); swap"):
        expect_window(((2.0, 1.0), (0.0, 1.0)))
    with pytest.raises(ValueError, match=r"for each of the 3 points, got float64 of shape \(\)"):
        evaluated(lambda at: np.float64(1), torch.zeros(3, 2))
    with pytest.raises(ValueError, match=r"for each of the 3 points, got float32 of shape \(2,\)"):
        evaluated(lambda at: at[0], torch.zeros(3, 2))
