"""Data in memory: settings name it, the run keeps a copy, and is then like any other."""

import gc
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file
from tabular import INPUTS, QUICK, little_frame, little_table

from cutaway.data.images.image_sources import open_images
from cutaway.data.stored import Stored, find_stored, keep_images, plain, shown, store_table
from cutaway.data.tables.table_files import as_parquet
from cutaway.recipes.images.cnn import CNNRecipe
from cutaway.recipes.tables.mlp import MLPRecipe
from cutaway.runs.execution import load, train
from cutaway.training.callbacks import Callback

STORED = "data.parquet"
SHORT = {name: value for name, value in QUICK.items() if name != "show"}
SMALL = dict(width=8, depth=1, embedding=3)
TARGETS = {"linear": "price", "logistic": "sold", "softmax": "grade", "perceptron": "sold", "mlp": "grade"}


@pytest.mark.parametrize("name", TARGETS)
def test_a_frame_trains_like_a_file(name: str, tmp_path: Path):
    target, settings = TARGETS[name], QUICK | (SMALL if name == "mlp" else {})
    frame = little_frame()[[*INPUTS, TARGETS[name]]]
    run = train(name, data=frame, out=tmp_path / "run", **settings)
    file = train(name, data=str(little_table(tmp_path, target)), out=tmp_path / "file", **settings)
    one, two = (load_file(each.path / "model.safetensors") for each in (run, file))
    assert all(torch.equal(one[key], two[key]) for key in two)
    # the run can be moved, loaded, tested and asked, without the frame
    shutil.move(tmp_path / "run", tmp_path / "moved")
    moved = load(tmp_path / "moved")
    assert moved.test() == file.test()
    pd.testing.assert_frame_equal(moved.predict(little_frame(5)[INPUTS]), file.predict(little_frame(5)[INPUTS]))
    assert (tmp_path / "moved" / STORED).is_file()
    assert moved.about["config"]["data"] == "a table in memory"


def test_a_dict_of_columns(tmp_path: Path):
    frame = little_frame()
    columns = {"size": list(frame["size"]), "sold": list(frame["sold"])}
    run = train("logistic", data=columns, out=tmp_path / "run", **QUICK)
    predicted = run.predict({"size": [40.0, 60.0]})
    assert list(predicted.columns) == ["sold", "P(no!)", "P(yes!)"]
    assert len(predicted) == 2
    assert len(run.predict({"size": 40.0})) == 1


class Broken(Callback):
    """A power cut after step 3."""

    def step(self, loop, metrics):
        if loop.step == 3:
            raise RuntimeError("power cut")


def test_a_broken_run_goes_on_from_its_copy(tmp_path: Path):
    frame = little_frame()[[*INPUTS, "sold"]]
    settings = dict(data=frame, batch=16, dropout=0.3) | QUICK | SMALL
    train("mlp", out=tmp_path / "one", **settings)
    for name in ("two", "three"):
        with pytest.raises(RuntimeError, match="power cut"):
            train("mlp", out=tmp_path / name, callbacks=[Broken()], **settings)
    train("mlp", out=tmp_path / "two", resume=True, show="quiet")
    train("mlp", out=tmp_path / "three", resume=True, show="quiet", data=frame)  # the same table again
    one, two, three = (load_file(tmp_path / name / "model.safetensors") for name in ("one", "two", "three"))
    assert all(torch.equal(one[key], two[key]) and torch.equal(one[key], three[key]) for key in one)


def test_a_run_does_not_go_on_with_another_table(tmp_path: Path):
    frame = little_frame()[[*INPUTS, "sold"]]
    with pytest.raises(RuntimeError, match="power cut"):
        train("mlp", data=frame, out=tmp_path / "run", callbacks=[Broken()], **QUICK | SMALL)
    with pytest.raises(ValueError, match=r"have the data that it began with, got .*data.parquet of"):
        train("mlp", data=frame[::-1], out=tmp_path / "run", resume=True, show="quiet")


def test_without_its_copy_a_run_says_so(tmp_path: Path):
    run = train("logistic", data=little_frame()[[*INPUTS, "sold"]], out=tmp_path / "run", **QUICK)
    (tmp_path / "run" / STORED).unlink()
    assert len(run.predict(little_frame(3)[INPUTS])) == 3
    with pytest.raises(ValueError, match=r"data must be a file, a folder or a sample, got .*data\.parquet"):
        load(tmp_path / "run").test()


def test_types_survive():
    frame = pd.DataFrame(
        {
            "n": [1, 2],
            "x": [0.5, np.nan],
            "w": ["a", None],
            "d": pd.to_datetime(["2024-01-01", "2024-02-01"]),
            "c": pd.Categorical(["u", "v"]),
            7: [True, False],
        }
    )
    held = store_table(frame)
    pd.testing.assert_frame_equal(held.frame(), frame.rename(columns={7: "7"}), check_column_type=False)
    assert held.shown == "a table in memory"
    assert held.fingerprint().digest == store_table(frame).fingerprint().digest


