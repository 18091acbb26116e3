"""Forecast fans: what is drawn, in which order, and words for those who cannot see them."""

import numpy as np
import pandas as pd
import pytest

from cutaway.look.series.fans import Fan, fan_chart


def _fan(name="a", truth=None, dated=True):
    times = pd.date_range("2024-01-01", periods=9, freq="D") if dated else range(9)
    q = np.arange(3.0)[:, None] + np.array([[0.0, -1.0, 1.0]])
    return Fan(name, list(times[:6]), np.arange(6.0), list(times[6:]), q, (0.5, 0.1, 0.9), truth)


def _rows(picture, part, name="a"):
    return [r for r in picture.spec()["datasets"]["rows"] if r["part"] == part and r["name"] == name]


def test_bands_lie_between_outer_quantiles_and_begin_at_the_last_value():
    picture = fan_chart([_fan(truth=np.array([1.0, 2.0, 3.0]))])
    band = _rows(picture, "band0")
    assert [(row["low"], row["high"]) for row in band] == [(5, 5), (-1, 1), (0, 2), (1, 3)]
    assert [row["value"] for row in _rows(picture, "median")] == [5, 0, 1, 2]
    assert [row["value"] for row in _rows(picture, "what came")] == [5, 1, 2, 3]
    assert band[1]["at"] == "2024-01-07T00:00:00Z"
    assert "quantiles 0.1 and 0.9" in picture.note
    assert picture.to_png()[:4] == b"\x89PNG"


def test_times_may_be_numbers_and_values_missing():
    fan = _fan(dated=False)
    fan.values[-1] = np.nan
    picture = fan_chart([fan, _fan("b", dated=False)])
    assert [row["at"] for row in _rows(picture, "median")] == [6, 7, 8]
    assert picture.alt == "Fans of 2 forecasts of 3 steps: a, b."


def test_many_series_are_cut_and_none_is_refused():
    picture = fan_chart([_fan(f"s{i}") for i in range(20)])
    assert "The first 12 of 20 series." in picture.note
    with pytest.raises(ValueError, match="a picture of forecasts needs at least one, got none"):
        fan_chart([])
