"""The siamese recipe: whole classes held out, trained, killed and resumed, used on new kinds."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from killing import expect_same_after_death
from pictures import make_classes
from PIL import Image

import cutaway as cut
from cutaway.recipes.images.siamese import SiameseRecipe

SMALL: dict[str, Any] = dict(
    size=8, width=4, stages=2, embedding=8, ways=8, average=1, steps=12, evaluate_every=6, checkpoint_every=4
)


def shapes(folder: Path, groups: int = 4, classes: int = 3, each: int = 4) -> Path:
    """Groups of classes: each class a pattern of its own, each image with a little noise."""
    draw = np.random.default_rng(0)
    for g in range(groups):
        for c in range(classes):
            pattern = draw.integers(0, 2, (8, 8)) * 200
            place = folder / f"group{g}" / f"kind{c}"
            place.mkdir(parents=True)
            for i in range(each):
                noisy = np.clip(pattern + draw.integers(0, 50, (8, 8)), 0, 255).astype(np.uint8)
                Image.fromarray(noisy).save(place / f"{i}.png")
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> cut.runs.Run:
    place = tmp_path_factory.mktemp("siamese")
    data = str(shapes(place / "data"))
    return cut.train("siamese", data=data, out=place / "run", show="quiet", validation=0.25, test=0.25, **SMALL)


def test_whole_groups_are_held_out(run: cut.runs.Run):
    data = run.task.parts
    held = data.validation
    parts = [{data.labels[i].split("/")[0] for i in part.targets} for part in (data.train, held, data.open_test())]
    assert [len(part) for part in parts] == [2, 1, 1]
    assert len(set.union(*parts)) == 4
    assert "6 classes that training never sees: " in data.summary()


def test_it_is_measured_on_new_kinds_beside_pixels(run: cut.runs.Run):
    last = [row for row in run.metrics if row["split"] == "validation-whole"][-1]
    assert 0 <= last["one_shot_error"] <= 1
    assert last["ways"] == 3
    assert run.about["data"]["baseline"]["metrics"]["one_shot_error"] < 0.2  # the patterns are clear
    assert set(run.test()) >= {"one_shot_error", "baseline_one_shot_error"}


def test_killed_and_resumed_it_ends_the_same(tmp_path: Path):
    settings = SMALL | {"data": str(shapes(tmp_path / "data"))}
    expect_same_after_death(tmp_path, "siamese", settings, "before a checkpoint becomes the latest")


@pytest.mark.parametrize("loss", ["prototypical", "margin"])
def test_other_losses_train(loss: str, tmp_path: Path):
    settings = SMALL | dict(loss=loss, steps=2, shots=3, validation=0.0)
    run = cut.train("siamese", data=str(shapes(tmp_path / "data")), out=tmp_path / "run", show="quiet", **settings)
    assert np.isfinite(run.metrics[-1]["loss"])


def test_predicts_by_one_example_a_class(run: cut.runs.Run, tmp_path: Path):
    recipe: Any = run.recipe
    source = Path(recipe.data) / "group0"
    (tmp_path / "support").mkdir()
    for c in range(3):
        Image.open(source / f"kind{c}" / "0.png").save(tmp_path / "support" / f"k{c}.png")
        Image.open(source / f"kind{c}" / "0.png").save(tmp_path / f"question{c}.png")
    found = run.predict(str(tmp_path))
    assert [row["class"] for row in found] == ["k0", "k1", "k2"]  # the same images: cosine 1
    assert found[0]["alike"] == pytest.approx(1, abs=1e-5)
    assert found[0]["next"] in ("k1", "k2")
    pixels = np.stack([np.asarray(Image.open(source / f"kind{c}" / "0.png")) for c in range(3)])
    in_python = run.predict({"support": (pixels, ["k0", "k1", "k2"]), "images": pixels})
    assert [row["class"] for row in in_python] == ["k0", "k1", "k2"]
    by_folder = run.predict({"support": source, "images": source / "kind1"})
    assert {row["class"] for row in by_folder} <= {"kind0", "kind1", "kind2"}
    assert run.predict(source / "kind1")[0]["class"].startswith("group")  # the classes of training


def test_a_test_set_of_its_own_has_its_own_classes(tmp_path: Path):
    data, other = str(shapes(tmp_path / "data", groups=2)), str(shapes(tmp_path / "other", groups=1, classes=5))
    run = cut.train("siamese", data=data, test_file=other, out=tmp_path / "run", show="quiet", **SMALL | {"steps": 1})
    assert run.test()["ways"] == 5


def test_a_run_without_classes_for_a_test_says_how_to_keep_some(tmp_path: Path):
    settings = SMALL | dict(steps=1, validation=0.0, test=0.0)
    run = cut.train("siamese", data=str(shapes(tmp_path / "data")), out=tmp_path / "run", show="quiet", **settings)
    with pytest.raises(ValueError, match=r"got a run with test=0; train it with --test 0.2"):
        run.test()


@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_few_classes_are_all_trained_on_and_other_images_held_out(count: int, tmp_path: Path):
    """Whole classes for validation need two, as alike is measured between classes: 0.2 of 5 are fewer."""
    labels = [f"kind{i}" for i in range(count)]
    make_classes(tmp_path / "data", labels, each=20, size=(9, 9))
    recipe = SiameseRecipe(data=str(tmp_path / "data"), **SMALL)
    data = recipe.read().parts
    assert data.validation is not None
    assert set(data.train.targets) == set(data.validation.targets) == set(range(count))
    assert not set(data.train.names) & set(data.validation.names)
    said = f"{count} classes are too few to keep whole ones out of training: other images of each are"
    job = recipe.job()
    assert said in job.data["summary"]
    assert job.data["meanings"]["one_shot_error"].startswith("the share of new images, of the classes of training")
    assert 0 <= job.whole(job.model)["one_shot_error"] <= 1
    assert {target for step in range(20) for target in job.batches.at(step).targets.tolist()} == set(range(count))


def test_enough_classes_are_held_out_whole(tmp_path: Path):
    make_classes(tmp_path / "data", [f"kind{i:02}" for i in range(10)], each=3, size=(9, 9))
    data = SiameseRecipe(data=str(tmp_path / "data"), **SMALL).read().parts
    assert data.validation is not None
    assert not set(data.train.targets) & set(data.validation.targets)
    assert len(set(data.validation.targets)) == 2
    images = SiameseRecipe(data=str(tmp_path / "data"), hold_out="images", validation=0.4, **SMALL).read().parts
    assert images.validation is not None
    assert set(images.train.targets) == set(images.validation.targets) == set(range(10))


def test_a_run_on_two_classes_tells_them_apart(tmp_path: Path):
    make_classes(tmp_path / "data", each=20, size=(9, 9))
    settings = SMALL | dict(steps=2, test=0.2)
    run = cut.train("siamese", data=str(tmp_path / "data"), out=tmp_path / "run", show="quiet", **settings)
    assert run.test()["ways"] == 2
    assert {row["class"] for row in run.predict(tmp_path / "data" / "cat")} <= {"cat", "dog"}


def test_validation_with_too_few_images_to_measure_says_so(tmp_path: Path):
    make_classes(tmp_path / "data", each=3, size=(9, 9))
    job = SiameseRecipe(data=str(tmp_path / "data"), **SMALL).job()
    assert "nothing is measured, as validation has no two classes with two images each" in job.data["summary"]


def test_too_few_classes_to_compare(tmp_path: Path):
    make_classes(tmp_path / "data", each=3)
    with pytest.raises(
        ValueError, match=r"every part needs two or more, got 1 for training of 2 in data; .* --hold-out"
    ):
        SiameseRecipe(data=str(tmp_path / "data"), validation=0.5, test=0.0, hold_out="classes").job()
    make_classes(tmp_path / "one", ["cat"])
    with pytest.raises(ValueError, match=r"two classes or more, got .* in one; put the images of each class"):
        SiameseRecipe(data=str(tmp_path / "one")).job()


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"support": 1}, r"images to name come as .* got support"),
        (
            {"support": (np.zeros((2, 8, 8)), ["a"]), "images": np.zeros((1, 8, 8))},
            r"a label for each example, got 1 for 2",
        ),
    ],
)
def test_inputs_that_cannot_be_named(run: cut.runs.Run, inputs: Any, message: str):
    with pytest.raises(ValueError, match=message):
        run.predict(inputs)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"ways": 1}, r"ways must be at least 2, got 1"),
        ({"shots": 1}, r"shots must be at least 2, got 1"),
        ({"temperature": 0.0}, r"temperature must be above 0, got 0"),
        ({"augment": "mixup"}, r"augment must keep each image one kind, got mixup"),
    ],
)
def test_settings_that_cannot_be(settings: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        SiameseRecipe.make(**settings)


@pytest.mark.slow
def test_stated_quality(data_folder: Path, tmp_path: Path):
    """Fewer steps than usual: 20 letters of an alphabet that it never saw, by one example each."""
    data = data_folder / "images" / "omniglot" / "images_background_small1.zip"
    run = cut.train("siamese", data=str(data), steps=300, out=tmp_path / "run", show="quiet")
    found = [row for row in run.metrics if row["split"] == "validation-whole"][-1]
    assert found["ways"] == 20
    assert found["one_shot_error"] < 0.14
    assert run.about["data"]["baseline"]["metrics"]["one_shot_error"] > 0.6
