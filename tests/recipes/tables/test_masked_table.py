"""The recipe for hidden cells: a table with a rule is restored by it, gaps are filled, and it dies and comes back."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from killing import expect_same_after_death

import cutaway as cut
from cutaway.recipes.tables.masked_table import MaskedTableRecipe

QUICK: dict[str, Any] = dict(width=32, depth=2, steps=300, batch=64, evaluate_every=100, rate=0.005, dropout=0.0)
PLACES = {"Paris": "France", "Lyon": "France", "Rome": "Italy", "Milan": "Italy"}


def towns(rows: int = 400) -> pd.DataFrame:
    """Countries are those of towns, prices follow from sizes, and nothing tells of noise."""
    draw = np.random.default_rng(0)
    town = draw.choice(list(PLACES), rows)
    size = draw.integers(20, 121, rows)
    return pd.DataFrame(
        {
            "town": town,
            "country": [PLACES[name] for name in town],
            "size": size,
            "price": (3.5 * size + draw.normal(0, 3, rows)).round(2),
            "balcony": np.where(size > 70, "yes", "no"),
            "noise": draw.normal(size=rows).round(3),
        }
    )


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("masked")
    towns().to_csv(folder / "towns.csv", index=False)
    return cut.train("masked-table", data=str(folder / "towns.csv"), out=folder / "run", **QUICK)


def test_what_follows_is_restored(trained: Any):
    told = trained.about["data"]["baseline"]["metrics"]
    assert trained.metrics[-1]["accuracy"] > told["accuracy"] + 0.15
    assert trained.metrics[-1]["loss"] < told["loss"]
    found = trained.test()
    assert found["accuracy"] > found["baseline_accuracy"] + 0.15


def test_gaps_are_filled(trained: Any):
    rows = pd.DataFrame(
        {
            "town": ["Rome", None, "Paris"],
            "country": [None, "Italy", "France"],
            "size": [50, 100, None],
            "price": [None, 350.0, 210.5],
            "balcony": ["no", None, "no"],
            "noise": [0.1, 0.2, -0.3],
            "note": ["a", "b", "c"],
        },
        index=[7, 8, 9],
    )
    filled = trained.predict(rows)
    assert list(filled.index) == [7, 8, 9]
    assert list(filled["note"]) == ["a", "b", "c"]
    assert filled.loc[7, "country"] == "Italy"
    assert filled.loc[7, "P(country)"] > 0.8
    assert filled.loc[8, "town"] in ("Rome", "Milan")
    assert filled.loc[8, "balcony"] == "yes"
    assert abs(filled.loc[7, "price"] - 175) < 40
    assert filled.loc[7, "price (10%)"] <= filled.loc[7, "price"] <= filled.loc[7, "price (90%)"]
    assert filled["size"].dtype.kind == "i"
    assert abs(filled.loc[9, "size"] - 60) < 15
    assert filled["size"].tolist()[:2] == [50, 100]
    assert filled["price"].tolist()[1:] == [350.0, 210.5]
    assert np.isnan(filled.loc[8, "price (10%)"])  # what was given has no doubt beside it
    assert not filled[list(rows.columns)].isna().any(axis=None)


def test_rows_come_as_dicts_too(trained: Any):
    row = {"town": "Lyon", "country": None, "size": 30, "price": 105.0, "balcony": "no", "noise": 0.0}
    assert trained.predict([row]).loc[0, "country"] == "France"


def test_nothing_to_fill(trained: Any):
    with pytest.raises(ValueError, match=r"predict fills missing cells, got 400 rows without any in the 6 columns"):
        trained.predict(towns())
    with pytest.raises(ValueError, match="must have the columns of training, got one without 'town'"):
        trained.predict(towns().drop(columns="town"))


def test_a_table_in_memory_is_kept(tmp_path: Path):
    few = QUICK | dict(steps=20, evaluate_every=10)
    run = cut.train("masked-table", data=towns(80), out=tmp_path / "run", leave_out="noise, size", **few)
    again = cut.load(tmp_path / "run")
    assert again.task.parts.fingerprint.digest == run.about["data"]["fingerprint"]["digest"]
    assert [c.name for c in again.recipe.read().parts.schema.columns if "left out" in c.reason] == ["size", "noise"]


def test_categories_alone_and_numbers_alone(tmp_path: Path):
    few = QUICK | dict(steps=20, evaluate_every=10)
    names = cut.train("masked-table", data=towns(80)[["town", "country"]], out=tmp_path / "a", **few)
    assert "r2" not in names.metrics[-1]
    assert names.metrics[-1]["accuracy"] > 0
    numbers = cut.train("masked-table", data=towns(80)[["size", "price"]], out=tmp_path / "b", **few)
    assert "accuracy" not in numbers.metrics[-1]
    assert numbers.predict([{"size": None, "price": 200.0}])["size"].dtype.kind == "i"


def test_without_validation(tmp_path: Path):
    few = QUICK | dict(steps=10, evaluate_every=5)
    run = cut.train("masked-table", data=towns(50), out=tmp_path / "run", validation=0.0, test=0.0, **few)
    assert "baseline" not in run.about["data"]


def test_bad_settings():
    with pytest.raises(ValueError, match=r"hidden must be above 0 and below 1, got 1\.0; try hidden=0\.5"):
        MaskedTableRecipe(hidden=1.0)
    with pytest.raises(ValueError, match="bins must be at least 2, got 1"):
        MaskedTableRecipe(bins=1)


@pytest.mark.long
def test_killed_and_resumed(tmp_path: Path):
    towns(120).to_csv(tmp_path / "towns.csv", index=False)
    settings = QUICK | dict(steps=12, evaluate_every=4, checkpoint_every=3, log_every=2, dropout=0.2, batch=16)
    expect_same_after_death(tmp_path, "masked-table", settings | {"data": str(tmp_path / "towns.csv")})
