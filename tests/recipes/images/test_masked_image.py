"""`masked-image`: a whole run on the digits, killed and resumed, exported, and its messages."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from killing import expect_same_after_death

import cutaway as cut
from cutaway.models import MaskedViT, ViT
from cutaway.recipes.images.masked_image import MaskedImageRecipe

LITTLE: dict[str, Any] = dict(width=16, depth=1, heads=2, decoder_width=12, batch=64, augment="", show="quiet")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> cut.runs.Run:
    place = tmp_path_factory.mktemp("runs") / "run"
    return cut.train("masked-image", steps=150, evaluate_every=75, out=place, **LITTLE)


def test_it_learns_to_fill_in(run: cut.runs.Run):
    assert isinstance(run.model, MaskedViT)
    baseline = run.about["data"]["baseline"]
    assert run.metrics[-1]["loss"] < baseline["metrics"]["loss"]
    assert "untrained model's vectors" in baseline["rule"]
    assert run.metrics[-1]["probe_accuracy"] > 0.5
    found = run.test()
    assert found.keys() == {"loss", "probe_accuracy", "baseline_loss", "baseline_probe_accuracy"}


def test_killed_and_resumed_it_ends_with_the_same_weights(tmp_path: Path):
    """The hidden patches, changed images and Muon's state all go on."""
    settings = LITTLE | dict(steps=8, batch=16, augment="shift:1", ema=0.9, evaluate_every=4, checkpoint_every=3)
    expect_same_after_death(tmp_path, "masked-image", settings, "before a checkpoint becomes the latest")


def test_vectors_and_alike_images(run: cut.runs.Run):
    x = np.random.default_rng(0).integers(0, 255, (3, 8, 8), dtype=np.uint8)
    vectors = run.encode(x)
    assert vectors.shape == (3, 16)
    data = run.task.parts
    known = data.train.take(slice(0, 3))
    rows = run.predict(known.pixels())
    assert [row["most_alike"] for row in rows] == [str(name) for name in known.names]  # each is its own nearest
    assert all(row["cosine"] == pytest.approx(1, abs=1e-5) for row in rows)
    assert {row["class_of_nearest"] for row in rows} <= set(data.labels)


def test_images_without_labels(tmp_path: Path):
    x = np.random.default_rng(0).integers(0, 255, (60, 8, 12), dtype=np.uint8)
    np.savez(tmp_path / "images.npz", images=x)
    run = cut.train("masked-image", data=str(tmp_path / "images.npz"), steps=3, out=tmp_path / "run", **LITTLE)
    assert run.metrics[-1].keys() >= {"loss"}
    assert "probe_accuracy" not in run.metrics[-1]
    assert run.predict(x[:2])[0].keys() == {"image", "most_alike", "cosine"}


def test_the_encoder_is_exported_as_a_vit(run: cut.runs.Run, tmp_path: Path):
    from transformers import ViTModel

    cut.runs.export_run(str(run.path), str(tmp_path / "checkpoint"))
    theirs = ViTModel.from_pretrained(tmp_path / "checkpoint", add_pooling_layer=False).eval()
    ours = cut.from_pretrained(tmp_path / "checkpoint")
    assert isinstance(ours, ViT)
    x = torch.rand(3, 1, 8, 8)
    model: Any = run.model
    with torch.no_grad():
        expected = model.encoder(x)
        torch.testing.assert_close(theirs(x).last_hidden_state, expected, rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(ours(x), expected, rtol=1e-4, atol=1e-4)


def test_its_encoder_is_tuned_to_classes(run: cut.runs.Run, tmp_path: Path):
    tuned = cut.tune(str(run.path), data="digits", lora=4, steps=5, out=tmp_path / "tuned", show="quiet")
    assert isinstance(tuned.model, ViT)
    assert tuned.model.spec.head is not None
    assert tuned.model.spec.head.pooling == "mean"
    before: Any = run.model
    after: Any = tuned.model
    assert torch.equal(after.patches.map.base.weight, before.encoder.patches.map.weight)  # frozen, LoRA beside it
    assert tuned.predict(np.zeros((1, 8, 8), np.uint8))[0]["class"] in map(str, range(10))


def test_vectors_by_embed(run: cut.runs.Run):
    x = np.random.default_rng(0).integers(0, 255, (3, 8, 8), dtype=np.uint8)
    torch.testing.assert_close(run.embed(x), run.encode(x))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"hidden": 1.0}, r"hidden must be above 0 and below 1, got 1.0; try hidden=0.6"),
        ({"heads": 5}, r"width must be a multiple of heads, got width=64, heads=5"),
        ({"decoder_width": 50}, r"decoder_width must be a multiple of heads, got decoder_width=50, heads=4; try .*=48"),
        ({"augment": "mixup"}, r"augment must keep each image one, got mixup, which mixes two; leave it out"),
        ({"patch": -1}, r"patch must be at least 0, got -1"),
    ],
)
def test_refuses_settings_that_cannot_be(settings: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        MaskedImageRecipe.make(**settings)


@pytest.mark.parametrize(
    ("patch", "message"),
    [(3, r"patch must divide .* got patch=3 for 8 × 8"), (8, r"two patches or more to hide some, got patch=8")],
)
def test_patches_that_cannot_be(patch: int, message: str):
    with pytest.raises(ValueError, match=message):
        MaskedImageRecipe(patch=patch).job()
