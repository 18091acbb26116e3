"""The tag strip: what it says, where it breaks lines, and what it refuses."""

import pytest

from cutaway.look.language.tag_strips import tag_strip


def rows_of(picture):
    return picture._chart["datasets"]["rows"]


P = [[0.9, 0.1, 0.0], [0.35, 0.25, 0.4]]


def test_the_likeliest_and_the_second():
    picture = tag_strip(P, ["the", "run"], ["DET", "NOUN", "VERB"])
    first, second = rows_of(picture)
    assert (first["tag"], first["second"]) == ("DET", "NOUN 10%")
    assert (second["tag"], second["second"]) == ("VERB", "DET 35%")
    assert "It is least sure of 'run': VERB with 40%." in picture.caption
    assert first["right"] < second["left"]


def test_lines_are_broken():
    picture = tag_strip([[1.0]] * 80, ["word"] * 80, ["X"])
    assert max(row["right"] for row in rows_of(picture)) <= 680
    assert len({row["top"] for row in rows_of(picture)}) > 3


def test_messages():
    with pytest.raises(
        ValueError, match=r"a row for each of 3 words and a column for each of 3 tags, got shape \(2, 3\)"
    ):
        tag_strip(P, ["a", "b", "c"], ["DET", "NOUN", "VERB"])
    with pytest.raises(ValueError, match=r"at most 200 words can be shown, got 201"):
        tag_strip([[1.0]] * 201, ["a"] * 201, ["X"])
