"""Lists of texts under their heads."""

import pytest

from cutaway.look.charts.text_lists import text_list
from cutaway.look.style.colours import CATEGORIES


def test_lines_and_heads():
    picture = text_list(["short", "word " * 200], ["good", "bad"], title="Texts", caption="Read them.")
    rows = picture.spec()["datasets"]["rows"]
    assert [row["line"] for row in rows if row["kind"] == "head"] == ["good", "bad"]
    lines = [row["line"] for row in rows if row["kind"] == "text"]
    assert len(lines) == 4
    assert lines[-1].endswith("…")
    assert [row["y"] for row in rows] == sorted(row["y"] for row in rows)
    assert picture.to_svg().startswith("<svg")


def test_groups_have_colours():
    picture = text_list(["a", "b", "c"], ["good", "bad", "good"], groups=[0, 1, 0], title="Texts")
    svg = picture.to_svg().upper()
    assert svg.count(CATEGORIES[0]) == 2
    assert svg.count(CATEGORIES[1]) == 1


def test_refused():
    with pytest.raises(ValueError, match="got 1 groups for 2 texts"):
        text_list(["a", "b"], ["c", "d"], groups=[0], title="x")
    with pytest.raises(ValueError, match="got 1 texts and 2 heads"):
        text_list(["a"], ["b", "c"], title="x")
    with pytest.raises(ValueError, match="at most 40 texts, got 41"):
        text_list(["a"] * 41, ["b"] * 41, title="x")
