"""The task of forecasting, seen through the smallest recipe of it: a random walk with a learned spread."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from walks import WalkRecipe
from waves import sines

import cutaway as cut
from cutaway.recipes.series.deepar import DeepARRecipe


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    days = pd.date_range("2024-01-01", periods=80)
    return pd.concat(
        [
            pd.DataFrame(
                {"shop": name, "day": days, "sold": 50 + rng.normal(size=80).cumsum(), "price": np.arange(80.0)}
            )
            for name in ("a", "b")
        ]
    )


@pytest.fixture(scope="module")
def run(frame, tmp_path_factory):
    path = tmp_path_factory.mktemp("walk") / "run"
    return cut.train("walk-for-tests", data=frame, target="sold", horizon=5, out=path, show="quiet")


def test_a_run_has_its_series_and_the_simple_methods(run):
    told = run.about["data"]
    assert (told["frequency"], told["horizon"], told["season"]) == ("D", 5, 7)
    assert {"random walk", "seasonal naive", "exponential smoothing", "linear on lags"} == set(told["baselines"])
    assert told["baselines"]["random walk"]["rule"].startswith("the last value, σ from the last ")
    again = cut.load(run.path)
    assert again.task.parts.train.lengths.tolist() == [70, 70]
    assert "Results" in (run.path / "report.html").read_text()


def test_a_forecast_of_its_own_series(run):
    forecast = run.forecast()
    assert list(forecast) == ["a", "b"]
    assert forecast.paths["a"].shape == (200, 5)
    assert forecast.quantiles["b"].index[0] == pd.Timestamp("2024-03-21")
    assert run.forecast(seed=1).mean["a"].tolist() != forecast.mean["a"].tolist()
    assert run.forecast().mean["a"].tolist() == forecast.mean["a"].tolist()
    short = run.forecast(horizon=2, quantiles=(0.25,), samples=7)
    assert short.paths["a"].shape == (7, 2)
    assert list(short.to_pandas()) == ["unique_id", "ds", "mean", "0.25"]


def test_a_forecast_of_other_series(run, frame, tmp_path):
    new = frame[frame["shop"] == "a"].assign(shop="c").head(9)
    forecast = run.forecast(new)
    assert list(forecast) == ["c"]
    assert forecast.times(0)[0] == pd.Timestamp("2024-01-10")
    path = tmp_path / "new.csv"
    new.to_csv(path, index=False)
    assert run.forecast(str(path)).mean["c"].tolist() == forecast.mean["c"].tolist()
    assert run.predict(str(path))["unique_id"].tolist() == ["c"] * 5
    assert list(run.forecast({"d": [1.0, 2.0, 3.0]})) == ["d"]


def test_a_backtest_of_past_windows(run):
    backtest = run.backtest(3)
    assert backtest.truth.shape == (6, 5)
    assert backtest.metrics["wql"] < 0.2
    assert run.backtest().truth.shape == (2, 5)
    with pytest.raises(ValueError, match=r"got windows=40 of 5 steps where the longest has 80 values; try windows=15"):
        run.backtest(40)


def test_the_test_windows_are_read_once_beside_the_simple_methods(run):
    found = run.test()
    assert {"wql", "unweighted_wql", "crps", "mase", "coverage_80", "baseline_random_walk_wql"} <= set(found)


def test_series_shorter_than_their_windows(tmp_path):
    data = {"long": np.arange(30.0), "short": np.arange(6.0)}
    parts = WalkRecipe.make(data=data, horizon=4).read().parts
    assert parts.table.names == ["long"]
    assert "left out 1 of 2 series with at most 9 values: short" in parts.table.summary()
    with pytest.raises(
        ValueError,
        match=r"2 series of at most 30 values for 1 \+ 1 windows of horizon=20, which take 41; lower horizon to 14",
    ):
        WalkRecipe.make(data=data, horizon=20).read()


def test_windows_may_be_none():
    parts = WalkRecipe.make(data={"a": np.arange(30.0)}, horizon=4, validation=0, windows=0).read().parts
    assert parts.train.lengths.tolist() == [30]


def test_covariates_must_reach_to_the_end_of_the_forecast(frame, tmp_path):
    run = cut.train("walk-for-tests", data=frame, known="price", horizon=5, steps=2, out=tmp_path / "r", show="quiet")
    with pytest.raises(ValueError, match="got 0 of 5 steps of price for series 'a'"):
        run.forecast()
    days = pd.date_range("2024-03-21", periods=5)
    future = pd.concat([pd.DataFrame({"shop": name, "day": days, "price": 9.0}) for name in ("a", "b")])
    forecast = run.forecast(future=future)
    assert forecast.history.known[0][-5:, 0].tolist() == [9.0] * 5
    with pytest.raises(ValueError, match="--future must name a column, got 'price' for the future"):
        run.forecast(future=future.drop(columns="price"))


def test_test_windows_in_a_file_of_their_own(tmp_path):
    (tmp_path / "train.csv").write_text("id,V1,V2,V3,V4,V5,V6,V7\n" + "a,1,2,3,4,5,6,7\nb,2,3,4,5,6,7,\n")
    (tmp_path / "test.csv").write_text("id,V1,V2\nb,8,9\na,8,9\n")
    recipe = WalkRecipe(data=str(tmp_path / "train.csv"), test_file=str(tmp_path / "test.csv"), horizon=2)
    parts = recipe.read().parts
    assert parts.test().truth.tolist() == [[8, 9], [8, 9]]
    assert parts.before_test.lengths.tolist() == [7, 6]


def test_other_runs_cannot_forecast(tmp_path):
    run = cut.train("linear", data="diabetes", steps=2, out=tmp_path / "r", show="quiet")
    with pytest.raises(ValueError, match="a run of 'linear' cannot forecast"):
        run.forecast()


def test_few_long_series_have_several_validation_windows():
    few = DeepARRecipe.make(data=sines(3, 700), frequency="D", horizon=7)
    assert few.read().parts.validation_windows == 19  # a fifth of 693 values
    assert replace(few, validation=2).read().parts.validation_windows == 2
    assert DeepARRecipe.make(data=sines(3, 60), frequency="D", horizon=14).read().parts.validation_windows == 1
