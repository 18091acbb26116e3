"""What a report shows of a model of tables."""

from pathlib import Path

import numpy as np
import torch
from tabular import little_table

from cutaway.data.tables.schema import Column, Schema
from cutaway.models import TableNet
from cutaway.recipes.tables.linear_models import LinearRecipe, LogisticRecipe, SoftmaxRecipe
from cutaway.recipes.tables.mlp import MLPRecipe
from cutaway.runs.views.table_results import confusion, input_names, output_names, pictures_of, weight_picture
from cutaway.tasks.tables.rows import outputs_of


def data_of(picture) -> list[dict]:
    return picture.spec()["datasets"]["rows"]


def test_confusion_by_hand():
    schema = Schema((), (Column("kind", "category"),), "multi-class", ("a", "b", "c"))
    picture = confusion(schema, np.array([0, 0, 1, 2, 2]), np.array([0, 1, 1, 2, 2]))
    assert [row["count"] for row in data_of(picture)] == [1, 1, 0, 0, 1, 0, 0, 0, 2]
    assert "5 rows not trained on" in picture.title


def test_every_input_has_its_name(tmp_path: Path):
    """A one-hot row of a linear model: turning on one entry gives the output that entry's weight."""
    recipe = LogisticRecipe(data=str(little_table(tmp_path, "sold")))
    table, model = recipe.read().parts, recipe.job().model
    names = input_names(table.schema)
    assert len(names) == model.spec.inputs
    torch.nn.init.normal_(model.head.linear.weight)
    ids = torch.tensor([[1, 0], [4, 0], [0, 3]])  # no colour; red, the third; square, the second
    outputs = model(torch.zeros(3, len(table.schema.numbers)), ids)[:, 0]
    places = [names.index(name) for name in ("colour: missing", "colour: red", "shape: square")]
    torch.testing.assert_close(outputs, model.head.linear.weight[places, 0])


def test_weights_strongest_first():
    schema = Schema(
        tuple(Column(name, "number") for name in "xyz"),
        (Column("t", "category"),),
        "multi-class",
        ("no", "maybe", "yes"),
    )
    model = TableNet(task="multi-class", outputs=3, numbers=3, depth=0)
    with torch.no_grad():
        model.head.linear.weight.copy_(torch.tensor([[0.1, 0, 0], [0, -3.0, 0], [1.0, 0, 2.0]]))
    picture = weight_picture(model, schema)
    assert [row["input"] for row in data_of(picture)[::3]] == ["y", "z", "x"]
    assert data_of(picture)[1] == {"input": "y", "output": "maybe", "weight": -3.0}
    assert picture.to_svg().startswith("<svg")


def test_only_so_many_weights():
    schema = Schema(tuple(Column(f"c{i}", "number") for i in range(50)), (Column("t", "number"),), "regression")
    picture = weight_picture(TableNet(task="regression", numbers=50, depth=0), schema)
    assert len(data_of(picture)) == 40
    assert picture.note == "The 40 strongest of 50 inputs."


def test_names_of_outputs():
    schema = Schema((), (Column("t", "category"),), "binary", ("no", "yes"))
    assert output_names(schema, 1) == ["yes"]
    assert output_names(schema, 2) == ["no", "yes"]
    assert output_names(Schema((), (Column("a", "number"), Column("b", "number")), "regression"), 2) == ["a", "b"]


def test_the_pictures_of_each_task(tmp_path: Path):
    data = str(little_table(tmp_path, "price", "sold", "grade", "cheap", "small"))
    for recipe, target, titles in (
        (LinearRecipe, "price", ["Prediction of price over the truth", "What each input adds to price"]),
        (LogisticRecipe, "sold", ["What sold is, and what it is taken for", "What each input adds to yes!"]),
        (SoftmaxRecipe, "grade", ["What grade is, and what it is taken for", "What each input adds to each output"]),
        (LogisticRecipe, "cheap,small", ["What each input adds to each output"]),
        (MLPRecipe, "sold", ["What sold is, and what it is taken for"]),
    ):
        made = recipe(data=data, target=target)
        table, model = made.read().parts, made.job().model
        pictures = pictures_of(model, table.schema, table.validation, outputs_of(model, table.validation))
        assert [p.title.split(":")[0] for p in pictures] == titles
