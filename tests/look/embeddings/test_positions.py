"""Positions: for sinusoids the distance says it all, by the closed form."""

import numpy as np
import pytest
import torch
from look.rendered import expect_drawn, rows_of

from cutaway.blocks import SinusoidalPosition
from cutaway.blocks.positions.sinusoidal import sinusoids
from cutaway.look import position_profile, position_similarity
from cutaway.look.embeddings.positions import cosines


def closed_form(length: int, width: int) -> np.ndarray:
    """(2/w) Σ_k cos(d / 10000^{2k/w}) for every distance d."""
    d, k2 = np.arange(length), np.arange(0, width, 2)
    return (2 / width) * np.cos(d[:, None] / 10000 ** (k2 / width)).sum(1)


def test_sinusoids_have_the_closed_form(float64):
    similarity = cosines(sinusoids(torch.arange(50), 16))
    i = np.arange(50)
    assert np.allclose(similarity, closed_form(50, 16)[np.abs(i[:, None] - i)], atol=1e-12)
    rows = rows_of(position_profile(sinusoids(torch.arange(50), 16)))
    assert [r["mean"] for r in rows] == pytest.approx(closed_form(50, 16).tolist(), abs=1e-5)
    assert all(r["high"] - r["low"] < 1e-5 for r in rows)


def test_learned_positions_have_a_band():
    picture = position_profile(torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 2.0]]))
    assert rows_of(picture) == [
        {"distance": 0, "mean": 1.0, "low": 1.0, "high": 1.0},
        {"distance": 1, "mean": 0.5, "low": 0.0, "high": 1.0},
        {"distance": 2, "mean": 0.0, "low": 0.0, "high": 0.0},
    ]
    assert "differ by up to 1 (distance 1)" in picture.alt
    expect_drawn(picture, colours=4)


def test_the_map_is_that_of_a_traced_model():
    import cutaway as cut

    block = SinusoidalPosition(8)
    with cut.trace(block, "rows") as seen:
        block(torch.zeros(1, 20, 8))
    picture = position_similarity(seen["rows"])
    assert np.allclose([r["values"] for r in rows_of(picture)], cosines(sinusoids(torch.arange(20), 8)), atol=1e-5)
    assert picture.alt.startswith("Heat map of cosine: 20 × 20 (position × position)")
    expect_drawn(picture)


def test_a_row_of_zeros_is_like_none():
    assert cosines([[0.0, 0.0], [1.0, 0.0]]).tolist() == [[0, 0], [0, 1]]
    with pytest.raises(ValueError, match=r"positions must have the axes \(positions, dimensions\), got shape \(3,\)"):
        position_similarity([1.0, 2.0, 3.0])
