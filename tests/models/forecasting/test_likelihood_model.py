"""What all forecasters share: simple forecasts inside, causality, missing values, paths, scaling, messages."""

import math

import pytest
import torch

import cutaway as cut
from cutaway.models.forecasting.deepar import DeepAR, DeepARSpec
from cutaway.models.forecasting.forecaster import Forecaster
from cutaway.models.forecasting.likelihood_model import LIKELIHOODS, PredictiveModel, modelled_values
from cutaway.models.forecasting.linear_expert import Local

from .windows_of_series import SIZES, window

FAMILIES = [DeepAR, Forecaster]


def made(family: type[PredictiveModel], trained: bool = True, **sizes: object) -> PredictiveModel:
    torch.manual_seed(0)
    model = family(**SIZES | sizes).double().eval()
    if trained:  # somewhere else than at the start
        with torch.no_grad():
            model.out.weight.normal_(0, 0.1)
    return model


@pytest.mark.parametrize("family", FAMILIES)
def test_an_untrained_model_is_nearly_the_linear_expert(family: type[PredictiveModel]):
    model = made(family, trained=False)
    one = window(model)
    reading = model.read(one)
    with cut.trace(model, "mixture", "location", "scale") as seen:
        model(one)
    expert = seen["mixture"][..., -1]
    assert (expert > 0.8).all()
    local = Local.of(one.local[:, None])
    torch.testing.assert_close(seen["scale"], local.unit.expand_as(seen["scale"]))
    with cut.patch(model, {"mixture": lambda w: torch.nn.functional.one_hot(w.argmax(-1), w.shape[-1]).double()}):
        found = model(one)
    torch.testing.assert_close(found.mean, reading.expert * local.scale)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("lag", [1, 4])
def test_naive_forecasts_are_weights_of_the_mixture(family: type[PredictiveModel], lag: int):
    model = made(family, trained=False)
    one = window(model)
    place = model.spec.lags.index(lag)
    only = torch.zeros(model.spec.candidates).double()
    only[place] = 1
    with cut.patch(model, {"mixture": lambda w: only.expand_as(w)}):
        found = model(one).mean
    n = one.values.shape[1]
    torch.testing.assert_close(found, one.values[:, n - 9 - lag : n - lag])


@pytest.mark.parametrize("family", FAMILIES)
def test_no_step_sees_its_own_value_or_later_ones(family: type[PredictiveModel]):
    model = made(family)
    one = window(model)
    values = one.values.clone()
    values[:, -4:] *= 3
    first, second = model(one), model(one._replace(values=values))
    for x, y in zip(first, second, strict=True):
        torch.testing.assert_close(x[:, :6], y[:, :6])
    assert not torch.allclose(first.mean[:, 6:], second.mean[:, 6:])


@pytest.mark.parametrize("family", FAMILIES)
def test_the_unit_of_a_series_does_not_matter(family: type[PredictiveModel]):
    model = made(family)
    one = window(model)
    local = one.local.clone()
    local[:, 0] *= 1000
    large = model(one._replace(values=one.values * 1000, local=local))
    torch.testing.assert_close(large.mean, model(one).mean * 1000)


@pytest.mark.parametrize("family", FAMILIES)
def test_missing_values_are_left_out_and_harmless(family: type[PredictiveModel]):
    model = made(family)
    one = window(model)
    values = one.values.clone()
    values[0, -3] = math.nan
    values[1, : model.spec.past - 2] = math.nan  # a series that has just begun
    found = model.log_likelihood(one._replace(values=values))
    assert found[0, -3].isnan()
    assert found.isnan().sum() == 1
    ranks = model.cdf(one._replace(values=values))
    assert ranks[~ranks.isnan()].min() >= 0
    assert ranks[~ranks.isnan()].max() <= 1


@pytest.mark.parametrize("family", FAMILIES)
def test_the_likelihood_of_a_window_is_that_of_its_distributions(family: type[PredictiveModel]):
    model = made(family)
    one = window(model)
    torch.testing.assert_close(model.log_likelihood(one), model(one).log_density(modelled_values(one)))


