"""The learner of deepar and forecaster: windows, the cost, what is measured, and paths of series that stand still."""

import math

import numpy as np
import pytest
from waves import sines

from cutaway.recipes.series.deepar import DeepARRecipe
from cutaway.recipes.series.forecaster import ForecasterRecipe


@pytest.mark.parametrize("kind", [DeepARRecipe, ForecasterRecipe])
def test_a_job_has_windows_an_objective_and_measures(kind: type):
    recipe = kind.make(data=sines(), frequency="D", horizon=5, batch=4, width=8, depth=1, samples=10)
    learner = recipe.build(recipe.read())
    job = learner.job()
    cost = job.objective(job.model, job.batches.at(0))
    assert cost.isfinite()
    job.model.eval()
    metrics = job.evaluate(job.model)
    assert {"loss", "wql", "mase", "coverage_80"} <= set(metrics)
    assert metrics["loss"] == pytest.approx(job.whole(job.model)["loss"])
    assert job.data["baselines"]["random walk"]["metrics"]["wql"] > 0
    paths = learner.sample_paths(job.model, learner.task.table, 4, 6, seed=1)
    assert paths.shape == (3, 6, 4)
    assert np.array_equal(paths, learner.sample_paths(job.model, recipe.read().table, 4, 6, seed=1))


def test_series_that_stand_still_are_trained_on_and_forecast():
    recipe = DeepARRecipe.make(data={"a": np.full(60, 7.5), "b": np.zeros(60)}, horizon=4, width=8, depth=1, samples=5)
    learner = recipe.build(recipe.read())
    job = learner.job()
    job.objective(job.model, job.batches.at(0)).backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in job.model.parameters())
    job.model.eval()
    assert all(math.isfinite(value) for value in job.evaluate(job.model).values())
    paths = learner.sample_paths(job.model, learner.task.table, 4, 5, seed=0)
    np.testing.assert_allclose(paths[0], 7.5, atol=0.01)
    np.testing.assert_allclose(paths[1], 0, atol=0.01)
