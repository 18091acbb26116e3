"""Recipe anomaly: alarms where errors are, few elsewhere, new series, forecasts, the same after a kill."""

import numpy as np
import pandas as pd
import pytest

import cutaway as cut
from cutaway.cli import run as cli
from cutaway.recipes.series.anomaly import AnomalyRecipe
from cutaway.runs.views.anomalies import odd_stretches


def _series(steps=1500, seed=0):
    rng = np.random.default_rng(seed)
    hours = pd.date_range("2024-01-01", periods=steps, freq="h")
    return pd.Series(10 + 3 * np.sin(2 * np.pi * np.arange(steps) / 24) + 0.3 * rng.normal(size=steps), hours)


def _file(folder):
    path = folder / "sensor.csv"
    _series().rename("sensor").rename_axis("ds").reset_index().to_csv(path, index=False)
    return str(path)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("anomaly")
    return cut.train("anomaly", data=_file(folder), steps=250, out=folder / "run", show="quiet")


def test_injected_errors_are_found_and_little_else(run):
    found = run.metrics[-1]
    assert found["recall"] >= 0.75
    assert found["alarms_per_year"] < 60  # none to one in a week and a half
    assert run.about["data"]["baselines"]["z-score"]["metrics"].keys() >= {"precision", "recall", "alarms_per_year"}
    assert (
        "odd stretches" in (run.path / "report.html").read_text()
        or "nothing odd" in (run.path / "report.html").read_text()
    )


def test_a_new_series_with_a_spike_and_a_stuck_sensor(run, tmp_path, capsys):
    new = _series(600, seed=1)
    new.iloc[200] += 8
    new.iloc[400:430] = new.iloc[400]
    frame = run.predict({"sensor": new})
    assert list(frame) == ["unique_id", "start", "end", "steps", "value", "expected", "probability"]
    starts = list(frame["start"])
    assert new.index[200] in starts
    assert any(new.index[400] <= start <= new.index[435] for start in starts)
    assert len(frame) <= 4
    path = tmp_path / "new.csv"
    new.rename("sensor").rename_axis("ds").reset_index().to_csv(path, index=False)
    assert cli(["predict", str(run.path), str(path)]) == 0
    assert str(new.index[200]) in capsys.readouterr().out


def test_the_test_part_is_measured_beside_the_z_score(run):
    found = run.test()
    assert {"precision", "recall", "f1", "alarms_per_year", "baseline_recall"} <= set(found)


def test_it_forecasts_too(run):
    forecast = run.forecast(horizon=24)
    truth = 10 + 3 * np.sin(2 * np.pi * np.arange(1500, 1524) / 24)
    assert np.abs(forecast.quantiles["sensor"][0.5].to_numpy() - truth).mean() < 0.6


def test_the_same_run_again_is_the_same(run, tmp_path):
    again = cut.train("anomaly", data=_file(tmp_path), steps=250, out=tmp_path / "r", show="quiet")
    for a, b in zip(run.model.parameters(), again.model.parameters()):
        assert (a == b).all()


def test_mistakes_are_told(tmp_path):
    with pytest.raises(ValueError, match="alarms_per_year must be above 0, got 0; try alarms_per_year=2"):
        AnomalyRecipe(alarms_per_year=0)
    path = tmp_path / "short.csv"
    path.write_text("ds,y\n2024-01-01,1\n2024-01-02,2\n2024-01-03,3\n")
    with pytest.raises(ValueError, match="odd points need a history to stand out from, at least 71 values, got series"):
        AnomalyRecipe(data=str(path)).parts()


def test_a_look_at_series_of_yours(run, tmp_path):
    new = _series(300, seed=1)
    new.iloc[200] = 1e30  # a broken value is odd, and its square is no infinity
    path = tmp_path / "new.csv"
    new.rename("sensor").rename_axis("ds").reset_index().to_csv(path, index=False)
    subject = run.recipe.subject(run, str(path))
    assert subject.arguments[0].isfinite().all()
    picture = odd_stretches(run, subject)[0]
    assert picture.title.startswith("sensor: ")
    assert "odd stretch" in picture.title
    assert 1e30 in run.predict(str(path))["value"].tolist()
    short = tmp_path / "short.csv"
    new[:20].rename("sensor").rename_axis("ds").reset_index().to_csv(short, index=False)
    with pytest.raises(ValueError, match=r"looks back on, \d+ steps, got at most 20 values in short.csv; give more of"):
        run.predict(str(short))
