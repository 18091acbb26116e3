"""Curves of right answers by the size of a change."""

import pytest

from cutaway.look.images.resistance_curves import resistance_curves


def test_rows_and_words(tmp_path):
    picture = resistance_curves([0.0, 0.1], {"noise": [1.0, 0.9], "pgd": [1.0, 0.0]}, title="T", caption="See.")
    rows = picture.spec()["datasets"]["rows"]
    assert {"size": 0.1, "share": 0.9, "change": "noise"} in rows
    assert "at the end: noise 90%, pgd 0%" in picture.alt
    assert picture.save(tmp_path / "a.svg").stat().st_size > 1000


def test_mistakes():
    with pytest.raises(ValueError, match="one for each of 2 sizes, got 1 of 'pgd'"):
        resistance_curves([0.0, 0.1], {"pgd": [1.0]}, title="T")
