"""What deepar and forecaster share: likelihoods by the data, validation windows, the cost, and what is refused."""

import math

import numpy as np
import pytest
import torch

from cutaway.data.series.series_reading import read_series
from cutaway.recipes.series.deepar import DeepARRecipe
from cutaway.recipes.series.forecaster import ForecasterRecipe
from cutaway.recipes.series.probabilistic import negative_log_likelihood
from cutaway.tasks.series.window_batches import series_tensors

RECIPES = [DeepARRecipe, ForecasterRecipe]


def sines(count: int = 3, steps: int = 120) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    t = np.arange(steps)
    return {f"s{i}": 10 * (i + 1) + np.sin(2 * np.pi * t / 7) + 0.1 * rng.standard_normal(steps) for i in range(count)}


def counts(steps: int = 80) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {"a": rng.poisson(3.0, steps).astype(float), "b": rng.poisson(5.0, steps).astype(float)}


def test_auto_takes_counts_for_counts_and_large_ones_for_numbers():
    recipe = DeepARRecipe()
    assert recipe.likelihood_for(read_series(counts())) == "negative-binomial"
    assert recipe.likelihood_for(read_series(sines())) == "student-t"
    assert recipe.likelihood_for(read_series({"a": np.round(1e4 + 100 * sines()["s0"])})) == "student-t"


def test_what_is_no_count_is_refused_by_a_negative_binomial():
    recipe = DeepARRecipe(likelihood="negative-binomial")
    with pytest.raises(ValueError, match=r"whole numbers from 0 up, got -2 in series 'b'; use likelihood=student-t"):
        recipe.likelihood_for(read_series({"a": [1.0, 2.0, 3.0], "b": [1.0, -2.0, 3.0]}))
    with pytest.raises(ValueError, match=r"got 1.5 in series 'a'"):
        recipe.likelihood_for(read_series({"a": [1.0, 1.5, math.nan]}))


def test_counts_given_to_a_gaussian_are_told():
    with pytest.warns(UserWarning, match="small counts, which a Gaussian fits badly; likelihood=negative-binomial"):
        assert DeepARRecipe(likelihood="gaussian").likelihood_for(read_series(counts())) == "gaussian"


def test_few_long_series_have_several_validation_windows():
    few = DeepARRecipe.make(data=sines(3, 700), frequency="D", horizon=7)
    assert few.parts().validation_windows == 19  # a fifth of 693 values
    assert DeepARRecipe.make(data=sines(3, 700), frequency="D", horizon=7, validation=2).parts().validation_windows == 2
    assert DeepARRecipe.make(data=sines(3, 60), frequency="D", horizon=14).parts().validation_windows == 1


@pytest.mark.parametrize("kind", RECIPES)
def test_the_design_follows_from_the_frequency(kind: type):
    recipe = kind.make(data=sines(), frequency="D", horizon=10)
    spec = recipe.spec(recipe.parts())
    assert spec.lags == (1, 2, 3, 7, 8, 14)
    assert spec.seasons == (7,)
    assert (spec.context, spec.horizon) == (24, 10)
    hourly = kind.make(data=sines(1, 600), frequency="h")
    spec = hourly.spec(hourly.parts())
    assert spec.horizon == 48
    assert spec.lags == (1, 2, 3, 24, 25, 48, 168, 169, 336)
    without = kind.make(data=sines())
    assert without.spec(without.parts()).lags == (1, 2, 3)


@pytest.mark.parametrize("kind", RECIPES)
def test_a_job_has_windows_an_objective_and_measures(kind: type):
    recipe = kind.make(data=sines(), frequency="D", horizon=5, batch=4, width=8, depth=1, samples=10)
    job = recipe.job()
    cost = job.objective(job.model, job.batches.at(0))
    assert cost.isfinite()
    job.model.eval()
    metrics = job.evaluate(job.model)
    assert {"loss", "wql", "mase", "coverage_80"} <= set(metrics)
    assert metrics["loss"] == pytest.approx(job.whole(job.model)["loss"])
    assert job.data["baselines"]["random walk"]["metrics"]["wql"] > 0
    paths = recipe.sample_paths(job.model, recipe.read(), 4, 6, seed=1)
    assert paths.shape == (3, 6, 4)
    assert np.array_equal(paths, recipe.sample_paths(job.model, recipe.read(), 4, 6, seed=1))


def test_series_that_stand_still_are_trained_on_and_forecast():
    recipe = DeepARRecipe.make(data={"a": np.full(60, 7.5), "b": np.zeros(60)}, horizon=4, width=8, depth=1, samples=5)
    job = recipe.job()
    job.objective(job.model, job.batches.at(0)).backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in job.model.parameters())
    job.model.eval()
    assert all(math.isfinite(value) for value in job.evaluate(job.model).values())
    paths = recipe.sample_paths(job.model, recipe.read(), 4, 5, seed=0)
    np.testing.assert_allclose(paths[0], 7.5, atol=0.01)
    np.testing.assert_allclose(paths[1], 0, atol=0.01)


def test_missing_values_do_not_count_in_the_cost():
    recipe = DeepARRecipe.make(data=sines(), frequency="D", horizon=5, width=8, depth=1, dropout=0.0)
    parts = recipe.parts()
    job = recipe.job()
    tensors = series_tensors(parts.train, job.model.spec)
    one = tensors.windows(torch.tensor([0]), torch.tensor([40]), job.model.spec.past, 29)
    gone = one.values.clone()
    gone[0, -1] = math.nan
    found = -job.model(one).log_density(one.values[:, -29:])
    torch.testing.assert_close(negative_log_likelihood(job.model, one), found.mean())
    torch.testing.assert_close(negative_log_likelihood(job.model, one._replace(values=gone)), found[:, :-1].mean())


def test_settings_are_checked():
    with pytest.raises(ValueError, match="width must be at least 1, got 0"):
        DeepARRecipe(width=0)
    with pytest.raises(ValueError, match=r"dropout must be from 0 to below 1, got 1.0"):
        ForecasterRecipe(dropout=1.0)


@pytest.mark.untyped
def test_an_unknown_likelihood_is_told():
    with pytest.raises(ValueError, match=r"likelihood must be one of auto, student-t, .* got 'normal'"):
        DeepARRecipe(likelihood="normal")


def test_weights_are_chosen_by_large_and_small_series_and_paths_are_calibrated():
    job = DeepARRecipe.make(data=sines(), horizon=7, width=8).job()
    job.model.eval()
    found = job.evaluate(job.model)
    assert found[job.better] == pytest.approx((found["wql"] * found["unweighted_wql"]) ** 0.5)
    assert (job.model.widening == 1).all()
    job.calibrate(job.model)
    once = job.model.widening.clone()
    job.calibrate(job.model)  # from the start again
    assert torch.equal(job.model.widening, once)
    assert not (once == 1).all()
    assert ((once >= 0.5**0.5) & (once <= 2)).all()
