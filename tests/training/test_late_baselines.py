"""A baseline comes after the first step, is announced, stands in config.json, and once is enough."""

import json
from typing import Any

import pytest
from little import little_loop

import cutaway as cut
from cutaway.training.callbacks import Callback
from cutaway.training.late_baselines import LateBaseline, shown_baseline
from cutaway.training.progress import JsonLines, Lines

FOUND = {"rule": "the mean", "metrics": {"loss": 0.5}}


class Steps(Callback):
    def __init__(self, order: list[str]) -> None:
        self.order = order

    def step(self, loop: Any, metrics: dict[str, float]) -> None:
        self.order.append(f"step {loop.step}")

    def note(self, loop: Any, text: str) -> None:
        self.order.append(text)


def test_it_comes_once_after_the_first_step():
    order: list[str] = []
    late = LateBaseline(lambda: order.append("measured") or FOUND)
    loop = little_loop(None, [Steps(order), late], steps=3)
    loop.run()
    assert order == [
        "step 1",
        "baseline: measuring what is reached without the model, once",
        "measured",
        "baseline: loss 0.5000 (the mean)",
        "step 2",
        "step 3",
    ]
    assert loop.job.data["baseline"] == FOUND


def test_the_step_is_shown_before_whatever_the_order_of_callbacks():
    order: list[str] = []
    little_loop(None, [LateBaseline(lambda: order.append("measured") or {}), Steps(order)], steps=2).run()
    assert order[::2] == ["step 1", "measured"]
    order.clear()
    little_loop(None, [LateBaseline(lambda: order.append("measured") or {})], steps=1).run()
    assert order == ["measured"]


def test_what_was_measured_before_a_checkpoint_is_not_measured_again():
    late = LateBaseline(lambda: pytest.fail("measured again"))
    late.restore({"done": True}, {})
    little_loop(None, [late], steps=2).run()


def test_without_a_baseline_nothing_is_noted():
    loop = little_loop(None, [LateBaseline(dict)], steps=2)
    loop.run()
    assert "baseline" not in loop.job.data


@pytest.mark.parametrize("shown", [Lines, JsonLines])
def test_lines_and_json_tell_it(shown: type[Callback], capsys: pytest.CaptureFixture[str]):
    little_loop(None, [shown(), LateBaseline(lambda: FOUND)], steps=2).run()
    lines = capsys.readouterr().out.splitlines()
    if shown is JsonLines:
        notes = [json.loads(line) for line in lines if json.loads(line)["event"] == "note"]
        assert [note["text"] for note in notes][1] == "baseline: loss 0.5000 (the mean)"
    else:
        assert "baseline: loss 0.5000 (the mean)" in lines


def test_a_run_folder_has_it(tmp_path):
    import generative

    from cutaway.training.run_folder.folder import read_config

    data = generative.shapes_file(20)
    run = cut.train(
        "autoencoder", data=data, out=tmp_path / "run", **generative.SMALL, **generative.KINDS["autoencoder"]
    )
    noted = read_config(run.path)["data"]["baseline"]
    assert noted["rule"] == "3 principal components"
    assert run.about["data"]["baseline"] == noted


def test_figures_that_are_no_numbers_are_left_out():
    assert shown_baseline({"rule": "chance", "metrics": {"f1": 0.25, "note": "x"}}) == "f1 0.2500 (chance)"
