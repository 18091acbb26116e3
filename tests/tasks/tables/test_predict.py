"""Rows into a model and back out."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from tabular import INPUTS, little_frame, little_table

from cutaway.blocks import Head, Task
from cutaway.data import read_table
from cutaway.data.tables.schema import Column, Schema
from cutaway.models import TableNet
from cutaway.tasks.tables import rows
from cutaway.tasks.tables.predict import describe, encode_rows, read_rows
from cutaway.tasks.tables.rows import RowBatches, outputs_of, row_cost


def test_a_batch_as_large_as_the_table_is_the_table(tmp_path: Path):
    table = read_table(little_table(tmp_path, "sold")).train
    whole = RowBatches(table, len(table.numbers), seed=3)
    assert whole.at(0) is table
    assert whole.at(7) is table
    part = RowBatches(table, 5, seed=3).at(0)
    assert part.numbers.shape == (5, table.numbers.shape[1])


def test_two_processes_share_a_batch_of_all_rows(tmp_path: Path):
    table = read_table(little_table(tmp_path, "sold", rows=50)).train
    halves = [RowBatches(table, 40, seed=3, rank=rank, world=2).at(0).numbers for rank in (0, 1)]
    assert [len(half) for half in halves] == [20, 20]
    seen = np.concatenate(halves)
    assert sorted(seen[:, 0]) == sorted(table.numbers[:, 0])


def test_outputs_come_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    table = read_table(little_table(tmp_path, "sold")).train
    model = TableNet(task="binary", numbers=table.numbers.shape[1], cardinalities=(5, 4))
    whole = outputs_of(model, table)
    monkeypatch.setattr(rows, "_ROWS", 7)
    torch.testing.assert_close(outputs_of(model, table), whole)
    assert not whole.requires_grad


def test_cost_is_the_mean_loss_of_the_head(tmp_path: Path):
    table = read_table(little_table(tmp_path, "grade")).train
    model = TableNet(task="multi-class", outputs=3, numbers=table.numbers.shape[1], cardinalities=(5, 4))
    peer = torch.nn.functional.cross_entropy(outputs_of(model, table), torch.from_numpy(table.targets))
    assert row_cost(model, table).item() == pytest.approx(peer.item(), rel=1e-6)


def test_gaps_where_training_had_none(tmp_path: Path):
    schema = read_table(little_table(tmp_path, "sold")).schema
    frame = little_frame(3)[INPUTS].assign(colour=[None, "mauve", "red"], shape=[None, "star", "round"])
    # colours had gaps (1) and never a mauve (0); shapes had no gaps, so that one is a 0 too
    red, round_ = 2 + sorted(["red", "green", "blue"]).index("red"), 2
    assert encode_rows(schema, frame).categories.tolist() == [[1, 0], [0, 0], [red, round_]]


def schema_for(task: str, *names: str, labels: tuple = ()) -> Schema:
    targets = tuple(Column(name, "number", mean=10.0, std=2.0) for name in names)
    return Schema((Column("x", "number"),), targets, task, labels)


def test_described_by_hand():
    number = describe(schema_for("regression", "y"), Head(1, Task("regression")), torch.tensor([[0.5], [-1.0]]))
    assert number.to_dict("list") == {"y": [11.0, 8.0]}
    several = describe(schema_for("regression", "y", "z"), Head(1, Task("regression", 2)), torch.tensor([[0.5, 3.0]]))
    assert several.to_dict("list") == {"y": [11.0], "z": [16.0]}
    two = describe(schema_for("binary", "y", labels=("no", "yes")), Head(1, Task("binary")), torch.tensor([[0.0]]))
    assert two.to_dict("list") == {"y": ["yes"], "P(no)": [0.5], "P(yes)": [0.5]}
    # softmax with an output for each of two classes
    schema = schema_for("binary", "y", labels=(7, 9))
    both = describe(schema, Head(1, Task("multi-class", 2)), torch.tensor([[0.0, -1e4]]))
    assert both.to_dict("list") == {"y": [7], "P(7)": [1.0], "P(9)": [0.0]}
    labels = describe(
        schema_for("multi-label", "a", "b", labels=("a", "b")),
        Head(1, Task("multi-label", 2)),
        torch.tensor([[-1e4, 0.0]]),
    )
    assert labels.to_dict("list") == {"a": [False], "b": [True], "P(a)": [0.0], "P(b)": [0.5]}
    silent = describe(schema, Head(1, Task("multi-class", 2)), torch.tensor([[0.0, 1.0]]), probabilities=False)
    assert silent.to_dict("list") == {"y": [9]}


def test_labels_keep_their_type():
    for labels in ((False, True), (0, 1), (0.5, 1.5), ("0", "1")):
        schema = schema_for("binary", "y", labels=labels)
        found = describe(schema, Head(1, Task("binary")), torch.tensor([[-1.0], [1.0]]))
        assert [type(value) for value in found["y"].tolist()] == [type(label) for label in labels]


def test_no_rows_at_all():
    schema = schema_for("regression", "y")
    frame = read_rows(schema, [])
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == ["x"]
    assert len(encode_rows(schema, frame).numbers) == 0
