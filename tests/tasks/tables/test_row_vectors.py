"""Vectors of rows: those of the last hidden layer, for networks of tables and of cells; rows asked for by number."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

import cutaway as cut
from cutaway import cli
from cutaway.tasks.tables.row_vectors import read_objects


@pytest.fixture(scope="module", autouse=True)
def _without_report():
    from cutaway.runs import execution

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(execution, "report_run", lambda run: (run.path / "report.html").write_text("a report"))
        yield


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rows")
    draw = np.random.default_rng(0)
    kind = draw.integers(0, 2, 120)
    frame = pd.DataFrame({"x": (3 * kind + draw.normal(size=120)).round(3), "colour": np.where(kind, "red", "blue")})
    frame["y"] = np.where(kind, "warm", "cold")
    frame.to_csv(folder / "table.csv", index=False)
    for recipe in ("mlp", "masked-table", "logistic"):
        cut.train(recipe, data=str(folder / "table.csv"), steps=40, out=folder / recipe, show="quiet")
    return folder


@pytest.mark.parametrize("recipe", ["mlp", "masked-table"])
def test_rows_have_vectors(place: Path, recipe: str):
    run = cut.load(place / recipe)
    frame = pd.read_csv(place / "table.csv")
    vectors = run.embed(str(place / "table.csv"))
    assert vectors.shape == (120, run.model.spec.width)
    torch.testing.assert_close(run.embed(frame), vectors)
    torch.testing.assert_close(run.embed(frame.iloc[[7, 3]]), vectors[[7, 3]])
    told = [json.dumps(frame.iloc[7].to_dict())]
    torch.testing.assert_close(run.embed(told), vectors[[7]])
    if recipe == "mlp":
        answer = run.model.head(vectors)
        assert ((answer.flatten() > 0).numpy() == (run.predict(frame)["y"] == "warm").to_numpy()).all()


@pytest.mark.parametrize("recipe", ["mlp", "masked-table"])
def test_nearest_rows(place: Path, recipe: str, tmp_path: Path, capsys):
    rows, run = str(place / "table.csv"), str(place / recipe)
    colours = pd.read_csv(rows)["colour"]
    assert cli.run(["nearest", run, "row 8", "--texts", rows, "-k", "5", "--json"]) == 0
    found = [row["text"] for row in json.loads(capsys.readouterr().out)]
    assert "row 8" not in found
    assert sum(colours[int(name.split()[1]) - 1] == colours[7] for name in found) >= 4
    out = str(tmp_path / "v.npz")
    assert cli.run(["embed", run, rows, "--out", out]) == 0
    assert cli.run(["nearest", run, "8", "--texts", rows, "--vectors", out, "-k", "5", "--json"]) == 0
    assert [row["text"] for row in json.loads(capsys.readouterr().out)] == found


@pytest.mark.parametrize(
    ("recipe", "words", "message"),
    [
        ("mlp", ["nearest", "red", "--texts"], "a row must be its number among the rows, or a JSON object, got 'red'"),
        ("mlp", ["nearest", "121", "--texts"], "or a JSON object, got '121'"),
        ("logistic", ["embed"], "a linear model has no vectors of rows between inputs and answer; train an mlp"),
    ],
)
def test_mistakes(place: Path, recipe: str, words: list[str], message: str, capsys):
    assert cli.run([words[0], str(place / recipe), *words[1:], str(place / "table.csv")]) == 2
    assert message in capsys.readouterr().err


def test_objects_alone_are_read():
    assert read_objects([{"x": 1}]) == [{"x": 1}]
    assert read_objects("rows.csv") == "rows.csv"
    assert read_objects(['{"x": 1}']) == [{"x": 1}]
