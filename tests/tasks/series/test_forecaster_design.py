"""The design of a forecaster by its series: likelihoods by their values, lags and context by their frequency."""

import math

import numpy as np
import pytest
from waves import sines

from cutaway.data.series.series_reading import read_series
from cutaway.recipes.series.deepar import DeepARRecipe
from cutaway.recipes.series.forecaster import ForecasterRecipe
from cutaway.tasks.series.forecaster_design import choose_likelihood


def counts(steps: int = 80) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {"a": rng.poisson(3.0, steps).astype(float), "b": rng.poisson(5.0, steps).astype(float)}


def test_auto_takes_counts_for_counts_and_large_ones_for_numbers():
    recipe = DeepARRecipe()
    assert choose_likelihood(recipe, read_series(counts())) == "negative-binomial"
    assert choose_likelihood(recipe, read_series(sines())) == "student-t"
    assert choose_likelihood(recipe, read_series({"a": np.round(1e4 + 100 * sines()["s0"])})) == "student-t"


def test_what_is_no_count_is_refused_by_a_negative_binomial():
    recipe = DeepARRecipe(likelihood="negative-binomial")
    with pytest.raises(ValueError, match=r"whole numbers from 0 up, got -2 in series 'b'; use likelihood=student-t"):
        choose_likelihood(recipe, read_series({"a": [1.0, 2.0, 3.0], "b": [1.0, -2.0, 3.0]}))
    with pytest.raises(ValueError, match=r"got 1.5 in series 'a'"):
        choose_likelihood(recipe, read_series({"a": [1.0, 1.5, math.nan]}))


def test_counts_given_to_a_gaussian_are_told():
    with pytest.warns(UserWarning, match="small counts, which a Gaussian fits badly; likelihood=negative-binomial"):
        assert choose_likelihood(DeepARRecipe(likelihood="gaussian"), read_series(counts())) == "gaussian"


@pytest.mark.parametrize("kind", [DeepARRecipe, ForecasterRecipe])
def test_the_design_follows_from_the_frequency(kind: type):
    recipe = kind.make(data=sines(), frequency="D", horizon=10)
    spec = recipe.build(recipe.read()).model.spec
    assert spec.lags == (1, 2, 3, 7, 8, 14)
    assert spec.seasons == (7,)
    assert (spec.context, spec.horizon) == (24, 10)
    hourly = kind.make(data=sines(1, 600), frequency="h")
    spec = hourly.build(hourly.read()).model.spec
    assert spec.horizon == 48
    assert spec.lags == (1, 2, 3, 24, 25, 48, 168, 169, 336)
    without = kind.make(data=sines())
    assert without.build(without.read()).model.spec.lags == (1, 2, 3)
