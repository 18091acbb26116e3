"""Recipes that classify images, tried with the smallest model there is: one matrix over the pixels."""

import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import cutaway as cut
from cutaway.recipes.images.classifier_settings import ImageClassifierRecipe
from cutaway.recipes.index import register_recipe

if TYPE_CHECKING:
    from cutaway.data.images.image_data import ImageData


class Linear(nn.Module):
    """Logits of flattened pixels."""

    def __init__(self, pixels: int, classes: int) -> None:
        super().__init__()
        self.matrix = nn.Linear(pixels, classes)

    def forward(self, images: Tensor) -> Tensor:
        return self.matrix(images.flatten(1))


@dataclass(frozen=True)
class LinearImages(ImageClassifierRecipe):
    """One matrix over the pixels."""

    name: ClassVar[str] = "linear-images"
    steps: int = 60
    rate: float = 0.02

    def new_model(self, data: "ImageData") -> nn.Module:
        return Linear(int(np.prod(data.shape)), len(data.labels))

    def open_model(self, config: dict[str, Any]) -> nn.Module:
        return Linear(config["config"]["size"] ** 2 if config["config"]["size"] else 64, 10)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> cut.runs.Run:
    register_recipe(LinearImages)
    return cut.train("linear-images", out=tmp_path_factory.mktemp("runs") / "run", show="quiet")


def test_the_figures_at_the_end_are_those_of_the_weights_that_are_kept(tmp_path: Path):
    """A rate at which the last evaluations are not the best ones, by what withstands an attack."""
    register_recipe(LinearImages)
    settings = dict(steps=30, evaluate_every=5, rate=0.3, schedule="constant", adversarial=0.2, adversarial_steps=1)
    run = cut.train("linear-images", out=tmp_path / "run", show="quiet", **settings)
    rows = [row for row in run.metrics if row["split"] == "validation"]
    last = list(run.metrics)[-1]
    assert last["split"] == "validation-whole"
    best = min(rows, key=lambda row: row["robust_error"])
    assert {name: last[name] for name in ("loss", "robust_error")} == pytest.approx(
        {name: best[name] for name in ("loss", "robust_error")}, abs=1e-6
    )
    found = run.learner.evaluate(run.model)
    assert found["accuracy"] == pytest.approx(last["accuracy"])


def test_learns_the_digits_and_shows_the_nearest_images_beside(run: cut.runs.Run):
    last = [row for row in run.metrics if row["split"] == "validation"][-1]
    assert last["accuracy"] > 0.85
    baseline = run.about["data"]["baseline"]
    assert baseline["rule"].startswith("the class of the 5 nearest training images, by pixels")
    assert baseline["metrics"]["accuracy"] > 0.95
    assert "1,437" in run.about["data"]["summary"]
    tested = run.test()
    assert tested["accuracy"] > 0.85
    assert tested["baseline_accuracy"] > 0.95


def test_predicts_files_folders_and_arrays_alike(run: cut.runs.Run, tmp_path: Path):
    from PIL import Image
    from sklearn.datasets import load_digits

    pixels = (load_digits().images[:3] * (255 / 16)).round().astype(np.uint8)
    for i, one in enumerate(pixels):
        Image.fromarray(one).save(tmp_path / f"{i}.png")
    by_array = run.predict(pixels)
    by_folder = run.predict(tmp_path)
    by_files = run.predict([tmp_path / f"{i}.png" for i in range(3)])
    by_pillow = run.predict([Image.open(tmp_path / f"{i}.png") for i in range(3)])
    by_one = run.predict(tmp_path / "1.png")
    alone = run.predict(torch.from_numpy(pixels[1]))
    for found in (by_folder, by_files, by_pillow):
        assert [list(row.values())[1:] for row in found] == [list(row.values())[1:] for row in by_array]
    assert [row["image"] for row in by_folder] == ["0.png", "1.png", "2.png"]
    assert by_one[0]["class"] == alone[0]["class"] == by_array[1]["class"]
    assert by_one[0]["P(1)"] == alone[0]["P(1)"] == pytest.approx(by_array[1]["P(1)"])
    assert sum(value for name, value in by_array[0].items() if name.startswith("P(")) == pytest.approx(1)


def test_the_command_line_predicts_a_folder(run: cut.runs.Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    from PIL import Image

    from cutaway.cli import run as command

    Image.new("RGB", (30, 20), "white").save(tmp_path / "a.jpg")
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n123")
    with pytest.warns(UserWarning, match=r"1 damaged of 2 files \(broken.png"):
        assert command(["predict", str(run.path), str(tmp_path)]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["image"] for row in rows] == ["a.jpg"]
    assert rows[0]["class"] in set("0123456789")


def test_images_in_memory_are_kept_with_the_run(tmp_path: Path):
    register_recipe(LinearImages)
    pixels = np.zeros((40, 8, 8), np.uint8)
    labels = np.arange(40) % 10
    pixels[np.arange(40), labels % 8] = 200
    run = cut.train(
        "linear-images", data=(pixels, labels), steps=4, out=tmp_path / "run", show="quiet", validation=0.2, test=0.2
    )
    again = cut.load(run.path)
    recipe: Any = again.recipe
    assert str(recipe.data) == str(run.path / "data.npz")
    assert len(again.task.parts.train) == 24
    assert 0 <= again.test()["accuracy"] <= 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"size": 2}, r"size must be from 4 to 4096 pixels, or 0, got 2"),
        ({"channels": 2}, r"channels must be 1 \(grey\), 3 \(colour\) or 0, got 2"),
        ({"fit": "squeeze"}, r"fit must be one of crop, pad, stretch, got 'squeeze'"),
        ({"validation": 0.0, "patience": 3}, r"patience needs images to evaluate on, got patience=3"),
        ({"data": np.zeros((3, 64))}, r"reshape them, as in x.reshape"),
        ({"data": (np.zeros((3, 8, 8)), [1, 2])}, r"a label for each image, got labels of shape \(2,\) for 3 images"),
    ],
)
def test_refuses_settings_that_cannot_be(settings: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        LinearImages.make(**settings)
