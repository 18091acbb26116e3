"""Callbacks: five moments, kept in checkpoints; early stopping; averages of weights."""

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from little import Net, little_loop, same
from torch import Tensor

from cutaway.training.callbacks import Averaging, Callback, EarlyStopping
from cutaway.training.run_folder.checkpoints import latest_checkpoint
from cutaway.training.run_folder.folder import RunFolder
from cutaway.training.run_folder.weights import read_tensors


class Diary(Callback):
    """An own callback: it notes its moments, keeps a count and a tensor, and ends the run at a step."""

    def __init__(self, until: int = 10**9) -> None:
        self.until, self.moments, self.count, self.last = until, [], 0, torch.zeros(1)

    def start(self, loop: Any) -> None:
        self.moments.append("start")

    def step(self, loop: Any, metrics: dict[str, float]) -> None:
        self.moments.append(f"step {loop.step}")
        self.count += 1
        self.last = torch.tensor([metrics["loss"]])
        if loop.step >= self.until:
            loop.stop("enough")

    def evaluate(self, loop: Any, metrics: dict[str, float]) -> None:
        self.moments.append(f"evaluate {loop.step}")
        assert set(metrics) == {"loss"}

    def checkpoint(self, loop: Any) -> None:
        self.moments.append(f"checkpoint {loop.step}")

    def end(self, loop: Any) -> None:
        self.moments.append(f"end {loop.finished}")

    def state(self) -> dict[str, Any]:
        return {"count": self.count}

    def tensors(self) -> dict[str, Tensor]:
        return {"last": self.last}

    def restore(self, state: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        self.count, self.last = state["count"], tensors["last"]
        self.moments.append("restore")


def test_an_own_callback_sees_five_moments():
    diary = Diary()
    little_loop(callbacks=[diary], steps=4, evaluate_every=2, checkpoint_every=3).run()
    # no folder, so no checkpoints
    assert diary.moments == (
        ["start", "evaluate 0", "step 1", "step 2", "evaluate 2", "step 3", "step 4", "evaluate 4", "end True"]
    )


def test_an_own_callback_is_kept_in_checkpoints(tmp_path: Path):
    folder = RunFolder.create(tmp_path / "run")
    first = Diary()
    little_loop(folder, [first, Diary(until=5)], steps=9, evaluate_every=100).run()
    assert first.moments[-4:] == ["step 5", "evaluate 5", "checkpoint 5", "end True"]
    again, other, new = Diary(), Diary(), EarlyStopping(3)
    loop = little_loop(folder, [again, other, new], steps=9, evaluate_every=100)
    loop.run(resume=True)
    assert again.moments == ["start", "restore", "end True"]  # it was stopped for good
    assert (again.count, other.count, new.waited) == (5, 5, 0)
    assert torch.equal(again.last, first.last)
    assert loop.why_stopped == "enough"


def test_the_end_comes_even_if_the_run_fails():
    class Fails(Callback):
        def step(self, loop: Any, metrics: dict[str, float]) -> None:
            raise RuntimeError("own fault")

    diary = Diary()
    with pytest.raises(RuntimeError, match="own fault"):
        little_loop(callbacks=[diary, Fails()]).run()
    assert diary.moments == ["start", "evaluate 0", "step 1", "end False"]


def told(stopping: EarlyStopping, *scores: float) -> list[str]:
    why: list[str] = []
    loop: Any = SimpleNamespace(stop=why.append)
    for score in scores:
        stopping.evaluate(loop, {"loss": score})
    return why


def test_early_stopping_waits_for_so_many_evaluations():
    assert told(EarlyStopping(2), 3.0, 2.0, 2.5) == []
    assert told(EarlyStopping(2), 3.0, 2.0, 2.5, 1.9, 2.0) == []  # it got better in between
    assert told(EarlyStopping(2), 3.0, 2.0, 2.0, 2.5) == ["validation loss has not got better for 2 evaluations"]
    assert told(EarlyStopping(1), 3.0, math.nan) == ["validation loss has not got better for 1 evaluations"]


def test_early_stopping_remembers_how_long_it_waited():
    first = EarlyStopping(2)
    told(first, 3.0, 2.0, 2.5)
    second = EarlyStopping(2)
    second.restore(first.state(), {})
    assert told(second, 2.2) == ["validation loss has not got better for 2 evaluations"]
    fresh = EarlyStopping(2)
    fresh.restore(EarlyStopping(2).state(), {})
    assert told(fresh, 10.0) == []


def test_a_run_that_stops_early_says_so_and_keeps_its_best(tmp_path: Path):
    scores = iter([3.0, 2.0, 2.5, 2.6, 1.0])
    folder = RunFolder.create(tmp_path / "run")
    seen: dict[int, dict[str, Tensor]] = {}

    class Watch(Callback):
        def step(self, loop: Any, metrics: dict[str, float]) -> None:
            seen[loop.step] = {k: v.clone() for k, v in loop.model.state_dict().items()}

    loop = little_loop(folder, [EarlyStopping(2), Watch()], evaluate_every=2)
    loop.job.evaluate = lambda model: {"loss": next(scores)}
    loop.run()
    assert loop.step == 6  # evaluated at 0, 2 (best), 4, 6
    assert loop.why_stopped == "validation loss has not got better for 2 evaluations"
    assert loop.best == (2.0, 2)
    assert same(dict(loop.evaluated.state_dict()), seen[2])
    assert latest_checkpoint(folder.path) == folder.path / "state" / "step-6"


def test_patience_must_be_above_zero():
    with pytest.raises(ValueError, match="patience must be above 0, got 0; try patience=5"):
        EarlyStopping(0)


def test_the_average_is_that_of_its_equation():
    """θ̄ ← γ θ̄ + (1 − γ) θ with γ = min(decay, (1 + t) / (10 + t)), written out."""
    history: list[dict[str, Tensor]] = []

    class Watch(Callback):
        def start(self, loop: Any) -> None:
            history.append({k: v.detach().clone().double() for k, v in loop.model.named_parameters()})

        step = lambda self, loop, metrics: self.start(loop)

    averaging = Averaging(0.3)
    loop = little_loop(callbacks=[averaging, Watch()], steps=6, final="last")
    loop.run()
    mean = history[0]
    for t, now in enumerate(history[1:], 1):
        gamma = min(0.3, (1 + t) / (10 + t))
        mean = {k: gamma * mean[k] + (1 - gamma) * now[k] for k in mean}
    assert averaging.average is not None
    for name, p in averaging.average.named_parameters():
        torch.testing.assert_close(p.double(), mean[name], rtol=1e-5, atol=1e-7)
    assert loop.evaluated is averaging.average
    assert not same(dict(loop.model.state_dict()), dict(loop.evaluated.state_dict()))


def test_the_average_is_what_is_evaluated():
    asked: list[torch.nn.Module] = []
    averaging = Averaging(0.9)
    loop = little_loop(callbacks=[averaging])
    loop.job.evaluate = lambda model: asked.append(model) or {"loss": 1.0}
    loop.run()
    assert asked
    assert all(model is averaging.average for model in asked)


def test_running_statistics_are_averaged_like_weights():
    """The same equation; what does not change stays exact, also −∞, and counts are taken as they are."""

    class Normed(Net):
        def __init__(self) -> None:
            super().__init__()
            self.norm = torch.nn.BatchNorm1d(3)
            self.register_buffer("mask", torch.tensor([0.1, -torch.inf]))

        def forward(self, x: Tensor) -> Tensor:
            return super().forward(self.norm(x))

    history: list[Tensor] = []

    class Watch(Callback):
        def start(self, loop: Any) -> None:
            history.append(loop.model.norm.running_mean.clone().double())

        step = lambda self, loop, metrics: self.start(loop)

    from little import little_job

    averaging = Averaging(0.6)
    loop = little_loop(callbacks=[averaging, Watch()], job=little_job(Normed()), final="last")
    loop.run()
    mean = history[0]
    for t, now in enumerate(history[1:], 1):
        gamma = min(0.6, (1 + t) / (10 + t))
        mean = gamma * mean + (1 - gamma) * now
    found: Any = averaging.average
    torch.testing.assert_close(found.norm.running_mean.double(), mean, rtol=1e-5, atol=1e-7)
    assert not torch.equal(found.norm.running_mean, loop.model.norm.running_mean)
    assert found.norm.num_batches_tracked == loop.model.norm.num_batches_tracked == 12
    assert torch.equal(found.mask, loop.model.mask)


def test_an_average_goes_on_from_a_checkpoint(tmp_path: Path):
    results = []
    for cuts in ([], [5]):
        folder = RunFolder.create(tmp_path / f"run{len(cuts)}")
        for until in cuts:
            with pytest.raises(KeyboardInterrupt):
                little_loop(folder, [Averaging(0.9), Interrupt(until)]).run()
        little_loop(folder, [Averaging(0.9)]).run(resume=bool(cuts))
        latest = latest_checkpoint(folder.path)
        assert latest is not None
        results.append(read_tensors(latest / "callback-Averaging.safetensors"))
    assert same(*results)


class Interrupt(Callback):
    def __init__(self, at: int) -> None:
        self.at = at

    def step(self, loop: Any, metrics: dict[str, float]) -> None:
        if loop.step == self.at:
            raise KeyboardInterrupt


@pytest.mark.parametrize("decay", [0.0, 1.0])
def test_the_decay_must_be_between_zero_and_one(decay: float):
    with pytest.raises(ValueError, match=f"ema must be between 0 and 1, got {decay}; try ema=0.999"):
        Averaging(decay)
