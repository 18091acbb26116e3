"""The recipe `deepar`: trained, killed and resumed, loaded again, forecasting."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from killing import expect_same_after_death

import cutaway as cut

LITTLE: dict[str, Any] = dict(
    horizon=4, steps=12, batch=8, width=8, depth=1, context=8, samples=10, evaluate_every=4, checkpoint_every=4
)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Three daily series with a gap."""
    rng, t = np.random.default_rng(0), np.arange(70)
    frame = pd.DataFrame({"date": pd.date_range("2024-01-01", periods=70)})
    for i, name in enumerate("abc"):
        frame[name] = 5 * (i + 1) + np.sin(2 * np.pi * t / 7) + 0.2 * rng.standard_normal(70)
    frame.loc[30:32, "b"] = np.nan
    path = tmp_path_factory.mktemp("series") / "series.csv"
    frame.to_csv(path, index=False)
    return str(path)


@pytest.fixture(scope="module")
def run(file: str, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return cut.train("deepar", data=file, out=tmp_path_factory.mktemp("runs") / "run", show="quiet", **LITTLE)


def test_a_run_forecasts_and_is_loaded_again(run: Any):
    again = cut.load(run.path)
    found = again.forecast(horizon=6, samples=20, seed=3)
    assert {name: paths.shape for name, paths in found.paths.items()} == dict.fromkeys("abc", (20, 6))
    same_seed = run.forecast(horizon=6, samples=20, seed=3)
    assert all(np.array_equal(found.paths[name], same_seed.paths[name]) for name in "abc")
    assert set(found.to_pandas()["unique_id"]) == {"a", "b", "c"}


def test_a_run_is_tested_and_backtested(run: Any):
    assert 0 < run.test()["wql"] < 1
    assert run.backtest(2).metrics["mase"] > 0


def test_it_forecasts_series_that_it_never_saw(run: Any):
    new = pd.DataFrame({"date": pd.date_range("2030-01-01", periods=20), "z": np.arange(20.0) * 1000})
    found = run.forecast(new)
    assert found.paths["z"].shape == (200, 4)
    assert np.isfinite(found.paths["z"]).all()
    assert 10_000 < found.paths["z"].mean() < 30_000


@pytest.mark.parametrize("moment", ["between the files of a checkpoint", "after the last checkpoint"])
def test_killed_and_resumed_it_ends_with_the_same_weights(moment: str, run: Any, file: str, tmp_path: Path):
    expect_same_after_death(tmp_path, "deepar", LITTLE | {"data": file}, moment, whole=run.path)
