"""Decision maps: the field, the boundary, the points that are on the wrong side."""

import base64
import io

import numpy as np
import pytest
import torch
from look.rendered import expect_drawn, rows_of, words_of
from PIL import Image

from cutaway.look import decision_map
from cutaway.look.style.colours import CATEGORIES, channels

POINTS = torch.tensor([[-1.0, 0.0], [1.0, 0.0], [2.0, 1.0], [-2.0, 1.0]])
WINDOW = ((-3.0, 3.0), (-3.0, 3.0))


def image(picture, name: str) -> np.ndarray:
    url = rows_of(picture, name)[0]["url"]
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(url.split(",")[1]))).convert("RGBA")).astype(int)


def is_tint_of(pixel: np.ndarray, colour: str) -> bool:
    """White mixed with the colour: every channel is as far from 255, as a share of the colour's."""
    shares = [(255 - p) / (255 - c) for p, c in zip(pixel[:3], channels(colour)) if c < 250]
    return max(shares) - min(shares) < 0.05


def test_two_classes_by_hand():
    """σ(4x): class 1 to the right, sure at the rims, 1/2 in the middle."""
    picture = decision_map(
        lambda at: torch.sigmoid(4 * at[:, 0]), POINTS, [0, 1, 1, 1], WINDOW, names=["no", "yes it is"]
    )
    assert [(r["class"], r["decided"]) for r in rows_of(picture)] == [
        ("no", "no"),
        ("yes it is", "yes it is"),
        ("yes it is", "yes it is"),
        ("yes it is", "no"),
    ]
    field = image(picture, "ground")
    middle = field.shape[1] // 2
    assert is_tint_of(field[5, 0], CATEGORIES[0])
    assert is_tint_of(field[5, -1], CATEGORIES[1])
    assert field[5, middle].sum() > field[5, 0].sum() + 50  # paler
    lines = image(picture, "lines")[..., 3] > 0
    at = np.flatnonzero(lines.any(0))
    assert lines.all(0).any()  # from the bottom to the top
    assert at.tolist() == [lines.shape[1] // 2 - 1]  # the last pixel of the left half
    assert "3 of 4 points lie on their own side" in picture.note
    assert "no 50 %, yes it is 50 % of it" in picture.alt
    assert {"no", "yes it is", "input 1", "input 2"} <= set(words_of(picture))
    expect_drawn(picture)


def test_many_classes():
    corners = torch.tensor([[-2.0, -2.0], [2.0, -2.0], [0.0, 2.0]])
    picture = decision_map(lambda at: torch.softmax(-(torch.cdist(at, corners) ** 2), -1), corners, [0, 1, 2], WINDOW)
    field = image(picture, "ground")
    for c, (x, y) in enumerate(corners.tolist()):
        row, column = int((3 - y) / 6 * field.shape[0]), int((x + 3) / 6 * field.shape[1])
        assert is_tint_of(field[row, column], CATEGORIES[c])
    assert "3 of 3 points" in picture.note
    assert [r["class"] for r in rows_of(picture)] == ["class 0", "class 1", "class 2"]
    expect_drawn(picture)


def test_a_column_is_one_number_a_point_and_many_points_are_sampled():
    points = torch.randn(2500, 2)
    picture = decision_map(lambda at: torch.sigmoid(at[:, :1]), points, (points[:, 0] > 0).long())
    assert len(rows_of(picture)) == 2000
    assert "2,500 of 2,500 points" in picture.note
    assert "An even sample of 2,000 points is drawn." in picture.note


def test_messages():
    with pytest.raises(ValueError, match="add up to 1, got from -8 to 9; put a sigmoid or softmax after the logits"):
        decision_map(lambda at: 9 * at[:, 0] / at[:, 0], POINTS, [0, 1, 1, 1], WINDOW)
    with pytest.raises(ValueError, match=r"points must have 2 coordinates, got shape \(4, 3\)"):
        decision_map(lambda at: at[:, 0], torch.zeros(4, 3), [0, 1, 1, 1])
    half = lambda at: 0.5 * torch.ones(len(at))
    with pytest.raises(ValueError, match="classes must be one for each of the 4 points, got 2"):
        decision_map(half, POINTS, [0, 1])
    with pytest.raises(ValueError, match="whole numbers from 0 to 1, got 1 to 2; count the classes from 0"):
        decision_map(half, POINTS, [1, 2, 1, 2])
    with pytest.raises(ValueError, match="names must be one for each of the 2 classes, got 1"):
        decision_map(half, POINTS, [0, 1, 1, 1], names=["a"])
    with pytest.raises(ValueError, match="shows 2 to 6 classes, got 7; join or leave out some"):
        decision_map(lambda at: torch.full((len(at), 7), 1 / 7), POINTS, [0, 1, 1, 1])
