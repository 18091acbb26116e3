"""Tuned classifiers of images."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from killing import expect_same_after_death
from tiny_bases import tiny_vit

import cutaway as cut
from cutaway.tuning.bases import open_base
from cutaway.tuning.image_bases import with_scale

QUICK = dict(show="quiet", epochs=1, batch=32)


def squares(count: int = 80, side: int = 8, classes: int = 4) -> dict[str, np.ndarray]:
    """Images with a bright corner, which one is their class."""
    draw = np.random.default_rng(0)
    labels = np.arange(count) % classes
    images = draw.integers(0, 60, (count, side, side)).astype(np.uint8)
    half = side // 2
    for image, label in zip(images, labels, strict=True):
        image[half * (label // 2) :][:half, half * (label % 2) :][:, :half] += 150
    return {"images": images, "labels": labels.astype(str)}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("images")
    np.savez(folder / "two.npz", **squares(classes=2))
    np.savez(folder / "four.npz", **squares())
    cut.train("cnn", data=str(folder / "two.npz"), steps=5, width=8, out=folder / "cnn", show="quiet")
    tiny_vit(folder / "vit")
    return folder


@pytest.mark.parametrize(("base", "way"), [("cnn", {"full": True}), ("vit", {"lora": 4, "rate": 1e-2})])
def test_it_learns_other_classes(place: Path, base: str, way: dict[str, object]):
    settings = QUICK | way | {"epochs": 20, "batch": 16} | ({"rate": 1e-2} if base == "cnn" else {})
    run = cut.tune(place / base, data=place / "four.npz", out=place / f"tuned-{base}", **settings)
    assert run.recipe.name == "tuned-images"
    last = [row for row in run.metrics if row["split"] == "validation-whole"][-1]
    assert last["accuracy"] > 0.7
    again = cut.load(run.path)
    answers = again.predict(squares()["images"][:4])
    assert sum(answer["class"] == str(i) for i, answer in enumerate(answers)) >= 3
    assert again.test()["accuracy"] > 0.6


def test_kept_features_are_those_computed_again(place: Path):
    for base in ("cnn", "vit"):
        ends = []
        for memory in (100, 0):
            settings = QUICK | dict(head_only=True, features_memory=memory, out=place / f"{base}-{memory}")
            ends.append(cut.tune(place / base, data=place / "four.npz", **settings).model.state_dict())
        for name, value in ends[0].items():
            assert torch.allclose(value, ends[1][name], atol=1e-5), name


def test_a_checkpoint_scales_pixels_as_it_says(tmp_path: Path):
    folder = tiny_vit(tmp_path / "vit", channels=3)
    (folder / "preprocessor_config.json").write_text(
        json.dumps({"image_mean": [0.1, 0.2, 0.3], "image_std": [0.5] * 3})
    )
    base = open_base(str(folder))
    x = torch.rand(2, 3, 8, 8)
    scaled = (x - torch.tensor([0.1, 0.2, 0.3])[:, None, None]) / 0.5
    assert torch.allclose(with_scale(base)(x), base.model(scaled), atol=1e-5)


def test_a_base_with_the_same_classes_answers_itself(place: Path):
    base = cut.load(place / "cnn")
    run = cut.tune(place / "cnn", data=place / "two.npz", lora=2, out=place / "same-lora", **QUICK)
    count = sum(p.numel() for p in base.model.parameters())
    summary = run.about["data"]["summary"]
    assert f"a CNN of {count:,} parameters" in summary
    assert "head: that of the base, which has the same labels\ntuning: LoRA of rank 2;" in summary
    found = run.learner.answers_before_and_after(base.model)
    expected = base.predict(run.task.parts.validation.pixels())
    assert found.before == [answer["class"] for answer in expected]
    assert found.rule == "The answers before are those of the base, whose head has the same labels."


def test_the_old_head_is_kept_for_the_same_classes(place: Path):
    run = cut.tune(place / "cnn", data=place / "two.npz", head_only=True, rate=1e-12, out=place / "same", **QUICK)
    base = cut.load(place / "cnn").model.state_dict()
    assert torch.allclose(run.model.state_dict()["head.linear.weight"], base["head.linear.weight"], atol=1e-6)
    with pytest.raises(ValueError, match=r"features of images as they are, got augment='shift'"):
        cut.tune(place / "cnn", data=place / "two.npz", head_only=True, augment="shift")


@pytest.mark.parametrize("way", [{"lora": 4}, {"adapter": 8}], ids=["lora", "adapter"])
def test_a_cnn_learns_by_small_parts_beside_its_convolutions(place: Path, tmp_path: Path, way: dict[str, object]):
    settings = QUICK | way | {"epochs": 20, "batch": 16, "rate": 1e-2}
    run = cut.tune(place / "cnn", data=place / "four.npz", out=tmp_path / "run", **settings)
    assert run.test()["accuracy"] > 0.6
    again = cut.load(run.path)
    images = torch.rand(3, 1, 8, 8)
    with torch.no_grad():
        expected = again.model(images)
    assert torch.equal(run.model.eval()(images), expected)
    base = cut.load(place / "cnn").model.with_labels(["0", "1", "2", "3"]).eval()
    cut.load_adapter(base, run.path / "adapter")  # statistics of norms stayed the base's: the small file is enough
    with torch.no_grad():
        torch.testing.assert_close(base(images), expected)
    if "lora" in way:
        onward = cut.tune(run.path, data=place / "four.npz", out=tmp_path / "on", head_only=True, **QUICK)
        assert not any(isinstance(module, cut.blocks.LoRA) for module in onward.model.modules())


def test_a_rank_above_that_of_a_convolution_is_refused(place: Path):
    with pytest.raises(
        ValueError, match=r"lora must be at most .* got lora=9 for 9 × 8; try lora=8 \(at stages.0.0.conv"
    ):
        cut.tune(place / "cnn", data=place / "four.npz", lora=9)


@pytest.mark.long
@pytest.mark.parametrize("way", [{"lora": 2}, {"last": 1}], ids=["lora", "last"])
def test_a_cnn_killed_and_resumed_ends_with_the_same_weights(place: Path, tmp_path: Path, way: dict[str, object]):
    settings = way | {"base": str(place / "cnn"), "data": str(place / "four.npz"), "epochs": 4, "batch": 16}
    expect_same_after_death(tmp_path, "tuned-images", settings | {"checkpoint_every": 4, "augment": "shift"})


@pytest.mark.parametrize("base", ["cnn", "vit"])
def test_a_new_head_is_fitted_before_anything_else_learns(place: Path, tmp_path: Path, base: str):
    found = {}
    for fit_head in (True, False):
        settings = QUICK | {"full": True, "steps": 1, "rate": 1e-9, "fit_head": fit_head}
        run = cut.tune(place / base, data=place / "four.npz", out=tmp_path / str(fit_head), **settings)
        found[fit_head] = next(row for row in run.metrics if row["split"] == "validation")["loss"]
    assert found[True] < found[False] - 0.05


def test_loras_usual_rank_fits_the_narrowest_layer(place: Path, tmp_path: Path):
    """Patches of 2 × 2 grey pixels are 4 numbers: a rank of 8 would be refused, though nobody asked for it."""
    torch.manual_seed(1)
    spec = cut.models.ViTSpec.vit(image=8, patch=2, width=16, depth=1, heads=2, classes=3, channels=1)
    cut.save_pretrained(cut.models.ViT(spec), tmp_path / "small")
    run = cut.tune(tmp_path / "small", data=place / "two.npz", steps=1, out=tmp_path / "run", show="quiet")
    assert (run.config.way, run.config.lora) == ("lora", 4)