@pytest.mark.parametrize("family", FAMILIES)
def test_paths_drawn_step_by_step_are_those_of_the_whole_pass(family: type[PredictiveModel]):
    """With no spread, sampling must follow the means that the whole window gives when it is fed the path itself."""
    model = made(family, likelihood="gaussian")
    with torch.no_grad():
        model.out.weight[-2] = 0
        model.out.bias[-2] = -100  # clamped: e⁻⁶ of the unit
    whole = window(model)
    past = whole._replace(values=whole.values[:, :-3])
    with cut.patch(model, {"scale": lambda s: s * 1e-9}):
        paths = model.sample_paths(past, 3, samples=2, generator=torch.Generator().manual_seed(0))
        filled = torch.cat([past.values, paths[:, 0]], 1)
        means = model(whole._replace(values=filled)).mean
    torch.testing.assert_close(paths[:, 0], means[:, -3:], rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(paths[:, 0], paths[:, 1], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_paths_of_every_likelihood(likelihood: str):
    model = made(DeepAR, likelihood=likelihood)
    one = window(model, counts=likelihood == "negative-binomial")
    past = one._replace(values=one.values[:, :-3])
    paths = model.sample_paths(past, 3, samples=50, generator=torch.Generator().manual_seed(0))
    assert paths.shape == (3, 50, 3)
    assert paths.isfinite().all()
    again = model.sample_paths(past, 3, samples=50, generator=torch.Generator().manual_seed(0))
    assert torch.equal(paths, again)
    assert 0.2 < (paths.mean((1, 2)) / one.values.mean(1)).min() < 5
    if likelihood == "negative-binomial":
        torch.testing.assert_close(paths, paths.round())
        assert (paths >= 0).all()


def test_paths_stay_in_reach_of_the_history():
    model = made(DeepAR)
    with torch.no_grad():
        model.out.bias[-3] = 1e6  # a model that runs away
    one = window(model)
    paths = model.sample_paths(one._replace(values=one.values[:, :-3]), 3, samples=5)
    low, high = one.values.min(1).values, one.values.max(1).values
    assert (paths <= (high + 2 * (high - low) + 20 * one.local[:, 3] * one.local[:, 0])[:, None, None]).all()


def test_covariates_are_standardised_by_what_the_model_keeps():
    model = made(DeepAR)
    given = torch.tensor([[1.0, 5.0], [3.0, 5.0]]).double()
    model.standardise(given)
    assert model.covariate_mean.tolist() == [2.0, 5.0]
    assert model.covariate_spread.tolist() == [1.0, 1.0]
    assert {"covariate_mean", "covariate_spread"} <= set(model.state_dict())


def test_lags_that_a_season_needs_are_told():
    with pytest.raises(ValueError, match=r"got lags=\(1, 2\) for seasons=\(12,\); try lags=\(1, 2, 12, 13\)"):
        DeepARSpec(lags=(1, 2), seasons=(12,))
    with pytest.raises(ValueError, match=r"likelihood must be one of student-t, .* got 'poisson'"):
        DeepARSpec(likelihood="poisson")


def test_a_window_of_another_length_is_told():
    model = made(DeepAR)
    one = window(model)
    with pytest.raises(ValueError, match=r"holds 261 values before its 9 modelled steps, got 269 values"):
        model(one._replace(values=one.values[:, 1:]))
    with pytest.raises(ValueError, match=r"11 constants a series and 2 covariates a step, got 10 and 2"):
        model(one._replace(local=one.local[:, 1:]))
    with pytest.raises(ValueError, match=r"samples must be above 0, got 0"):
        model.sample_paths(one, 3, samples=0)


def test_paths_are_widened_about_their_median_step_by_step():
    model = made(DeepAR)
    given = window(model, steps=SIZES["context"] + 5)
    given = given._replace(values=given.values[:, :-5])
    draw = lambda: model.sample_paths(given, 5, 41, torch.Generator().manual_seed(0))
    plain = draw()
    model.widening.copy_(torch.tensor([1.0, 2.0, 3.0]))
    wide, middle = draw(), plain.median(1, keepdim=True).values
    factors = torch.tensor([1.0, 2.0, 3.0, 3.0, 3.0])  # beyond the usual horizon: the last
    torch.testing.assert_close(wide, middle + factors * (plain - middle))
