r"""Moves the words on a map up or down until none hides another."""

import numpy as np


def set_apart(xy: np.ndarray, widths: np.ndarray, height: float, rounds: int = 200) -> np.ndarray:
    """Heights of boxes of these ``widths`` around points, moved as little as it takes that no two overlap.

    Everything in one unit, such as pixels. Two boxes that overlap move half of it each, in many small ``rounds``; where
    there is no room some overlap remains.

    >>> set_apart(np.array([[0.0, 0.0], [1.0, 0.0], [50.0, 0.0]]), np.array([8.0, 8.0, 8.0]), 10.0).round(1).tolist()
    [-5.0, 5.0, 0.0]
    """
    x, y = xy[:, 0], xy[:, 1].astype(np.float64).copy()
    beside = np.abs(x[:, None] - x) < (widths[:, None] + widths) / 2
    np.fill_diagonal(beside, False)
    order = np.arange(len(y))
    for _ in range(rounds):
        gaps = y[:, None] - y
        overlap = np.where(beside, np.maximum(height - np.abs(gaps), 0), 0)
        if overlap.max(initial=0) < 1e-3 * height:
            break
        above = np.where(gaps != 0, np.sign(gaps), np.sign(order[:, None] - order))  # the later of two at one place
        y += (above * overlap).sum(1) / 2 / np.maximum((overlap > 0).sum(1), 1)
    return y
