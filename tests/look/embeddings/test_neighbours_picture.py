"""Lists of nearest neighbours."""

import pytest
from look.rendered import expect_drawn, rows_of, words_of

from cutaway.look import neighbours

ROWS, NAMES = [[1.0, 0.0], [0.0, 1.0], [3.0, 4.0], [-1.0, 0.0]], ["east", "north", "far away", "west"]


def test_bars_in_order():
    picture = neighbours(ROWS, NAMES, ["east", "north"], count=2)
    rows = rows_of(picture)
    assert [(r["of"], r["place"], r["name"], r["score"]) for r in rows] == [
        ("east", 1, "far␣away", 0.6),
        ("east", 2, "north", 0.0),
        ("north", 1, "far␣away", 0.8),
        ("north", 2, "east", 0.0),
    ]
    assert {"east", "north", "far␣away", "cosine"} <= set(words_of(picture))
    assert picture.alt.endswith("The nearest of east: far away (0.6); of north: far away (0.8).")
    assert picture.note == "Among 4 rows, by cosine: the larger, the nearer."
    expect_drawn(picture)


def test_a_vector_by_its_own_name_and_distances():
    picture = neighbours(ROWS, NAMES, {"half way": [0.5, 0.5]}, count=1, by="euclidean")
    assert rows_of(picture)[0]["name"] == "east"
    assert {"half way", "distance"} <= set(words_of(picture))
    assert "the smaller, the nearer" in picture.note


def test_messages():
    with pytest.raises(ValueError, match="of at most 24 rows, got 25; make several"):
        neighbours(ROWS, NAMES, ["east"] * 25)
