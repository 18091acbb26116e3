"""`vae`: what is measured is the same whenever it is measured, black and white by chance, β, and its baseline."""

import generative
import pytest
import torch
from killing import expect_same_after_death

import cutaway as cut
from cutaway.recipes.images.vae import VAERecipe
from cutaway.tasks.images.vae import fitting_likelihood


@pytest.mark.parametrize("moment", ["between the files of a checkpoint", "after the last checkpoint"])
def test_killed_and_resumed_it_ends_with_the_same_weights(moment: str, tmp_path):
    """Pixels that become black or white by chance, and codes, are drawn as they would have been."""
    settings = generative.SMALL | generative.KINDS["vae"] | dict(data=generative.shapes_file(), ema=0.9)
    expect_same_after_death(tmp_path, "vae", settings, moment)


def test_the_test_has_the_importance_bound_beside_the_elbo():
    metrics = generative.little_run("vae").test()
    assert {"loss", "reconstruction", "kl", "importance_bound_100", "baseline_loss"} <= set(metrics)
    assert metrics["loss"] == pytest.approx(metrics["reconstruction"] + metrics["kl"])
    assert -metrics["importance_bound_100"] < metrics["loss"] + 0.5  # a tighter bound, but for chance


def test_grey_becomes_black_and_white_by_its_share():
    run = generative.little_run("vae")
    x = torch.full((1, 1, 9, 7), 0.25).repeat(400, 1, 1, 1)
    seen = run.learner.as_seen(run.model, x)
    assert set(seen.unique().tolist()) == {0.0, 1.0}
    assert seen.mean().item() == pytest.approx(0.25, abs=0.01)
    greys = VAERecipe(binarise=False).build(run.task, model=run.model)
    assert greys.as_seen(run.model, x) is x


def test_evaluation_sees_the_same_images_again():
    run = generative.little_run("vae")
    images = run.task.parts.validation
    first, second = (torch.cat([*run.learner.once_seen(run.model, images)]) for _ in range(2))
    assert torch.equal(first, second)
    assert run.learner.measure(run.model, images) == run.learner.measure(run.model, images)


def test_colour_and_many_greys_are_gaussian_and_the_rest_is_bernoulli():
    assert generative.little_run("vae", True, 1).model.spec.likelihood == "bernoulli"
    assert fitting_likelihood(VAERecipe(data="digits").read().parts) == "gaussian"
    run = generative.little_run("vae", False, 3)
    assert run.model.spec.likelihood == "gaussian"
    assert run.about["data"]["baseline"]["rule"] == "the mean image, with one spread for all pixels"


def test_a_weight_of_the_kl_shows_the_elbo_beside(tmp_path):
    run = cut.train(
        "vae", data=generative.shapes_file(), kl_weight=4.0, out=tmp_path / "run", width=4, **generative.SMALL
    )
    row = next(row for row in reversed(run.metrics) if "elbo" in row)
    assert row["loss"] == pytest.approx(row["reconstruction"] + 4 * row["kl"])
    assert row["elbo"] == pytest.approx(-row["reconstruction"] - row["kl"])


@pytest.mark.slow
def test_digits_are_told_better_than_by_their_mean(tmp_path):
    """On scikit-learn's digits, 600 steps: at least 20 nats under the mean image."""
    run = cut.train("vae", steps=600, out=tmp_path / "run", show="quiet")
    metrics = run.test()
    assert metrics["loss"] < metrics["baseline_loss"] - 20
    assert metrics["importance_bound_100"] > -metrics["loss"]


def test_wrong_settings_are_named():
    with pytest.raises(ValueError, match="latents must be at least 1, got 0"):
        VAERecipe(latents=0)
    with pytest.raises(ValueError, match="kl_weight must be at least 0, got -1"):
        VAERecipe(kl_weight=-1.0)
