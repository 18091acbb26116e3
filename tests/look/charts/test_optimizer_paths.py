"""Ways down a surface: where they go, what they cost, what leaves the picture."""

import numpy as np
import pytest
import torch
from look.rendered import expect_drawn, rows_of, words_of

from cutaway.look import trajectories
from cutaway.training.optimizers.equations import descend, gradient_step
from cutaway.training.optimizers.surfaces import bowl, himmelblau


def test_a_way_by_hand():
    """x ← x − ε x and y ← y − 10 ε y on ½ (x² + 10 y²), with ε = 0.1: y is there in one step."""
    way = descend(bowl, torch.tensor([-8.0, 2.0]), gradient_step, 2, rate=0.1)
    picture = trajectories(bowl, {"gradient descent": way}, bowl.window, minima=bowl.minima, value="cost J")
    rows = rows_of(picture)
    assert [(r["step"], r["x"], r["y"]) for r in rows] == [
        (0, -8.0, 2.0),
        (1, pytest.approx(-7.2), pytest.approx(0, abs=1e-6)),
        (2, pytest.approx(-6.48), pytest.approx(0, abs=1e-6)),
    ]
    assert [r["cost"] for r in rows] == pytest.approx([52, 25.92, 20.9952], rel=1e-4)
    assert rows_of(picture, "ends") == [
        {"x": -8.0, "y": 2.0, "what": "start"},
        {"x": 0.0, "y": 0.0, "what": "minimum"},
    ]
    assert "Cost J at the end: gradient descent 21" in picture.note
    assert {"x", "y", "gradient descent"} <= set(words_of(picture))
    expect_drawn(picture)


def test_a_window_of_its_own_holds_all_paths():
    way = torch.tensor([[0.0, 0.0], [10.0, 5.0]])
    x = trajectories(bowl, {"a": way}).spec()["layer"][0]["encoding"]["x"]["scale"]["domain"]
    assert x == pytest.approx([-1.2, 11.2])


def test_a_path_that_is_lost_is_drawn_until_then():
    way = np.array([[0.0, 0.0], [1.0, 1.0], [1e9, 1.0], [np.nan, 0.0], [1.0, 1.0]])
    picture = trajectories(bowl, {"wild": way}, bowl.window)
    assert [r["step"] for r in rows_of(picture)] == [0, 1, 2]
    assert "Lost where it was no number any more: wild." in picture.note
    expect_drawn(picture)


def test_long_paths_are_thinned_and_keep_their_ends():
    way = torch.linspace(0, 1, 5001)[:, None].expand(-1, 2)
    rows = rows_of(trajectories(himmelblau, {"a": way}, himmelblau.window))
    assert len(rows) == 400
    assert (rows[0]["step"], rows[-1]["step"]) == (0, 5000)


def test_messages():
    with pytest.raises(ValueError, match="shows 1 to 6 paths, got 0; make several pictures"):
        trajectories(bowl, {})
    with pytest.raises(ValueError, match=r"two coordinates, got shape \(4, 3\) for 'a'; pick two parameters"):
        trajectories(bowl, {"a": torch.zeros(4, 3)})
    with pytest.raises(ValueError, match=r"begin at a finite point, got \[nan, 0.0\] for 'a'"):
        trajectories(bowl, {"a": [[float("nan"), 0.0]]})
    with pytest.raises(ValueError, match=r"a cost is one number a point, got shape \(\d+, 2\)"):
        trajectories(lambda at: at, {"a": [[0.0, 0.0]]})
