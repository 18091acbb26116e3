"""`vit`: trained on the digits, exported to transformers, its own settings and messages."""

from pathlib import Path
from typing import Any

import pytest
import torch
from killing import expect_same_after_death

import cutaway as cut
from cutaway.models import ViT
from cutaway.recipes.images.vit import ViTRecipe


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> cut.runs.Run:
    return cut.train(
        "vit",
        augment="",
        width=32,
        depth=1,
        steps=50,
        batch=128,
        out=tmp_path_factory.mktemp("runs") / "run",
        show="quiet",
    )


def test_learns_the_digits(run: cut.runs.Run):
    assert isinstance(run.model, ViT)
    assert run.model.spec.patch == 2
    assert run.test()["accuracy"] > 0.4


def test_killed_and_resumed_it_ends_with_the_same_weights(tmp_path: Path):
    """Dropout, changed and mixed images, Muon's state and an average all go on."""
    settings = dict(
        width=8, depth=1, heads=2, steps=8, batch=16, dropout=0.2, augment="shift:1,mixup", evaluate_every=4
    )
    expect_same_after_death(
        tmp_path, "vit", settings | dict(checkpoint_every=3, log_every=2), "before a checkpoint becomes the latest"
    )


def test_an_exported_run_gives_the_same_answers_in_transformers(run: cut.runs.Run, tmp_path: Path):
    from transformers import ViTForImageClassification

    cut.runs.export_run(str(run.path), str(tmp_path / "checkpoint"))
    theirs = ViTForImageClassification.from_pretrained(tmp_path / "checkpoint").eval()
    x = torch.rand(3, 1, 8, 8)
    with torch.no_grad():
        torch.testing.assert_close(theirs(x).logits, run.model.eval()(x), rtol=1e-4, atol=1e-5)


def test_the_mean_over_patches(tmp_path: Path):
    run = cut.train(
        "vit", augment="", pooling="mean", width=8, depth=1, heads=2, steps=3, out=tmp_path / "run", show="quiet"
    )
    assert cut.load(run.path).model.spec.head.pooling == "mean"
    with pytest.raises(ValueError, match=r"CLS token alone, got pooling='mean'; train with --pooling cls"):
        cut.runs.export_run(str(run.path), str(tmp_path / "checkpoint"))
    assert not (tmp_path / "checkpoint").exists()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"heads": 5}, r"width must be a multiple of heads, got width=64, heads=5"),
        ({"patch": -1}, r"patch must be at least 0, got -1"),
    ],
)
def test_refuses_settings_that_cannot_be(settings: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        ViTRecipe.make(**settings)


def test_a_patch_that_does_not_divide(tmp_path: Path):
    with pytest.raises(ValueError, match=r"patch must divide .* got patch=3 for 8 × 8; try patch=2 or patch=4"):
        cut.train("vit", augment="", patch=3, out=tmp_path / "run", show="quiet")
