"""Tables with few labels: a model of cells tuned to a column, every way, and what it reads as its base did."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from killing import expect_same_after_death

import cutaway as cut
from cutaway.tuning.tasks.table import TunedTableRecipe


def houses(rows: int, seed: int = 0) -> pd.DataFrame:
    """Sizes, rooms and prices go together by one hidden value; what is dear has a pool."""
    draw = np.random.default_rng(seed)
    worth = draw.normal(size=rows)
    return pd.DataFrame(
        {
            "size": (100 + 30 * worth + draw.normal(0, 5, rows)).round(1),
            "rooms": np.clip((4 + 1.5 * worth + draw.normal(0, 0.5, rows)).round(), 1, 9).astype(int),
            "town": np.where(worth + draw.normal(0, 0.5, rows) > 0, "hill", "valley"),
            "pool": np.where(worth > 0.3, "with", "without"),
        }
    )


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("base")
    sizes: dict[str, Any] = dict(width=16, depth=2, steps=150, batch=64, evaluate_every=50, rate=0.005, cell=4)
    cut.train("masked-table", data=houses(400), leave_out="pool", out=folder / "run", **sizes)
    return folder / "run"


@pytest.mark.parametrize("way", [dict(head_only=True), dict(last=1), dict(full=True)], ids=["head", "last", "full"])
def test_every_way_learns_from_few_rows(way: dict[str, Any], base: Path, tmp_path: Path):
    data = houses(60, seed=1)
    run = cut.tune(base, data=data, target="pool", out=tmp_path / "run", steps=60, rate=0.02, **way)
    truth = houses(300, seed=2)
    found = run.predict(truth.drop(columns="pool"))
    assert (found["pool"] == truth["pool"]).mean() > 0.8
    np.testing.assert_allclose(found["P(with)"] + found["P(without)"], 1)
    share = run.about["data"]["tuning"]
    assert share["trained"] == share["parameters"] if "full" in way else share["trained"] < share["parameters"]


def test_head_only_leaves_the_body_as_it_was(base: Path, tmp_path: Path):
    run = cut.tune(base, data=houses(60, 1), target="pool", out=tmp_path / "run", steps=5, head_only=True)
    before, after = cut.load(base).model.state_dict(), run.model.state_dict()
    kept = [name for name in before if not name.startswith("restore.")]
    assert all(torch.equal(before[name], after[name]) for name in kept)
    assert not torch.equal(after["head.linear.weight"], torch.zeros_like(after["head.linear.weight"]))


def test_rows_are_read_as_those_of_the_base(base: Path, tmp_path: Path):
    """Means and lists of categories are the base's, whatever the few rows hold."""
    few = houses(40, 1)
    few.loc[0, "town"] = "island"  # never seen by the base: not known
    run = cut.tune(base, data=few, target="pool", out=tmp_path / "run", steps=5, validation=0.0, test=0.0)
    schema = run.task.cells
    cells = run.task.parts.splits.train
    size = next(column for column in schema.columns if column.name == "size")
    np.testing.assert_allclose(cells.numbers[:, 0] * size.std + size.mean, few["size"], rtol=1e-4)
    assert cells.known.sum() == cells.known.size - 1


def test_numbers_and_a_column_that_the_base_knows(base: Path, tmp_path: Path):
    data = houses(120, 1).drop(columns="pool")
    run = cut.tune(base, data=data, target="size", out=tmp_path / "run", steps=80, rate=0.02, head_only=True)
    assert "the base has seen the column 'size'" in run.about["data"]["summary"]
    assert run.metrics[-1]["r2"] > 0.3
    found = run.test()
    assert found["rmse"] < 30
    one = data.head(1).assign(size=[1e6])  # what is asked for is not looked at
    assert run.predict(one)["size"][0] == run.predict(data.head(1))["size"][0]


def test_the_steps_and_the_rate_that_nobody_chose(base: Path):
    data = houses(60, 1)
    recipe = TunedTableRecipe.make(base=str(base), data=data, target="pool", head_only=True).begin().recipe
    assert (recipe.steps, recipe.rate) == (100, 0.01)
    assert TunedTableRecipe.make(base=str(base), data=data, target="pool").begin().recipe.full


def test_bad_input(base: Path, tmp_path: Path):
    with pytest.raises(ValueError, match="must have the columns of training, got one without 'rooms'"):
        cut.tune(base, data=houses(40).drop(columns="rooms"), target="pool", out=tmp_path / "a")
    with pytest.raises(ValueError, match="target must be a column of the table, got 'poool'"):
        cut.tune(base, data=houses(40), target="poool", out=tmp_path / "b")
    with pytest.raises(ValueError, match="a target must vary, got 'with'"):
        cut.tune(base, data=houses(40).assign(pool="with"), target="pool", out=tmp_path / "c")
    with pytest.raises(ValueError, match="penalty must be at least 0, got -1"):
        TunedTableRecipe.make(base=str(base), penalty=-1.0)


@pytest.mark.long
def test_killed_and_resumed(base: Path, tmp_path: Path):
    houses(60, 1).to_csv(tmp_path / "few.csv", index=False)
    settings = dict(
        base=str(base),
        data=str(tmp_path / "few.csv"),
        target="pool",
        steps=8,
        evaluate_every=4,
        checkpoint_every=2,
        full=True,
    )
    expect_same_after_death(tmp_path, "tuned-table", settings)
