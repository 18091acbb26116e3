"""`autoencoder`: a linear one beside principal components, one bit beside K-means, noise taken away."""

from pathlib import Path

import generative
import numpy as np
import pytest
from killing import expect_same_after_death

import cutaway as cut


def last(run, name: str) -> float:
    return next(row[name] for row in reversed(run.metrics) if name in row and row["split"] == "validation-whole")


@pytest.mark.long
def test_a_linear_one_finds_the_principal_components(tmp_path):
    run = cut.train(
        "autoencoder",
        design="linear",
        codes=4,
        steps=1500,
        rate=5e-3,
        weight_decay=0.0,
        out=tmp_path / "run",
        show="quiet",
    )
    pca = run.about["data"]["baseline"]
    assert pca["rule"] == "4 principal components"
    assert last(run, "loss") == pytest.approx(pca["metrics"]["loss"], rel=0.01)
    assert last(run, "angle_to_principal_components") < 5


@pytest.mark.long
def test_one_bit_finds_the_two_centroids(tmp_path):
    run = cut.train(
        "autoencoder", design="linear", codes=1, code="binary", steps=600, rate=2e-2, out=tmp_path / "run", show="quiet"
    )
    means = run.about["data"]["baseline"]
    assert means["rule"] == "K-means, the nearest of 2 centroids"
    assert last(run, "loss") == pytest.approx(means["metrics"]["loss"], rel=0.02)


def test_killed_and_resumed_a_denoising_one_ends_with_the_same_weights(tmp_path):
    settings = generative.SMALL | generative.KINDS["autoencoder"] | dict(data=generative.shapes_file(), noise=0.3)
    expect_same_after_death(tmp_path, "autoencoder", settings)


def test_noise_is_measured_before_and_after(tmp_path):
    data = generative.shapes_file()
    run = cut.train("autoencoder", data=data, noise=0.3, out=tmp_path / "run", **generative.SMALL)
    assert last(run, "error_of_noisy_images") == pytest.approx(0.09, rel=0.1)
    assert "principal components" in run.about["data"]["baseline"]["rule"]


def test_bits_are_bits(tmp_path):
    images, _ = generative.shapes()
    run = cut.train(
        "autoencoder", data=generative.shapes_file(), code="binary", out=tmp_path / "run", **generative.SMALL
    )
    assert set(run.encode(images).unique().tolist()) <= {0.0, 1.0}
    assert run.sample(3, label="cross").shape == (3, 1, 9, 7)


def test_wrong_settings_are_named():
    from cutaway.recipes.images.autoencoder import AutoencoderRecipe

    with pytest.raises(ValueError, match="codes must be at least 1, got 0"):
        AutoencoderRecipe(codes=0)
    with pytest.raises(ValueError, match=r"noise must be at least 0, got -0.1"):
        AutoencoderRecipe(noise=-0.1)


def test_its_encoder_is_tuned_to_classes(tmp_path: Path):
    run = cut.train("autoencoder", steps=30, width=32, out=tmp_path / "base", show="quiet")
    tuned = cut.tune(str(run.path), data="digits", full=True, rate=3e-3, steps=40, out=tmp_path / "tuned", show="quiet")
    assert isinstance(tuned.model, cut.models.CodeClassifier)
    assert tuned.metrics[-1]["accuracy"] > 0.3
    assert tuned.predict(np.zeros((1, 8, 8), np.uint8))[0].keys() >= {"image", "class"}
