"""Recipe anomaly: alarms where errors are, few elsewhere, new series, forecasts, the same after a kill."""

import numpy as np
import pandas as pd
import pytest

import cutaway as cut
from cutaway.cli import run as cli
from cutaway.recipes.series.anomaly import AnomalyRecipe
from cutaway.runs.views.anomalies import odd_stretches
from cutaway.tasks.series.alarms import POINT, QUIET
from cutaway.tasks.subjects import subject_of


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
    assert list(frame) == ["unique_id", "start", "end", "steps", "value", "expected", "probability", "why"]
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
        AnomalyRecipe(data=str(path)).read()


def test_a_look_at_series_of_yours(run, tmp_path):
    new = _series(300, seed=1)
    new.iloc[200] = 1e30  # a broken value is odd, and its square is no infinity
    path = tmp_path / "new.csv"
    new.rename("sensor").rename_axis("ds").reset_index().to_csv(path, index=False)
    subject = subject_of(run, str(path))
    assert subject.arguments[0].isfinite().all()
    picture = odd_stretches(run, subject)[0]
    assert picture.title.startswith("sensor: ")
    assert "odd stretch" in picture.title
    assert 1e30 in run.predict(str(path))["value"].tolist()
    short = tmp_path / "short.csv"
    new[:20].rename("sensor").rename_axis("ds").reset_index().to_csv(short, index=False)
    with pytest.raises(ValueError, match=r"looks back on, \d+ steps, got at most 20 values in short.csv; give more of"):
        run.predict(str(short))


def test_an_alarm_says_why_and_how_rare_that_is(run, tmp_path):
    new = _series(600, seed=2)
    new.iloc[200] += 15.0
    new.iloc[400:448] = new.iloc[400]  # stuck
    path = tmp_path / "why.csv"
    new.rename("sensor").rename_axis("ds").reset_index().to_csv(path, index=False)
    frame = run.predict(str(path))
    table, found = run.learner.detections(str(path))
    spike = next(s for s in found[0].stretches if s.start <= 200 < s.stop)
    assert POINT in spike.why
    assert spike.peak == 200
    rare = 2 / table.grid.steps_a_year / 3  # two false alarms a year, a third for each rule
    assert (frame["probability"] <= 2 * rare).all()  # none says that it is ordinary
    assert frame["why"].str.len().gt(0).all()


def test_a_quiet_stretch_is_called_quiet(run):
    usual = np.random.default_rng(0).exponential(size=5000)
    scores = usual[:400].copy()
    scores[200:260] = 0.01  # every value where it is expected
    table = run.task.parts.table
    quiet = [s for s in run.task.detect(scores, usual, table) if s.stop > 205 and s.start < 260]
    assert [s.why for s in quiet] == [QUIET]
    assert quiet[0].probability < 1e-3
    assert np.exp(-scores[quiet[0].peak]) > 0.9  # which alone says that it is ordinary


def test_an_outage_over_the_validation_windows_is_reached_over(tmp_path):
    values = _series(1500, seed=3)
    parts = AnomalyRecipe(data=_file(tmp_path)).read().parts
    first = 1500 - (parts.validation_windows + parts.test_windows) * parts.horizon
    values.iloc[first : 1500 - parts.test_windows * parts.horizon] = np.nan
    path = tmp_path / "outage.csv"
    values.rename("sensor").rename_axis("ds").reset_index().to_csv(path, index=False)
    run = cut.train("anomaly", data=str(path), steps=5, out=tmp_path / "run", show="quiet")
    assert "are missing" in run.about["data"]["summary"]
    assert np.isfinite(run.test()["alarms_per_year"])
