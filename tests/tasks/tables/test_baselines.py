"""The constant answer that a model must beat."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tabular import QUICK

from cutaway.blocks import Head, Task
from cutaway.data import read_table
from cutaway.runs.execution import load, train
from cutaway.tasks.tables.baselines import baseline_metric, constant_baseline, score


def rare(rows: int = 200) -> pd.DataFrame:
    """One row of twenty is a fault."""
    draw = np.random.default_rng(0)
    return pd.DataFrame({"x": draw.normal(size=rows).round(3), "fault": np.where(np.arange(rows) % 20, "no", "yes")})


def test_classes_by_hand():
    table = read_table(rare(), validation=0, test=0)
    assert table.schema.counts == (190, 10)
    found = constant_baseline(Head(1, Task("binary")), table.schema, table.train)
    assert found["rule"] == "always no, the most frequent in training"
    assert found["metrics"] == {
        "accuracy": 0.95,
        "balanced_accuracy": 0.5,
        "macro_f1": pytest.approx((2 * 190 / 390) / 2),
    }
    assert baseline_metric(Head(1, Task("binary")), table.schema, table.train) == {"baseline_accuracy": 0.95}


def test_numbers_by_hand():
    frame = pd.DataFrame({"x": np.arange(30) % 7, "y": np.arange(30) * 1.5})
    table = read_table(frame, validation=0, test=0)
    found = constant_baseline(Head(1, Task("regression")), table.schema, table.train)
    assert found["rule"] == "the mean of the training rows"
    assert found["metrics"]["r2"] == pytest.approx(0, abs=1e-6)
    assert found["metrics"]["rmse"] == pytest.approx(frame["y"].std(ddof=0), rel=1e-6)
    assert baseline_metric(Head(1, Task("regression")), table.schema, table.train) == {}


def test_labels_by_hand():
    frame = pd.DataFrame({"x": np.arange(40) % 7, "often": np.arange(40) % 4 > 0, "seldom": np.arange(40) % 4 == 0})
    table = read_table(frame, target="often,seldom", validation=0, test=0)
    assert (table.schema.counts, table.schema.rows_counted) == ((30, 10), 40)
    found = constant_baseline(Head(1, Task("multi-label", 2)), table.schema, table.train)
    assert found["metrics"]["f1"] == 2 * 30 / (2 * 30 + 10 + 10)  # 30 right, 10 too many, 10 too few
    assert found["metrics"]["macro_f1"] == pytest.approx((60 / 70 + 0) / 2)


def test_it_stands_beside_the_figures_of_a_run(tmp_path: Path):
    rare().to_csv(tmp_path / "rare.csv", index=False)
    run = train("logistic", data=str(tmp_path / "rare.csv"), out=tmp_path / "run", **QUICK)
    assert run.about["data"]["baseline"]["rule"] == "always no, the most frequent in training"
    assert run.metrics[-1]["split"] == "validation-whole"
    assert run.metrics[-1]["baseline_accuracy"] == run.about["data"]["baseline"]["metrics"]["accuracy"]
    assert run.metrics[-1].keys() >= {"accuracy", "balanced_accuracy", "macro_f1"}
    assert load(tmp_path / "run").test()["baseline_accuracy"] == 0.95
    assert "always no, the most frequent in training" in (tmp_path / "run" / "report.html").read_text()


def test_runs_without_counts_have_none():
    """A schema.json of before."""
    from dataclasses import replace

    table = read_table(rare(), validation=0, test=0)
    old = replace(table.schema, counts=(), rows_counted=0)
    assert constant_baseline(Head(1, Task("binary")), old, table.train) == {"rule": "", "metrics": {}}


def test_metrics_without_a_value_are_left_out():
    import torch

    assert score(Head(1, Task("regression")), torch.tensor([1.0]), torch.tensor([2.0])) == {}
