"""Views of forecasters: a file that is given to a look is forecast, and what is known ahead says how far."""

import numpy as np
import pandas as pd
import pytest

import cutaway as cut
from cutaway.runs.views.series import forecasts, forecasts_windows, given_series, simple_methods
from cutaway.tasks.subjects import subject_of


def waves(shift: float = 0.0, steps: int = 90) -> np.ndarray:
    return 10 + shift + np.sin(2 * np.pi * np.arange(steps) / 7)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    days = pd.date_range("2024-01-01", periods=90, freq="D")
    table = pd.DataFrame({"ds": days, "y": waves(), "price": np.arange(90.0)})
    folder = tmp_path_factory.mktemp("prices")
    table.to_csv(folder / "prices.csv", index=False)
    settings = dict(known="price", horizon=7, steps=2, width=8, out=folder / "run", show="quiet")
    return cut.train("deepar", data=str(folder / "prices.csv"), **settings)


def given(folder, ahead: int) -> str:
    days = pd.date_range("2025-03-01", periods=60 + ahead, freq="D")
    y = np.where(np.arange(60 + ahead) < 60, waves(1000.0, 60 + ahead), np.nan)
    pd.DataFrame({"ds": days, "y": y, "price": np.arange(60.0 + ahead)}).to_csv(folder / "mine.csv", index=False)
    return str(folder / "mine.csv")


@pytest.mark.parametrize(("ahead", "shown"), [(7, 7), (3, 3)])
def test_a_given_file_is_forecast_as_far_as_its_covariates_reach(run, tmp_path, ahead, shown):
    assert forecasts(run)
    picture = given_series(run, subject_of(run, given(tmp_path, ahead)))
    median = [row for row in picture.spec()["datasets"]["rows"] if row["part"] == "median"]
    assert len(median) == shown + 1  # joined to the last value
    assert median[1]["at"].startswith("2025-04-30")
    assert all(abs(row["value"] - 1010) < 10 for row in median)
    assert picture.title == f"What comes after your series: {shown} steps"
    assert picture.caption


def test_without_a_file_or_covariates_ahead_there_is_nothing_to_draw(run, tmp_path):
    assert given_series(run, subject_of(run)) == []
    assert given_series(run, subject_of(run, given(tmp_path, 0))) == []


def test_a_run_of_anomaly_with_windows_has_no_simple_methods_to_draw(tmp_path):
    run = cut.train("anomaly", data={"a": waves(steps=200)}, validation=3, steps=2, out=tmp_path / "run", show="quiet")
    assert forecasts_windows(run)
    assert simple_methods(run, subject_of(run)) == []
