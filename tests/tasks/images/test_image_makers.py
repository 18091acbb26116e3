"""What learners that make images share: samples, classes, codes, and what they refuse."""

import generative
import numpy as np
import pytest
import torch

import cutaway as cut

RECIPES = tuple(generative.KINDS)


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize(("labelled", "channels"), [(True, 1), (False, 3)])
def test_samples_are_images_of_the_shape_of_the_data(recipe: str, labelled: bool, channels: int):
    run = generative.little_run(recipe, labelled, channels)
    images = run.sample(5, seed=1)
    assert images.shape == (5, channels, 9, 7)
    assert images.dtype == torch.float32
    assert images.min() >= 0
    assert images.max() <= 1
    assert torch.equal(images, run.sample(5, seed=1))
    assert not torch.equal(images, run.sample(5, seed=2))
    assert run.finished
    assert (run.path / "report.html").stat().st_size > 10_000


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_class_can_be_asked_for_one_or_one_each(recipe: str):
    run = generative.little_run(recipe)
    assert run.sample(3, label="cross").shape == (3, 1, 9, 7)
    assert run.sample(2, label=["cross", "square"]).shape == (2, 1, 9, 7)
    assert run.sample(2, label=np.array(["cross", "square"])).shape == (2, 1, 9, 7)


@pytest.mark.parametrize("recipe", ["autoencoder", "vae"])
def test_codes_there_and_back(recipe: str):
    run = generative.little_run(recipe)
    images, _ = generative.shapes(4)
    codes = run.encode(images)
    assert codes.shape == (4, 3)
    assert run.decode(codes).shape == (4, 1, 9, 7)
    assert run.decode(codes.tolist()).shape == (4, 1, 9, 7)
    with pytest.raises(ValueError, match=r"codes must have shape \(n, width\), got \(3,\)"):
        run.decode(codes[0])
    with pytest.raises(ValueError, match=r"the last axis of codes must have width 3, got shape \(1, 2\)"):
        run.decode(torch.zeros(1, 2))


@pytest.mark.parametrize("recipe", RECIPES)
def test_the_test_split_beside_a_baseline(recipe: str):
    metrics = generative.little_run(recipe).test()
    assert metrics["loss"] > 0


@pytest.mark.parametrize("recipe", ["autoencoder", "vae"])
def test_in_double_precision_too(recipe: str):
    run = cut.load(generative.little_run(recipe).path)
    images, _ = generative.shapes(4)
    single = run.decode(run.encode(images))
    run.model.double()
    codes = run.encode(images)
    assert codes.dtype == torch.float64
    torch.testing.assert_close(run.decode(codes).float(), single, rtol=1e-3, atol=1e-4)


def test_a_loaded_run_makes_the_same_images():
    run = generative.little_run("diffusion")
    again = cut.load(run.path)
    assert torch.equal(again.sample(3, label="cross"), run.sample(3, label="cross"))


@pytest.mark.parametrize(
    ("recipe", "asked", "told"),
    [
        ("vae", dict(count=0), "count must be from 1 to 10,000 images, got 0"),
        ("vae", dict(count=2, label="circle"), "label must be one of cross, square, got 'circle'"),
        ("vae", dict(count=3, label=["cross", "square"]), "one for each of 3 images, got 2"),
        ("vae", dict(guidance=2.0), "guidance and steps are for runs of `diffusion`, got them for a run of 'vae'"),
        ("diffusion", dict(guidance=-1.0), "guidance must be 0 or above, got -1"),
        ("diffusion", dict(steps=0), "steps must be from 1 to 1000, got 0"),
        ("vae", dict(seed=2**63), r"seed must be from -2⁶³ to below 2⁶³, got 9223372036854775808; try seed=0"),
    ],
)
def test_wrong_questions_are_answered_in_a_sentence(recipe: str, asked: dict, told: str):
    with pytest.raises(ValueError, match=told):
        generative.little_run(recipe).sample(**asked)


def test_without_labels_there_is_no_class_to_ask_for():
    with pytest.raises(ValueError, match="this run learned no classes, got label='cross'"):
        generative.little_run("diffusion", False, 3).sample(2, label="cross")
    with pytest.raises(ValueError, match="a label is for runs on images with classes, got 'cross'"):
        generative.little_run("vae", False, 3).sample(2, label="cross")
    with pytest.raises(ValueError, match="cannot encode images: it has no code"):
        generative.little_run("diffusion").encode(generative.shapes(2)[0])


def test_other_runs_say_that_they_make_no_images(tmp_path):
    run = cut.train("mlp", data="iris", steps=2, out=tmp_path / "run", show="quiet")
    for method in (run.sample, lambda: run.encode(None), lambda: run.decode(None)):
        with pytest.raises(ValueError, match="a run of 'mlp' cannot"):
            method()
