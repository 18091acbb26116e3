"""Maps of points."""

import pytest
import torch
from look.rendered import expect_drawn, rows_of, words_of

from cutaway.look import scatter
from cutaway.look.style.colours import CATEGORIES


def test_points_groups_and_labels():
    points = torch.tensor([[0.0, 0.0], [1.0, 2.0], [3.0, 1.0]])
    picture = scatter(points, ["cat", "dog", "cat"], labels=["<i>", "b", "c"], axes=("mean (mm)", "spread (mm)"))
    assert rows_of(picture)[1] == {"x": 1.0, "y": 2.0, "group": "dog", "label": "b"}
    assert {"cat", "dog", "mean (mm)", "spread (mm)"} <= set(words_of(picture))
    assert picture.alt == "Scatter plot of 3 points in 2 groups, mean (mm) by spread (mm)."
    expect_drawn(picture)


def test_both_axes_have_one_scale():
    encoding = scatter(torch.tensor([[0.0, 0.0], [10.0, 1.0]])).spec()["encoding"]
    spans = [encoding[axis]["scale"]["domain"] for axis in "xy"]
    assert spans[0][1] - spans[0][0] == pytest.approx(spans[1][1] - spans[1][0])
    assert spans[0][0] < 0 < 10 < spans[0][1]
    spec = scatter([[1.0, 1.0]]).spec()  # one point
    assert spec["encoding"]["x"]["scale"]["domain"] == [0.0, 2.0]
    assert spec["width"] == spec["height"]


def test_more_groups_than_colours_change_shape():
    scale = scatter(torch.rand(30, 2), torch.arange(30) % 10).spec()["encoding"]
    looks = list(zip(scale["color"]["scale"]["range"], scale["shape"]["scale"]["range"]))
    assert len(set(looks)) == 10
    assert scale["color"]["scale"]["domain"] == [str(i) for i in range(10)]
    assert {shape for _, shape in looks[: len(CATEGORIES)]} == {"circle"}
    expect_drawn(scatter(torch.rand(30, 2), torch.arange(30) % 10))


def test_values_as_colours():
    picture = scatter(torch.rand(5, 2), values=torch.arange(5), value="loss (nats)")
    assert [r["value"] for r in rows_of(picture)] == [0, 1, 2, 3, 4]
    assert "loss (nats)" in words_of(picture)
    expect_drawn(picture)


def test_too_many_points_and_points_that_are_none():
    points = torch.rand(20_010, 2)
    points[:4] = torch.nan
    picture = scatter(points)
    assert len(rows_of(picture)) == 20_000
    assert "4 points without finite coordinates are left out." in picture.note
    assert "An even sample of 20,000 of 20,006 points" in picture.note


def test_messages():
    with pytest.raises(ValueError, match=r"points must have 2 coordinates, got shape \(5, 3\); project them first"):
        scatter(torch.rand(5, 3))
    with pytest.raises(ValueError, match="by groups or by values, got both; leave one out"):
        scatter(torch.rand(2, 2), ["a", "b"], values=[1.0, 2.0])
    with pytest.raises(ValueError, match="labels must be one for each of the 2 points, got 1"):
        scatter(torch.rand(2, 2), labels=["a"])
    with pytest.raises(ValueError, match="at most 36 groups can be told apart, got 37; pass them as labels"):
        scatter(torch.rand(37, 2), list(range(37)))
    with pytest.raises(ValueError, match="at least one with finite coordinates, got none of 2"):
        scatter(torch.full((2, 2), torch.nan))
