r"""The results of a model of tables: predictions against the truth, and the weights of a linear model by name."""

from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

from cutaway.data.tables.encoding import Encoded, decode
from cutaway.data.tables.schema import Schema
from cutaway.look import confusion_matrix, scatter
from cutaway.look.pages.picture import Picture
from cutaway.look.style.colours import CATEGORIES
from cutaway.models.tables import TableNet
from cutaway.tasks.subjects import Subject
from cutaway.tasks.tables.rows import outputs_of

if TYPE_CHECKING:
    from cutaway.runs.run import Run

_NAMED = 40  # inputs shown, those with the largest weights


def results(run: "Run", subject: Subject) -> list[Picture]:
    """Predictions against the truth on rows not trained on, and the weights of a linear model by name."""
    model: Any = run.model
    table = run.task.parts
    if table.validation is None:
        return []
    return pictures_of(model, table.schema, table.validation, outputs_of(model, table.validation))


def pictures_of(model: TableNet, schema: Schema, rows: Encoded, outputs: Tensor) -> list[Picture]:
    """Predictions against the truth on some rows, and the weights if there are no hidden layers."""
    predicted = model.head.predict(outputs)
    found = []
    if schema.task in ("binary", "multi-class"):
        found.append(confusion(schema, rows.targets, predicted.numpy()))
    if schema.task == "regression" and len(schema.targets) == 1:
        found.append(agreement(schema, rows.targets, predicted.numpy()))
    return [*found, weight_picture(model, schema)] if not model.layers else found


def confusion(schema: Schema, truth: Any, predicted: Any) -> Picture:
    """How many rows of each class were taken for which."""
    counts = np.zeros((len(schema.labels),) * 2, dtype=np.int64)
    np.add.at(counts, (truth, predicted), 1)
    names = [str(label) for label in schema.labels]
    title = f"What {schema.targets[0].name} is, and what it is taken for: {len(truth):,} rows not trained on"
    return confusion_matrix(counts, names, title=title)


def agreement(schema: Schema, truth: Any, predicted: Any) -> Picture:
    """Predictions over the truth; a perfect one lies on the diagonal."""
    points = np.stack([decode(schema, truth), decode(schema, predicted)], 1)
    title = f"Prediction of {schema.targets[0].name} over the truth: {len(truth):,} rows not trained on"
    picture = scatter(points, title=title, axes=("truth", "prediction"))
    return picture.captioned(
        "A perfect prediction lies on the diagonal; the further off a point, the larger the error."
    )


def weight_picture(model: TableNet, schema: Schema) -> Picture:
    """What each input adds to each output, by its name: bars to the left and the right of 0."""
    import altair as alt

    weights = model.head.linear.weight.detach().cpu().numpy()
    strength = np.abs(weights).max(1)
    chosen = np.argsort(-strength, kind="stable")[:_NAMED]
    names, outputs = input_names(schema), output_names(schema, weights.shape[1])
    rows = [
        {"input": names[i], "output": output, "weight": float(weights[i, j])}
        for i in chosen
        for j, output in enumerate(outputs)
    ]
    panels = min(4, len(outputs))
    bars = (
        alt.Chart(alt.NamedData("rows"))
        .mark_bar()
        .encode(
            x=alt.X("weight:Q", title="weight"),
            y=alt.Y("input:N", title=None, sort=None, axis=alt.Axis(labelLimit=260)),
            color=alt.condition("datum.weight < 0", alt.value(CATEGORIES[0]), alt.value(CATEGORIES[1])),
            tooltip=["input:N", "output:N", alt.Tooltip("weight:Q", format=".3~g")],
        )
        .properties(width=420 // panels, height=alt.Step(16))
    )
    if len(outputs) > 1:
        bars = bars.facet(facet=alt.Facet("output:N", title=None, sort=outputs), columns=panels)
    best = rows[0]["input"]
    title = "What each input adds to each output" if len(outputs) > 1 else f"What each input adds to {outputs[0]}"
    note = f"The {_NAMED} strongest of {len(names):,} inputs." if len(names) > _NAMED else ""
    alt_text = f"Bars of {len(chosen)} weights for {len(outputs)} outputs; the strongest input is {best}."
    caption = "Bars to the right raise the output, bars to the left lower it; the longest inputs decide."
    return Picture(bars, title, alt_text, note, rows, caption=caption)


def output_names(schema: Schema, count: int) -> list[str]:
    """What each output of a model stands for: a class or label, the second of two classes, or a number."""
    if schema.task == "binary" and count == 1:
        return [str(schema.labels[1])]
    return [str(label) for label in schema.labels] or [column.name for column in schema.targets]


def input_names(schema: Schema) -> list[str]:
    """The names of the numbers and one-hot entries, in the order of a linear model's weights."""
    names = list(schema.numbers)
    for column in schema.categories:
        names += [f"{column.name}: {value}" for value in ("missing", *column.categories)]
    return names


__all__ = ["agreement", "confusion", "input_names", "output_names", "pictures_of", "results", "weight_picture"]
