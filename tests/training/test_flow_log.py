"""The flow in training: what it measures, that training does not notice, and that a resumed run logs the same."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from little import SETTINGS, Net, little_job, little_loop, little_text, same, squared, timeless, weights_of
from torch import Tensor

import cutaway as cut
from cutaway.training import Callback, FlowCallback, RunFolder, read_flow


def rms(x: Tensor) -> float:
    return x.double().square().mean().sqrt().item()


class Watch(Callback):
    """The weights before and after every step."""

    def __init__(self) -> None:
        self.history: list[dict[str, Tensor]] = []

    def start(self, loop: Any) -> None:
        self.history.append({k: v.detach().clone() for k, v in loop.model.named_parameters()})

    def step(self, loop: Any, metrics: dict[str, float]) -> None:
        self.start(loop)


def test_a_look_is_what_autograd_and_the_weights_say():
    watch, flow = Watch(), FlowCallback(every=3)
    job = little_job(Net(dropout=0.0))
    little_loop(callbacks=[flow, watch], job=job, steps=7, clip=1e-3).run()
    assert [row["step"] for row in flow.rows] == [1, 1, 3, 3, 6, 6]
    assert [row["layer"] for row in flow.rows[:2]] == ["inner", "outer"]
    for step in (1, 3, 6):
        before, after = watch.history[step - 1], watch.history[step]
        model = Net(dropout=0.0)
        model.load_state_dict(before)
        x, y = little_job().batches.at(step - 1)
        hidden = model.inner(x)
        out = model.outer(torch.tanh(hidden))
        cost = (out - y).square().mean()
        deltas = torch.autograd.grad(cost, [hidden, out], retain_graph=True)
        gradients = torch.autograd.grad(cost, list(model.parameters()))
        for i, (name, value) in enumerate((("inner", hidden), ("outer", out))):
            row = next(r for r in flow.rows if (r["step"], r["layer"]) == (step, name))
            own = {k: v for k, v in before.items() if k.startswith(name)}
            length = torch.cat([v.flatten() for v in own.values()]).norm().item()
            moved = torch.cat([(after[k] - v).flatten() for k, v in own.items()]).norm().item()
            assert (row["activation"], row["delta"]) == pytest.approx((rms(value), rms(deltas[i])), rel=1e-4)
            unclipped = torch.cat([g.flatten() for g in gradients[2 * i : 2 * i + 2]]).norm().item()
            assert row["gradient"] == pytest.approx(unclipped, rel=1e-4)
            assert (row["weight"], row["update"]) == pytest.approx((length, moved / length), rel=1e-4)


def test_training_does_not_notice():
    results = []
    for callbacks in ([], [FlowCallback(every=2)], [FlowCallback(1, "*")]):
        loop = little_loop(callbacks=callbacks, steps=9, accumulate=2)
        loop.run()
        results.append(dict(loop.model.state_dict()))
    assert same(results[0], results[1])
    assert same(results[0], results[2])


def test_nothing_hangs_on_the_model_between_looks():
    hooks: dict[int, int] = {}

    class Count(Callback):
        def before(self, loop: Any) -> None:
            hooks[loop.step + 1] = sum(len(module._forward_hooks) for module in loop.model.modules())

    little_loop(callbacks=[FlowCallback(every=4), Count()], steps=9).run()
    assert [step for step, count in hooks.items() if count] == [1, 4, 8]


class Interrupt(Callback):
    def __init__(self, at: int) -> None:
        self.at = at

    def step(self, loop: Any, metrics: dict[str, float]) -> None:
        if loop.step == self.at:
            raise KeyboardInterrupt


@pytest.mark.parametrize("cuts", [[1], [2, 7], [3, 8, 11]])
def test_a_resumed_run_ends_with_the_same_weights_and_log(tmp_path: Path, cuts: list[int]):
    """Checkpoints are at 3, 6, 9: looks after them are forgotten and made again."""
    results = []
    for name, until in (("whole", []), ("cut", cuts)):
        folder = RunFolder.create(tmp_path / name)
        for i, at in enumerate(until):
            with pytest.raises(KeyboardInterrupt):
                little_loop(folder, [FlowCallback(every=2), Interrupt(at)]).run(resume=i > 0)
        loop = little_loop(folder, [FlowCallback(every=2)])
        loop.run(resume=bool(until))
        results.append((dict(loop.model.state_dict()), read_flow(folder.path), timeless(folder.path)))
    assert same(results[0][0], results[1][0])
    assert results[0][1] == results[1][1]
    assert results[0][2] == results[1][2]
    assert [row["step"] for row in results[0][1][::2]] == [1, 2, 4, 6, 8, 10, 12]


def test_a_line_cut_short_by_a_crash(tmp_path: Path):
    folder = RunFolder.create(tmp_path / "run")
    with pytest.raises(KeyboardInterrupt):
        little_loop(folder, [FlowCallback(every=2), Interrupt(5)]).run()
    path = folder.path / "flow.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"step": 6, "lay')
    assert len(read_flow(folder.path)) == whole.count(b"\n")
    little_loop(folder, [FlowCallback(every=2)]).run(resume=True)
    assert [row["step"] for row in read_flow(folder.path)[::2]] == [1, 2, 4, 6, 8, 10, 12]


def test_a_run_without_a_checkpoint_starts_the_log_anew(tmp_path: Path):
    folder = RunFolder.create(tmp_path / "run")
    (folder.path / "flow.jsonl").write_text('{"step": 400, "layer": "old"}\n', encoding="utf-8")
    little_loop(folder, [FlowCallback(every=100)], steps=2).run()
    assert {row["step"] for row in read_flow(folder.path)} == {1}
    assert read_flow(tmp_path) == []


def test_what_cannot_be_measured_is_null(tmp_path: Path):
    folder = RunFolder.create(tmp_path / "run")
    job = little_job()
    job.model.inner.weight.data.zero_()
    job.model.inner.bias.data.zero_()
    little_loop(folder, [FlowCallback(every=100)], job=job, steps=1).run()
    row = read_flow(folder.path)[0]
    assert (row["activation"], row["weight"], row["update"]) == (0.0, 0.0, None)  # no share of nothing


def test_a_step_that_fails_lets_go_of_the_model():
    job = little_job(objective=lambda model, batch: squared(model, batch) * math.nan)
    with pytest.raises(FloatingPointError, match="at step 0 the loss is nan"):
        little_loop(callbacks=[FlowCallback(every=1)], job=job).run()
    assert not any(module._forward_hooks for module in job.model.modules())


def test_mistakes():
    with pytest.raises(ValueError, match="every must be above 0, got 0; try every=100"):
        FlowCallback(0)
    with pytest.raises(ValueError, match="a run keeps one flow, got two FlowCallbacks; leave one out, or use"):
        little_loop(callbacks=[FlowCallback(), FlowCallback()]).run()
    with pytest.raises(ValueError, match="got 'outr'; the nearest known are: outer"):
        little_loop(callbacks=[FlowCallback(addresses="outr")]).run()
    loop = little_loop(callbacks=[FlowCallback(7)])
    loop.processes.strategy = "fsdp"
    with pytest.raises(ValueError, match=r"needs whole weights, got every=7 with strategy=fsdp.*use --flow-every 0"):
        loop.run()


def test_only_the_first_process_looks(tmp_path: Path):
    folder = RunFolder.create(tmp_path / "run")
    flow = FlowCallback(1)
    loop = little_loop(folder, [flow], steps=2)
    loop.processes.is_first = False
    loop.run()
    assert flow.rows == []
    assert not (folder.path / "flow.jsonl").exists()


@pytest.mark.long
def test_a_recipe_with_flow_ends_the_same_and_reports_it(tmp_path: Path):
    text = little_text(tmp_path)
    runs = [
        cut.train("gpt", data=text, out=tmp_path / str(every), show="quiet", flow_every=every, **SETTINGS)
        for every in (0, 4)
    ]
    assert same(weights_of(runs[0].path), weights_of(runs[1].path))
    assert not (runs[0].path / "flow.jsonl").exists()
    lines = [json.loads(line) for line in (runs[1].path / "flow.jsonl").read_text(encoding="utf-8").splitlines()]
    assert sorted({line["step"] for line in lines}) == [1, 4, 8, 12]
    page = (runs[1].path / "report.html").read_text(encoding="utf-8")
    assert "Gradient flow: norm of δ by layer and step" in page
    assert "Gradient flow" not in (runs[0].path / "report.html").read_text(encoding="utf-8")


def test_the_setting_must_not_be_negative():
    with pytest.raises(ValueError, match="flow_every must be at least 0, got -1; try flow_every=0"):
        cut.recipes.find_recipe("gpt")(flow_every=-1)
