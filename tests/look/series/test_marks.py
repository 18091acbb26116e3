"""A series with its odd stretches marked."""

import numpy as np
import pandas as pd

from cutaway.look.series.marks import marked_series


def test_marks_lie_on_the_odd_steps():
    times = list(pd.date_range("2024-01-01", periods=10, freq="h"))
    values = np.arange(10.0)
    picture = marked_series(times, values, values + 1, [(4, 6)], title="sensor")
    data = picture.spec()["datasets"]
    assert [dot["value"] for dot in data["dots"]] == [4, 5]
    assert data["bands"] == [{"from": "2024-01-01T03:00:00Z", "to": "2024-01-01T06:00:00Z"}]
    assert picture.alt == "A series of 10 values with 1 odd stretches marked."
    assert picture.to_png()[:4] == b"\x89PNG"


def test_long_series_are_thinned_but_for_what_is_odd():
    values = np.arange(30_000.0)
    data = marked_series(range(30_000), values, values, [(7, 9)], title="x").spec()["datasets"]
    assert len(data["rows"]) < 7000
    assert {7.0, 8.0} <= {row["value"] for row in data["rows"]}
