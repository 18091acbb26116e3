import numpy as np
import pytest

from cutaway.look.series.evidence import evidence_picture


def test_every_series_has_its_panel_its_line_and_its_strips():
    picture = evidence_picture([np.arange(5.0), np.ones((300, 2))], [np.arange(5.0) - 2, np.ones(300)], ["up", "flat"])
    rows = picture.spec()["datasets"]["rows"]
    first = [row for row in rows if row["panel"] == "1. up"]
    assert [row["evidence"] for row in first if "evidence" in row] == [-2, -1, 0, 1, 2]
    assert [row["value"] for row in first if "value" in row] == [0, 1, 2, 3, 4]
    second = [row for row in rows if row["panel"] == "2. flat"]
    assert len([row for row in second if "evidence" in row]) == 160  # more strips would not be seen
    assert len([row for row in second if "value" in row]) == 600
    assert picture.caption.endswith(".")
    assert picture.to_svg().startswith("<svg")


def test_messages():
    with pytest.raises(ValueError, match="got 1, 1 and 2; pass as many of each"):
        evidence_picture([[1.0]], [[1.0]], ["a", "b"])
    with pytest.raises(ValueError, match="got 1 for 2 steps"):
        evidence_picture([[1.0, 2.0]], [[1.0]], ["a"])
