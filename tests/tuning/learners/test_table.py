"""Rows of cells with a target: the cost by hand, and features that are those of the frozen body."""

import numpy as np
import torch
from torch import nn

from cutaway.blocks.losses.tasks import Task
from cutaway.data.tables.cells import Cells
from cutaway.data.tables.schema import Column, Schema
from cutaway.models.cells import CellNet
from cutaway.tasks.tables.masked_cells import scores_of
from cutaway.tasks.tables.predict import TablePrediction
from cutaway.tuning.learners.table import CellFeatures, cell_cost


def rows(count: int = 30) -> Cells:
    draw = np.random.default_rng(0)
    numbers, ids = draw.normal(size=(count, 2)).astype(np.float32), draw.integers(0, 3, (count, 1))
    return Cells(numbers, ids, draw.random((count, 3)) > 0.2, (numbers[:, 0] > 0).astype(np.int64))


def tuned() -> CellNet:
    torch.manual_seed(0)
    net = CellNet(inputs=(1, 1), bins=(3, 3), cardinalities=(3,), width=6, depth=1, cell=3, dropout=0.5)
    model = net.with_task(Task("binary"))
    nn.init.normal_(model.head.linear.weight)
    return model


def cell_metrics(model: CellNet, table: Cells, schema: Schema) -> dict[str, float]:
    task = TablePrediction(None)
    task.schema = schema
    return task.metrics(model.head, scores_of(model, table), table)


def test_the_cost_is_the_loss_and_the_pull_of_the_heads_weights():
    model, table = tuned().eval(), rows()
    some = np.array([3, 7, 11])
    logits = scores_of(model, table)[some, 0]
    want = nn.functional.binary_cross_entropy_with_logits(logits, torch.from_numpy(table.targets[some]).float())
    want = want + 0.25 / 2 * model.head.linear.weight.square().sum()
    torch.testing.assert_close(cell_cost(model, some, table, penalty=0.25), want)


def test_kept_features_are_those_of_evaluation():
    model, table = tuned().train(), rows()
    kept = CellFeatures(model, table)
    assert model.training  # it was put into evaluation and back
    some = np.arange(5)
    torch.testing.assert_close(cell_cost(model, some, kept), cell_cost(model.eval(), some, table))


def test_metrics_are_those_of_the_task():
    model, table = tuned().eval(), rows()
    schema = Schema((), (Column("y", "category"),), "binary", labels=("no", "yes"))
    found = cell_metrics(model, table, schema)
    right = (scores_of(model, table)[:, 0].numpy() >= 0) == table.targets
    assert found["accuracy"] == right.mean()
    values = Schema((), (Column("y", "number", mean=3.0, std=2.0),), "regression")
    net = model.with_task(Task("regression"))
    table = table._replace(targets=table.numbers[:, 1])
    found = cell_metrics(net, table, values)
    assert np.isclose(found["rmse"], 2 * np.sqrt((table.numbers[:, 1] ** 2).mean()), rtol=1e-5)  # a head of 0 says 0
