"""Views of tables: the learned function in the table's own units, with its exact kinks."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from look.rendered import rows_of
from tabular import QUICK, little_table

import cutaway as cut
from cutaway.models.tables import TableNet
from cutaway.registry import views
from cutaway.runs.views import tables
from cutaway.runs.views.tables import kinks_of
from cutaway.tasks.subjects import subject_of


def one_number(**more: Any) -> TableNet:
    torch.manual_seed(0)
    model = TableNet(task="regression", numbers=1, width=6, depth=2, **more).eval()
    if model.pieces is not None:
        model.pieces.set_knots([torch.linspace(-1, 1, more["pieces"][0] + 1)])
    return model


@pytest.mark.parametrize("more", [{}, {"pieces": (4,)}], ids=["plain", "pieces"])
def test_between_its_kinks_a_model_is_linear(more, float64):
    model = one_number(**more)
    found = kinks_of(model, -2.0, 2.0)
    assert len(found) > 3
    edges = [-2.0, *found, 2.0]
    assert edges == sorted(edges)
    slopes = []
    for a, b in pairwise(edges):
        inside = torch.linspace(a, b, 9)[1:-1, None]
        values = model(inside).detach().flatten()
        steps = values.diff() / inside.flatten().diff()
        assert torch.allclose(steps, steps[0].expand_as(steps), atol=1e-6)
        slopes.append(steps[0].item())
    assert all(abs(a - b) > 1e-9 for a, b in pairwise(slopes))  # and at each it does bend


def test_what_is_not_piecewise_linear_has_no_kinks():
    assert kinks_of(one_number(activation="gelu"), -1.0, 1.0) == []
    assert kinks_of(one_number(norm="layer"), -1.0, 1.0) == []
    assert kinks_of(one_number(residual=True), -1.0, 1.0) == []


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("views")
    draw = np.random.default_rng(0)
    frame = pd.DataFrame({"east": draw.normal(50, 10, 120), "north": draw.normal(0, 1, 120)})
    frame["height"] = 3 * frame["east"] + 7
    frame["side"] = np.where(frame["east"] > 50, "right", "left")
    frame[["east", "north", "side"]].to_csv(folder / "two.csv", index=False)
    frame[["east", "height"]].to_csv(folder / "one.csv", index=False)
    return folder


def drawn(run: Any, name: str) -> Any:
    (view,) = [view for view in views() if view.name == name]
    assert view.fits(run)
    return view.pictures(run, subject_of(run))


@pytest.mark.parametrize("recipe", ["mlp", "logistic", "perceptron"])
def test_a_decision_map_agrees_with_predictions(recipe: str, folder: Path):
    run = cut.train(recipe, data=str(folder / "two.csv"), out=folder / recipe, **QUICK)
    (picture,) = drawn(run, "decisions")
    rows = rows_of(picture)
    predicted = run.predict(pd.DataFrame({"east": [r["x"] for r in rows], "north": [r["y"] for r in rows]}))
    assert [r["decided"] for r in rows] == list(predicted["side"])
    assert {r["class"] for r in rows} <= {"left", "right"}
    assert 20 < np.mean([r["x"] for r in rows]) < 80  # in the units of the table
    (saliency,) = drawn(run, "row_saliency")
    assert [r["name"] for r in rows_of(saliency)] == ["east", "north"]


def test_a_fit_is_in_the_units_of_the_table(folder: Path):
    how = dict(steps=200, rate=0.1, evaluate_every=200, checkpoint_every=200)
    run = cut.train("linear", data=str(folder / "one.csv"), out=folder / "linear", **QUICK | how)
    (picture,) = drawn(run, "fit")
    for row in rows_of(picture):
        assert row["y"] == pytest.approx(3 * row["x"] + 7, rel=1e-3)
    told = run.predict(pd.DataFrame({"east": [r["x"] for r in rows_of(picture, "curve")][:5]}))
    assert [r["y"] for r in rows_of(picture, "curve")][:5] == pytest.approx(list(told["height"]), rel=1e-3)
    assert not tables.has_two_inputs(run)


def test_mixed_columns_have_no_map_but_saliency(folder: Path):
    run = cut.train("mlp", data=str(little_table(folder, "price")), out=folder / "mixed", **QUICK)
    names = {view.name for view in views() if view.fits(run)}
    assert {"losses", "results", "row_saliency", "weights", "graph", "categories"} <= names
    assert not {"decisions", "fit", "attention", "tokens"} & names
    assert drawn(run, "categories") == []  # too few colours for a map
    with pytest.raises(ValueError, match="a table to look at must have a row, got none"):
        empty = folder / "empty.csv"
        pd.read_csv(folder / "table.csv").head(0).to_csv(empty, index=False)
        subject_of(run, str(empty))
