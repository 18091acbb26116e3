"""Pictures of errors by horizon, of calibration and of methods side by side."""

import numpy as np
import pytest

from cutaway.look.series.forecast_errors import calibration, errors_by_horizon, method_bars


def test_errors_by_horizon_have_a_line_for_each_method():
    picture = errors_by_horizon({"deepar": np.array([1.0, 2.0]), "walk": np.array([1.5, 3.0])}, title="t", unit="loss")
    rows = picture.spec()["datasets"]["rows"]
    assert [(row["method"], row["step"], row["error"]) for row in rows[:2]] == [("deepar", 1, 1), ("deepar", 2, 2)]
    assert picture.alt == "Lines of 2 methods over 2 steps ahead; deepar goes from 1 to 2."
    assert picture.to_png()[:4] == b"\x89PNG"


def test_calibration_counts_places():
    picture = calibration(np.array([[0.05, 0.5], [0.55, np.nan]]))
    shares = [row["share"] for row in picture.spec()["datasets"]["rows"]]
    assert shares[0] == pytest.approx(1 / 3, abs=1e-5)
    assert sum(shares) == pytest.approx(1, abs=1e-4)
    assert "holds 67% of 3 values" in picture.note
    with pytest.raises(ValueError, match="needs values that came, got none"):
        calibration(np.full((2, 2), np.nan))


def test_bars_say_who_is_better():
    better = method_bars({"deepar": 0.5, "walk": 1.0}, title="t", unit="loss")
    assert better.caption == "The model is 50% better than the best simple method, walk."
    worse = method_bars({"deepar": 2.0, "walk": 1.0}, title="t", unit="loss")
    assert worse.caption.startswith("The best simple method, walk, is better than the model")
