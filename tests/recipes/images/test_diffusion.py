"""`diffusion`: killed and resumed, with and without classes, its published form, and digits that others recognise."""

import generative
import numpy as np
import pytest
import torch
from killing import expect_same_after_death

import cutaway as cut
from cutaway.recipes.images.diffusion import DiffusionRecipe


def test_killed_and_resumed_it_ends_with_the_same_weights(tmp_path):
    settings = generative.SMALL | generative.KINDS["diffusion"] | dict(data=generative.shapes_file(), ema=0.9)
    expect_same_after_death(tmp_path, "diffusion", settings, "before a checkpoint becomes the latest")


@pytest.mark.parametrize(
    ("predicts", "noise_schedule", "sampler"),
    [("noise", "linear", "ddpm"), ("velocity", "cosine", "ddim"), ("image", "straight", "euler")],
)
def test_other_forms_train_and_sample(predicts: str, noise_schedule: str, sampler: str, tmp_path):
    form = dict(predicts=predicts, noise_schedule=noise_schedule, sampler=sampler)
    more = generative.SMALL | generative.KINDS["diffusion"]
    run = cut.train("diffusion", data=generative.shapes_file(20), out=tmp_path / "run", **form, **more)
    assert run.model.spec.target == predicts
    assert run.sample(2, label="cross", guidance=2.0, steps=4).isfinite().all()


def test_without_a_label_every_class_is_made_in_turn():
    run = generative.little_run("diffusion")
    assert torch.equal(run.sample(3), run.sample(3, label=["cross", "square", "cross"]))
    assert not torch.equal(run.sample(3), run.sample(3, guidance=0.0))


def test_labels_can_be_left_aside_and_unknown_ones_are_no_class(tmp_path):
    data = generative.shapes_file(20, unknown=6)
    more = generative.SMALL | generative.KINDS["diffusion"]
    assert cut.train("diffusion", data=data, out=tmp_path / "1", **more).model.spec.classes == 2
    plain = cut.train("diffusion", data=data, out=tmp_path / "2", conditional=False, **more)
    assert plain.model.spec.classes == 0


def test_dropped_labels_are_the_class_of_no_class():
    run = generative.little_run("diffusion")
    learner, model = DiffusionRecipe(drop_label=0.5).build(run.task, model=run.model), run.model
    seen = []
    model.loss, loss = (lambda images, labels: seen.append(labels) or torch.zeros(len(images))), model.loss
    try:
        torch.manual_seed(0)
        learner.pixel_cost(model, torch.zeros(1000, 1, 9, 7), torch.zeros(1000, dtype=torch.long))
        learner.pixel_cost(model, torch.zeros(2, 1, 9, 7), torch.tensor([-1, -1]))
    finally:
        model.loss = loss
    assert seen[0].eq(2).float().mean().item() == pytest.approx(0.5, abs=0.05)
    assert seen[1].tolist() == [2, 2]


@pytest.mark.slow
def test_digits_are_recognised_as_their_class(tmp_path):
    """On scikit-learn's digits, 600 steps: at least nine in ten samples are their class to the nearest neighbours."""
    from sklearn.datasets import load_digits
    from sklearn.neighbors import KNeighborsClassifier

    run = cut.train("diffusion", steps=600, out=tmp_path / "run", show="quiet")
    labels = [str(i % 10) for i in range(200)]
    made = run.sample(200, labels).flatten(1).numpy() * 16
    digits = load_digits()
    judge = KNeighborsClassifier(3).fit(digits.data, digits.target)
    assert np.mean(judge.predict(made) == np.array(labels, int)) >= 0.9


@pytest.mark.parametrize(("channels", "chosen"), [(1, (1200, 128, 32, 2, 200)), (3, (8000, 32, 64, 3, 500))])
def test_colour_takes_a_larger_network_and_longer_unless_told(channels: int, chosen: tuple[int, ...]):
    names = ("steps", "batch", "width", "stages", "evaluate_every")
    recipe = DiffusionRecipe(data=generative.shapes_file(20, channels)).begin().recipe
    assert tuple(getattr(recipe, name) for name in names) == chosen
    told = DiffusionRecipe(data=generative.shapes_file(20, channels), **dict.fromkeys(names, 7)).begin().recipe
    assert {getattr(told, name) for name in names} == {7}
    assert recipe.warmup == 100


def test_a_job_without_settled_settings_settles_them():
    job = DiffusionRecipe(data=generative.shapes_file(20), width=4).job()
    assert (job.units, job.model.spec.width, job.model.spec.stages) == (16, 4, 2)  # a batch is at most all images


def test_the_end_tells_how_samples_were_judged_and_the_baseline_beside(tmp_path, capsys):
    from cutaway import cli

    more = ["--data", generative.shapes_file(), "--steps", "2", "--width", "4", "--sampling-steps", "2"]
    assert cli.run(["train", "diffusion", *more, "--out", str(tmp_path / "run")]) == 0
    lines = capsys.readouterr().out.splitlines()
    baseline = next(line for line in lines if line.startswith("baseline precision "))
    assert "samples of the Gaussian" in baseline
    assert "a small network that learned the 2 classes of the training images" in baseline
    figures = lines[lines.index(baseline) + 1]
    assert "validation precision" in figures
    assert "validation recognised" in figures
    assert "validation real_precision" in figures
    assert any(line.startswith("making 6 samples, 2 steps each") for line in lines)


def test_wrong_settings_are_named():
    with pytest.raises(ValueError, match="sampler='euler' follows the straight schedule, got noise_schedule='cosine'"):
        DiffusionRecipe(sampler="euler", noise_schedule="cosine")
    with pytest.raises(ValueError, match="ends in noise alone, from which no image follows, got predicts='noise'"):
        DiffusionRecipe(predicts="noise")
    with pytest.raises(ValueError, match=r"drop_label must be .*, got 1.5"):
        DiffusionRecipe(drop_label=1.5)
    with pytest.raises(ValueError, match="sampling_steps must be at least 1, got 0"):
        DiffusionRecipe(sampling_steps=0)
