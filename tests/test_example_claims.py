"""What an example says, put to the test: that the heads which it finds are the ones that do the work."""

import math
import runpy
from pathlib import Path

import pytest
import torch

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)])
def test_the_induction_circuit_forms_and_breaks(seed: int):
    example = runpy.run_path(str(EXAMPLES / "induction_head.py"))
    model = example["train"](steps=300, seed=seed)
    whole, rows, _ = example["knock_out_each"](model)
    assert whole < 0.5  # a guess costs log 32 = 3.47; who knows the tokens used up in a period, still above log 16
    best = {name: max(rows, key=lambda row: row[name]) for name in ("induction", "previous")}
    assert best["induction"]["layer"] == 1
    assert best["induction"]["induction"] > 0.5
    assert best["previous"]["layer"] == 0
    assert best["previous"]["previous"] > 0.3
    for row in best.values():
        assert row["loss"] > 3 * whole
    # no head of the first layer can do it: what it would look for is not written yet
    assert max(row["induction"] for row in rows if row["layer"] == 0) < 0.2


def test_before_training_there_is_no_such_head():
    example = runpy.run_path(str(EXAMPLES / "induction_head.py"))
    whole, rows, _ = example["knock_out_each"](example["train"](steps=0, seed=0))
    assert whole == pytest.approx(math.log(32), abs=0.3)
    assert max(row["induction"] for row in rows) < 0.2


def test_the_sequences_can_be_known_where_the_example_says():
    torch.manual_seed(0)
    tokens, known = runpy.run_path(str(EXAMPLES / "induction_head.py"))["repeated"](64)
    for row, mask in zip(tokens.tolist(), known.tolist()):
        for t, can in enumerate(mask, start=1):
            assert (row[t] in row[:t]) == can  # before the first period is over, all tokens are new
