"""Missing values: filled by a rule, or refused by name."""

import numpy as np
import pandas as pd
import pytest

from cutaway.data import read_series
from cutaway.data.series.missing_values import filled

X = np.array([np.nan, 1.0, np.nan, np.nan, 4.0])


def test_rules_worked_by_hand():
    assert filled(X, "zero").tolist() == [0, 1, 0, 0, 4]
    assert filled(X, "forward").tolist() == [1, 1, 1, 1, 4]
    assert filled(X, "interpolate").tolist() == [1, 1, 2, 3, 4]
    np.testing.assert_array_equal(filled(X, "forward"), pd.Series(X).ffill().bfill())


def test_a_gap_is_refused_by_name_if_asked():
    index = pd.DatetimeIndex(["2024-01-01", "2024-01-02", "2024-01-04", "2024-01-05"])
    data = {"shop": pd.Series([1.0, 2.0, 3.0, 4.0], index)}
    with pytest.raises(ValueError, match="got 1 missing in series 'shop', the first at 2024-01-03"):
        read_series(data, frequency="D", missing="refuse")
    assert read_series(data, missing="interpolate").values[0].tolist() == [1, 2, 2.5, 3, 4]
    with pytest.raises(ValueError, match="missing must be one of keep, zero, forward, interpolate, refuse, got 'drop'"):
        read_series(data, missing="drop")
