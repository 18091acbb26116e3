r"""Views of models of tables: the learned function of one or two inputs, and what a prediction depends on."""

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from cutaway.blocks import line_regions
from cutaway.data.tables.encoding import Encoded, decode
from cutaway.data.tables.schema import Column, Schema
from cutaway.look import decision_map, fitted_curve, integrated_gradients, saliency_map
from cutaway.look.pages.picture import Picture
from cutaway.models.tables import TableNet
from cutaway.tasks.subjects import Subject
from cutaway.tasks.tables.predict import describe, schema_of
from cutaway.tasks.tables.rows import outputs_of

if TYPE_CHECKING:
    from cutaway.runs.run import Run


def is_table(run: "Run") -> bool:
    """Runs of tables."""
    return run.recipe.kind == "tables/predict" and isinstance(run.model, TableNet)


def _plain_numbers(run: "Run") -> list[Column]:
    """The input columns, if all are plain numbers that are never missing; else none."""
    if not is_table(run):
        return []
    columns = [column for column in schema_of(run).columns if column.kind not in ("text", "ignored")]
    return columns if all(column.kind == "number" and not column.missing for column in columns) else []


def has_two_inputs(run: "Run") -> bool:
    """Classifiers of two numbers."""
    return len(_plain_numbers(run)) == 2 and schema_of(run).task in ("binary", "multi-class")


def has_one_input(run: "Run") -> bool:
    """Regressions on one number."""
    schema = schema_of(run) if is_table(run) else None
    return (
        len(_plain_numbers(run)) == 1
        and schema is not None
        and schema.task == "regression"
        and len(schema.targets) == 1
    )


def _all_rows(run: "Run") -> Encoded:
    table = run.task.parts
    return table.train if table.validation is None else table.validation


def _encoded(points: Tensor, columns: list[Column]) -> Encoded:
    """Points in the units of the columns as the rows of a table."""
    mean, std = (torch.tensor([getattr(column, name) for column in columns]) for name in ("mean", "std"))
    numbers = ((points.double() - mean) / std).float().numpy()
    return Encoded(numbers, np.zeros((len(numbers), 0), dtype=np.int64), None)


def decisions(run: "Run", subject: Subject) -> Picture:
    """What a classifier of two inputs decides everywhere, with rows not trained on."""
    columns, schema = _plain_numbers(run), schema_of(run)
    recipe: Any = run.recipe
    rows = _all_rows(run)
    assert rows.targets is not None
    mean, std = (np.array([getattr(column, name) for column in columns]) for name in ("mean", "std"))

    def probabilities(points: Tensor) -> Any:
        head: Any = run.model.head
        outputs = outputs_of(run.model, _encoded(points, columns))
        if not recipe.probable:  # a model that only decides
            return np.eye(len(schema.labels))[head.predict(outputs).numpy()]
        return describe(schema, head, outputs)[[f"P({label})" for label in schema.labels]].to_numpy(np.float64)

    names = (columns[0].name, columns[1].name)
    labels = [str(label) for label in schema.labels]
    title = f"What {schema.targets[0].name} is taken for, everywhere"
    return decision_map(probabilities, rows.numbers * std + mean, rows.targets, names=labels, axes=names, title=title)


def fit(run: "Run", subject: Subject) -> Picture:
    """The function of one input that a regression has learned, with rows not trained on and its linear regions."""
    (column,), schema = _plain_numbers(run), schema_of(run)
    model: Any = run.model
    rows = _all_rows(run)
    assert rows.targets is not None
    x = rows.numbers[:, 0] * column.std + column.mean
    room = 0.05 * float(np.ptp(x)) or 0.5
    low, high = float(x.min()) - room, float(x.max()) + room

    def curve(points: Tensor) -> np.ndarray:
        return np.array(decode(schema, outputs_of(model, _encoded(points, [column])).numpy()[:, 0]))

    kinks = [
        column.mean + column.std * at for at in kinks_of(model, *((e - column.mean) / column.std for e in (low, high)))
    ]
    axes = (column.name, schema.targets[0].name)
    title = f"{axes[1]} as a function of {axes[0]}"
    return fitted_curve(curve, x, decode(schema, rows.targets), kinks=kinks, window=(low, high), axes=axes, title=title)


def kinks_of(model: TableNet, low: float, high: float) -> list[float]:
    """Where the function of a single number bends between two ends, exactly; none if it is not piecewise linear.

    The pieces of the input are linear between their knots, so the input moves along a line there, and `line_regions`
    finds where the network bends on the way.
    """
    if model.spec.residual or model.norms is not None or not model.layers:
        return []
    network = nn.Sequential(*model.layers, model.head.linear)
    knots = [] if model.pieces is None else [*model.pieces.low[:1].tolist(), *model.pieces.high.tolist()]
    ends = [low, *(knot for knot in knots if low < knot < high), high]
    found: list[float] = []
    slope = None
    for a, b in pairwise(ends):
        start, end = (model.encode(torch.tensor([at])).detach() for at in (a, b))
        try:
            regions = line_regions(network, start, end)
        except ValueError:  # not of rectifiers
            return []
        slopes = regions.slopes / (b - a)
        if slope is not None and not torch.allclose(slope, slopes[0], rtol=1e-6, atol=1e-9):
            found.append(a)
        found += [a + (b - a) * share for share in regions.kinks.tolist()]
        slope = slopes[-1]
    return found


def row_saliency(run: "Run", subject: Subject) -> list[Picture]:
    """What each input added to the prediction of the first row, by integrated gradients from the mean row."""
    schema = schema_of(run)
    numbers, ids = subject.arguments
    model: Any = run.model
    if not schema.numbers:
        return []
    row = ids[:1]

    def output(x: Tensor) -> Tensor:
        return model(x, row.expand(len(x), -1))

    with torch.no_grad():
        outputs = output(numbers[:1])
    asked = int(outputs[0].argmax()) if outputs.shape[-1] > 1 else 0
    # No warning where the attributions do not quite add up: the note under the picture says by how much.
    found = integrated_gradients(output, numbers[:1], asked, baseline=0.0, steps=256, tolerance=math.inf)
    title = f"What the numbers of the first row added to the score of {_asked(schema, outputs.shape[-1], asked)}"
    return [saliency_map(found, list(schema.numbers), title=title)]


def _asked(schema: Schema, outputs: int, which: int) -> str:
    if schema.task == "binary" and outputs == 1:
        return str(schema.labels[1])
    return str(schema.labels[which]) if schema.labels else schema.targets[which].name
