"""The Forecast object: by series, as tables, and bad levels."""

import numpy as np
import pandas as pd
import pytest

from cutaway.data import read_series
from cutaway.tasks.series.forecast_paths import Forecast, expect_count, expect_levels


def _forecast():
    index = pd.date_range("2024-01-01", periods=4, freq="MS")
    table = read_series({"a": pd.Series([1.0, 2, 3, 4], index), "b": pd.Series([1.0, 2, 3], index[:3])})
    return Forecast(table, np.arange(2 * 5 * 3, dtype=float).reshape(2, 5, 3))


def test_a_forecast_is_by_series():
    forecast = _forecast()
    assert (list(forecast), len(forecast), forecast.horizon) == (["a", "b"], 2, 3)
    assert forecast.paths["b"].shape == (5, 3)
    assert forecast.mean["a"].tolist() == [6, 7, 8]
    assert forecast.quantiles["a"].shape == (3, 3)
    assert forecast.quantiles["a"][0.5].tolist() == [6, 7, 8]
    assert forecast.quantiles["b"].index[0] == pd.Timestamp("2024-04-01")
    assert forecast.quantile([0.0001]).shape == (2, 3, 1)
    assert repr(forecast) == "Forecast(2 series, 3 steps, 5 paths each; quantiles 0.1, 0.5, 0.9)"


def test_the_long_table():
    frame = _forecast().to_pandas()
    assert list(frame) == ["unique_id", "ds", "mean", "0.1", "0.5", "0.9"]
    assert frame["ds"].tolist()[:3] == list(pd.date_range("2024-05-01", periods=3, freq="MS"))
    assert (frame["0.1"] <= frame["0.9"]).all()


def test_bad_levels_and_counts():
    assert expect_levels(0.5) == [0.5]
    with pytest.raises(ValueError, match="quantiles must lie between 0 and 1, got 90; try"):
        expect_levels((0.1, 90))
    with pytest.raises(ValueError, match="got none"):
        expect_levels(())
    with pytest.raises(ValueError, match=r"horizon must be a whole number above 0, got 2.5; try horizon=12"):
        expect_count("horizon", 2.5, 12)
