"""Panels of bars, one for each group."""

import pytest

from cutaway.look.charts.bar_panels import bar_panels


def test_panels():
    groups = {"good": {"charming": 2.0, "warm": 1.0}, "bad": {"dull": 1.5}, "none": {}}
    picture = bar_panels(groups, title="Words", value="log odds", caption="Longer is stronger.")
    spec = picture.spec()
    assert len(spec["concat"]) == 2
    assert [row["name"] for row in spec["datasets"]["rows"]] == ["charming", "warm", "dull"]
    assert "the strongest of good is charming" in picture.alt
    assert "charming" in picture.to_svg()


def test_refused():
    with pytest.raises(ValueError, match="at least one bar, got none"):
        bar_panels({"good": {}}, title="x", value="y")
    with pytest.raises(ValueError, match="at most 24 panels, got 25"):
        bar_panels({str(i): {"a": 1.0} for i in range(25)}, title="x", value="y")
