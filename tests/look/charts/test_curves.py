"""Curves: what is drawn is what was logged."""

import math

import pytest
from look.rendered import expect_drawn, rows_of, words_of

from cutaway.look import curves


def run(rows: int) -> list[dict]:
    train = [{"step": 10 * i, "split": "train", "loss": 4 / i, "seconds": 0.5 * i} for i in range(1, rows + 1)]
    return [
        {"step": 0, "split": "validation", "loss": 4.5},
        *train,
        {"step": 10 * rows, "split": "validation", "loss": 1.0},
    ]


def test_by_step_and_by_seconds():
    metrics = run(5)
    for by, ends in (("step", [0, 50]), ("seconds", [0.0, 2.5])):
        picture = curves(metrics, by=by)
        rows = rows_of(picture)
        assert [r["at"] for r in rows if r["split"] == "validation"] == ends
        assert [r["value"] for r in rows if r["split"] == "training"] == [4.0, 2.0, 1.33333, 1.0, 0.8]
        expect_drawn(picture)
    assert "time spent training (s)" in words_of(picture)


def test_few_rows_are_not_smoothed_many_are():
    assert {r["layer"] for r in rows_of(curves(run(19)))} == {"line"}
    picture = curves(run(60))
    assert {r["layer"] for r in rows_of(picture) if r["split"] == "training"} == {"raw", "line"}
    assert {r["layer"] for r in rows_of(picture) if r["split"] == "validation"} == {"line"}
    assert "mean over about 3 rows" in picture.note
    assert {r["layer"] for r in rows_of(curves(run(60), smooth=1))} == {"line"}


def test_axis_names_units_and_words():
    picture = curves(run(3), unit="nats a token")
    assert "loss (nats a token)" in words_of(picture)
    assert {"training", "validation", "Loss by step"} <= set(words_of(picture))
    assert picture.alt == (
        "Line chart of loss by step: training from 4 at step 10 to 1.333 at step 30, lowest 1.333; "
        "validation from 4.5 at step 0 to 1 at step 30, lowest 1."
    )


def test_a_log_axis_has_other_ticks():
    assert words_of(curves(run(5), log=True)) != words_of(curves(run(5)))
    with pytest.raises(ValueError, match="a log axis needs values above 0, got loss=-2; use log=False"):
        curves([{"step": 1, "loss": 3.0}, {"step": 2, "loss": -2.0}], log=True)


@pytest.mark.parametrize("broken", [None, math.nan, math.inf])
def test_gaps_are_left_and_named(broken: float | None):
    metrics = run(5)
    metrics[3]["loss"] = broken
    picture = curves(metrics)
    assert [r["value"] for r in rows_of(picture) if r["split"] == "training"][2] is None
    assert picture.note == "In 1 row, first at step 30, loss is not a finite number."
    expect_drawn(picture)


@pytest.mark.parametrize("log", [False, True])
def test_one_row_is_drawn_at_its_value(log: bool):
    picture = curves([{"step": 50, "split": "train", "loss": 2.0}], log=log)
    expect_drawn(picture, colours=4)
    assert any(word.startswith("2") for word in words_of(picture))


def test_long_runs_are_thinned_but_keep_their_spikes():
    metrics = [{"step": i, "split": "train", "loss": 2.0 + 0.001 * (i % 7)} for i in range(20_000)]
    metrics[12_345]["loss"] = 99.0
    rows = rows_of(curves(metrics))
    assert len(rows) < 2_100
    assert max(r["value"] for r in rows) == 99.0


def test_other_metrics():
    picture = curves([{"step": 1, "split": "train", "gradient_norm": 0.5, "loss": 1.0}], "gradient_norm")
    assert picture.title == "Gradient norm by step"
    assert [r["value"] for r in rows_of(picture)] == [0.5]


def test_messages():
    with pytest.raises(ValueError, match="at least one row with a finite 'loss', got 0 rows; train for a step first"):
        curves([])
    with pytest.raises(ValueError, match=r"a finite 'loss', got 1 rows with accuracy; .* name another metric"):
        curves([{"step": 1, "accuracy": 1.0}])
    with pytest.raises(ValueError, match="a curve by seconds needs rows that hold 'seconds', got none; use by='step'"):
        curves([{"step": 1, "loss": 1.0}], by="seconds")
    with pytest.raises(ValueError, match="smooth must be 1 row or more, got 0"):
        curves(run(3), smooth=0)


@pytest.mark.untyped
def test_unknown_axis():
    with pytest.raises(ValueError, match="by must be step or seconds, got 'epoch'; pick one of these"):
        curves(run(3), by="epoch")
