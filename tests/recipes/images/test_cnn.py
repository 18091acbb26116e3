"""`cnn`: trained on the digits, killed and resumed, predicting; its own settings and messages."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import generative
import numpy as np
import pytest
from killing import expect_same_after_death

import cutaway as cut
from cutaway.models import CNN
from cutaway.recipes.images.cnn import CNNRecipe

LITTLE: dict[str, Any] = dict(width=4, depth=1, steps=12, batch=16, evaluate_every=4, checkpoint_every=3, log_every=2)


@pytest.fixture
def run(own_run: Callable[[str], Any]) -> Any:
    return own_run("cnn")


def test_learns_the_digits(run: cut.runs.Run):
    assert isinstance(run.model, CNN)
    assert run.model.spec.stages == 2  # 8 pixels, then 4
    assert run.test()["accuracy"] > 0.7
    assert 0.2 < float(run.model.scale.mean) < 0.4


def test_pixels_are_given_as_they_are(run: cut.runs.Run):
    """The model scales them itself: bytes and numbers from 0 to 1 of one image have one answer."""
    pixels = np.random.default_rng(0).integers(0, 256, (2, 8, 8), np.uint8)
    again = cut.load(run.path)
    assert [row["class"] for row in run.predict(pixels)] == [row["class"] for row in again.predict(pixels)]


@pytest.mark.parametrize("design", ["residual", "separable"])
def test_other_designs(design: str, tmp_path: Path):
    run = cut.train("cnn", design=design, width=8, steps=40, ema=0.8, out=tmp_path / "run", show="quiet")
    losses = [row["loss"] for row in run.metrics if row["split"] == "validation"]
    assert losses[-1] < 0.97 * losses[0]


@pytest.mark.untyped
def test_colour_images_of_another_shape(tmp_path: Path):
    rng = np.random.default_rng(0)
    labels = np.arange(60) % 3
    pixels = rng.integers(0, 60, (60, 20, 28, 3), np.uint8)
    pixels[np.arange(60), :, :, labels] += 120  # one class is red, one green, one blue
    run = cut.train(
        "cnn", data=(pixels, labels), width=4, steps=40, batch=16, ema=0.8, out=tmp_path / "run", show="quiet"
    )
    assert run.model.spec.channels == 3
    assert run.model.spec.squares == 2
    assert [row for row in run.metrics if row["split"] == "validation"][-1]["accuracy"] == 1


@pytest.mark.parametrize("more", [{}, CNNRecipe.presets["robust"] | dict(warmup=2, ema=0.8)], ids=["plain", "robust"])
def test_killed_and_resumed_it_ends_with_the_same_weights(more: dict[str, Any], tmp_path: Path):
    expect_same_after_death(tmp_path, "cnn", more | LITTLE | {"data": generative.shapes_file()})


@pytest.mark.slow
def test_mnist_in_a_minute_of_one_core(data_folder: Path, tmp_path: Path):
    """One pass over half of the digits and a little more: far above the nearest training images, which reach 95 %."""
    run = cut.train(
        "cnn",
        data=str(data_folder / "images" / "mnist"),
        steps=500,
        augment="shift",
        evaluate_every=250,
        out=tmp_path / "run",
        show="quiet",
    )
    assert run.test()["accuracy"] > 0.985


@pytest.mark.slow
def test_a_robust_preset_withstands_what_no_plain_network_does(data_folder: Path, tmp_path: Path):
    """A quarter of its steps: still most validation digits withstand changes of 0.3 a pixel; of a plain one none do."""
    run = cut.train(
        "cnn",
        preset="robust",
        data=str(data_folder / "images" / "mnist"),
        steps=300,
        warmup=60,
        evaluate_every=300,
        out=tmp_path / "run",
        show="quiet",
    )
    images, labels, _ = run.method("labelled_inputs")(None, "validation", 300)
    found = cut.attack(run, images, labels, "pgd", 0.3, steps=40, step=0.01)
    assert found.success.float().mean() < 0.25


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"width": 0}, r"width must be at least 1, got 0"),
        ({"stages": -1}, r"stages must be at least 0, got -1"),
        ({"dense": -1}, r"dense must be at least 0, got -1"),
        ({"contrast": 0.5}, r"contrast must be at least 0 and below 0.5, got 0.5; try contrast=0.3"),
        ({"dropout": 1.5}, r"dropout must be .*got 1.5"),
    ],
)
def test_refuses_settings_that_cannot_be(settings: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        CNNRecipe.make(**settings)
