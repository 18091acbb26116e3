"""Windows by likelihood and quantile loss: missing values, the figure that chooses weights, and the calibration."""

import math

import pytest
import torch
from waves import sines

from cutaway.recipes.series.deepar import DeepARRecipe
from cutaway.tasks.series.window_batches import series_tensors
from cutaway.tasks.series.window_evaluation import negative_log_likelihood


def test_missing_values_do_not_count_in_the_cost():
    recipe = DeepARRecipe.make(data=sines(), frequency="D", horizon=5, width=8, depth=1, dropout=0.0)
    task = recipe.read()
    job = recipe.build(task).job()
    tensors = series_tensors(task.parts.train, job.model.spec)
    one = tensors.windows(torch.tensor([0]), torch.tensor([40]), job.model.spec.past, 29)
    gone = one.values.clone()
    gone[0, -1] = math.nan
    found = -job.model(one).log_density(one.values[:, -29:])
    torch.testing.assert_close(negative_log_likelihood(job.model, one), found.mean())
    torch.testing.assert_close(negative_log_likelihood(job.model, one._replace(values=gone)), found[:, :-1].mean())


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