def test_what_cannot_be_stored_is_named():
    with pytest.raises(
        ValueError, match=r"got the column 'odd' of type object, which cannot be stored \(.*\); convert it"
    ):
        as_parquet(pd.DataFrame({"fine": [1, 2], "odd": [1, {"a": object()}]}))
    with pytest.raises(ValueError, match="columns must have different names, got 'a' twice; rename one of them"):
        as_parquet(pd.DataFrame([[1, 2]], columns=["a", "a"]))


def test_what_is_no_table():
    with pytest.raises(ValueError, match="a table must be a path, a DataFrame or a dict of columns, got list; give it"):
        train("mlp", data=[1, 2, 3])


def images_of(data: object) -> Stored:
    return keep_images(CNNRecipe, {"data": data})[0]


def test_the_copy_holds_the_images():
    x = np.random.default_rng(0).integers(0, 256, (4, 5, 6, 3), dtype=np.uint8)
    held = images_of({"x_train": x, "y_train": [1, 2, 1, 2], "x_test": x[:2], "y_test": [1, 2]})
    source = open_images(held)
    assert source.labels == ("1", "2", "1", "2", "1", "2")
    assert source.parts == ("train",) * 4 + ("test",) * 2
    assert source.pixels is not None
    np.testing.assert_array_equal(source.pixels()[:4], x.transpose(0, 3, 1, 2))
    assert (held.shown, held.file) == ("images in memory", "data.npz")


def test_images_alone():
    source = open_images(images_of(np.zeros((3, 4, 4))))
    assert source.labels == (None, None, None)


def test_settings_are_plain_and_name_what_is_held():
    one, two = (MLPRecipe.make(data=little_frame(rows)) for rows in (20, 30))
    assert type(one.data) is str
    assert one.data.startswith("memory:table-")
    assert one.data != two.data
    assert one.data == MLPRecipe.make(data=little_frame(20)).data  # the same content has the same name
    assert [len(find_stored(recipe.data).frame()) for recipe in (one, two)] == [20, 30]
    assert one.to_dict()["data"] == shown(one.data) == "a table in memory"
    named = little_frame(20)
    named.attrs["name"] = "flats"
    assert MLPRecipe.make(data=named).to_dict()["data"] == "flats"
    assert find_stored("iris") is None


def test_what_is_held_lives_as_long_as_its_recipe():
    recipe = MLPRecipe.make(data=little_frame(20))
    name, other = recipe.data, recipe.but(width=8)
    del recipe
    gc.collect()
    assert find_stored(name) is not None  # the second recipe holds it
    del other
    gc.collect()
    with pytest.raises(ValueError, match=f"as long as its recipe, got {name}, which nothing holds any more; give the"):
        find_stored(name)
    with pytest.raises(ValueError, match="nothing holds any more"):
        MLPRecipe(data=name)


def test_settings_that_are_refused_hold_nothing():
    frame = little_frame(20)
    with plain(MLPRecipe, {"data": frame}) as given:
        name = given["data"]
    with pytest.raises(ValueError, match="width must be at least 1"):
        MLPRecipe.make(data=frame, width=0)
    gc.collect()
    with pytest.raises(ValueError, match="nothing holds any more"):
        find_stored(name)


def test_a_recipe_trains_twice_on_what_it_holds(tmp_path: Path):
    recipe = MLPRecipe.make(data=little_frame()[[*INPUTS, "sold"]], **SHORT | SMALL)
    runs = [train(recipe, out=tmp_path / name, seed=seed, show="quiet") for seed, name in enumerate(("one", "two"))]
    assert [run.about["data"]["stored"] for run in runs] == [STORED, STORED]
    assert (runs[0].path / STORED).read_bytes() == (runs[1].path / STORED).read_bytes()
    assert runs[0].about["data"]["source"] == "a table in memory"


def test_a_recipe_goes_on_with_what_it_holds(tmp_path: Path):
    recipe = MLPRecipe.make(data=little_frame()[[*INPUTS, "sold"]], **SHORT | SMALL)
    with pytest.raises(RuntimeError, match="power cut"):
        train(recipe, out=tmp_path / "run", callbacks=[Broken()], show="quiet")
    assert train(recipe, out=tmp_path / "run", resume=True, show="quiet").finished


@pytest.mark.untyped
def test_paths_become_text_and_only_make_takes_objects(tmp_path: Path):
    assert MLPRecipe.make(data=tmp_path / "a.csv").data == str(tmp_path / "a.csv")
    with pytest.raises(ValueError, match=r"^data must be text, got DataFrame; MLPRecipe.make\(data=…\) takes it"):
        MLPRecipe(data=little_frame(5))
    with pytest.raises(ValueError, match=r"^data must be text, got PosixPath; MLPRecipe.make\(data=…\) takes it"):
        MLPRecipe(data=tmp_path)
