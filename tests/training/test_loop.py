"""The loop: the steps it takes, what it leaves alone, and going on from a checkpoint, bit for bit."""

import json
import os
import signal
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from little import Net, Points, little_job, little_loop, same, squared, timeless
from torch import Tensor, nn

from cutaway.checksums import write_checksums
from cutaway.training import loop as loops
from cutaway.training.callbacks import Averaging, Callback, EarlyStopping
from cutaway.training.loop import Loop
from cutaway.training.optimizers.schedules import Schedule
from cutaway.training.plans import Plan
from cutaway.training.run_folder.checkpoints import latest_checkpoint, read_state
from cutaway.training.run_folder.folder import RunFolder, read_metrics
from cutaway.training.run_folder.interrupts import Stopped
from cutaway.training.run_folder.weights import read_tensors


class Losses(Callback):
    """The loss of every step."""

    def __init__(self) -> None:
        self.seen: list[float] = []

    def step(self, loop: Any, metrics: dict[str, float]) -> None:
        self.seen.append(metrics["loss"])


def kept(folder: RunFolder) -> dict[str, dict[str, Tensor]]:
    latest = latest_checkpoint(folder.path)
    assert latest is not None
    return {path.stem: read_tensors(path) for path in latest.glob("*.safetensors")}


def test_plain_descent_by_hand():
    """θ ← θ − η (1 − t/T) ∇: written out beside the loop."""
    model = Net(dropout=0.0)
    job = little_job(model)
    twin = Net(dropout=0.0)
    twin.load_state_dict(model.state_dict())
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    Loop(job, [sgd], Plan(Schedule(5), final="last")).run()
    for t in range(5):
        gradients = torch.autograd.grad(squared(twin, Points().at(t)), list(twin.parameters()))
        with torch.no_grad():
            for p, g in zip(twin.parameters(), gradients, strict=True):
                p -= 0.1 * (1 - t / 5) * g
    for name, p in twin.named_parameters():
        torch.testing.assert_close(model.get_parameter(name), p)


def test_summing_batches_is_one_large_batch():
    class Joined(Points):
        def at(self, step: int) -> tuple[Tensor, Tensor]:
            parts = [Points().at(4 * step + i) for i in range(4)]
            return torch.cat([x for x, _ in parts]), torch.cat([y for _, y in parts])

    losses, ends = [], []
    for batches, accumulate in ((Points(), 4), (Joined(), 1)):
        torch.manual_seed(0)
        job = little_job(Net(dropout=0.0), batches=batches)
        seen = Losses()
        little_loop(None, [seen], job, accumulate=accumulate, steps=5, final="last").run()
        losses.append(seen.seen)
        ends.append(job.model.state_dict())
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    for name in ends[0]:
        torch.testing.assert_close(ends[0][name], ends[1][name], rtol=1e-4, atol=1e-6)


def test_a_growing_batch_takes_every_batch_once():
    job = little_job()
    little_loop(None, (), job, steps=6, growth=4).run()
    assert job.batches.taken == list(range(2 * 1 + 2 * 2 + 2 * 4))


def test_the_gradient_is_clipped_to_a_length():
    lengths: list[float] = []

    class Watch(torch.optim.SGD):
        def step(self, closure: Any = None) -> Any:
            grads = [p.grad for group in self.param_groups for p in group["params"]]
            lengths.append(torch.cat([g.flatten() for g in grads]).norm().item())
            return super().step(closure)

    job = little_job()
    loop = Loop(job, [Watch(job.model.parameters(), lr=0.01)], Plan(Schedule(3), clip=0.05))
    loop.run()
    assert lengths == pytest.approx([0.05] * 3, rel=1e-4)
    assert loop.metrics["gradient_norm"] > 0.05  # told as it was


def test_evaluating_and_sampling_do_not_move_training():
    """Both draw random numbers here, and both switch the model to evaluation, where nothing is dropped."""

    def noisy(model: nn.Module) -> dict[str, float]:
        assert not model.training
        assert not torch.is_grad_enabled()
        return {"loss": squared(model, Points().at(0)).item() + torch.rand(1).item() * 1e-9}

    class Draws(Callback):
        def step(self, loop: Any, metrics: dict[str, float]) -> None:
            torch.rand(3)

    runs = []
    for every, more in ((1, [Draws()]), (1000, [])):
        seen = Losses()
        job = little_job(evaluate=noisy, samples=lambda m: {"text": str(torch.rand(1))})
        little_loop(None, [seen, *more], job, evaluate_every=every, final="last").run()
        runs.append((seen.seen, job.model.state_dict()))
    assert runs[0][0] == runs[1][0]
    assert same(runs[0][1], runs[1][1])


def test_modes_are_afterwards_what_they_were():
    """A frozen part that was set to evaluation stays so."""
    job = little_job()
    loop = little_loop(None, (), job)
    job.model.train()
    job.model.drop.eval()
    loop.run()
    assert job.model.training
    assert not job.model.drop.training


def test_the_log_holds_means_of_training_and_every_evaluation(tmp_path: Path):
    seen = Losses()
    folder = RunFolder.create(tmp_path / "run")
    little_loop(folder, [seen], steps=5, log_every=2, evaluate_every=4).run()
    rows = read_metrics(folder.path)
    assert [(row["step"], row["split"]) for row in rows] == [
        (0, "validation"),
        (2, "train"),
        (4, "train"),
        (4, "validation"),
        (5, "train"),
        (5, "validation"),
    ]
    means = [row["loss"] for row in rows if row["split"] == "train"]
    a, b, c, d, e = seen.seen
    assert means == [(a + b) / 2, (c + d) / 2, e]


def test_the_log_holds_the_rates_in_force_at_its_step(tmp_path: Path):
    """Of step n the rate is η (1 − (n − 1)/T), that of its optimizer, not a share and not a mean."""
    folder = RunFolder.create(tmp_path / "run")
    little_loop(folder, (), optimizer="muon", steps=5, log_every=2).run()  # rates 0.01 and 0.02
    rows = [row for row in read_metrics(folder.path) if row["split"] == "train"]
    assert [row["step"] for row in rows] == [2, 4, 5]
    assert [row["rate"] for row in rows] == pytest.approx([0.01 * (1 - n / 5) for n in (1, 3, 4)])
    assert [row["muon_rate"] for row in rows] == pytest.approx([0.02 * (1 - n / 5) for n in (1, 3, 4)])


def test_without_validation_the_last_weights_are_kept(tmp_path: Path):
    job = little_job(evaluate=lambda m: {})
    loop = little_loop(RunFolder.create(tmp_path / "run"), [EarlyStopping(100)], job)
    loop.run()
    assert loop.best is None
    assert loop.evaluated is job.model
    assert "best" not in kept(loop.folder)


@pytest.mark.parametrize("final", ["best", "last"])
def test_the_run_ends_with_the_best_weights_or_the_last(final: str):
    scores = iter([5.0, 1.0, 3.0, 4.0])
    seen: list[dict[str, Tensor]] = []

    def scored(model: nn.Module) -> dict[str, float]:
        seen.append({k: v.clone() for k, v in model.state_dict().items()})
        return {"loss": next(scores)}

    whole: list[dict[str, Tensor]] = []
    job = little_job(evaluate=scored, whole=lambda m: whole.append(dict(m.state_dict())) or {"loss": 0.5})
    loop = little_loop(None, (), job, steps=6, evaluate_every=2, final=final)
    loop.run()
    expected = seen[1] if final == "best" else seen[3]
    assert same(dict(loop.evaluated.state_dict()), expected)
    assert same(whole[0], expected)
    assert loop.metrics["whole_validation_loss"] == 0.5


def scored_loop(folder: RunFolder | None, rows: dict[int, dict[str, float]], *more: Callback, **job: Any) -> Loop:
    """A loop whose evaluations are written down: step → metrics."""
    final = job.pop("final", "best")
    made = little_loop(folder, more, little_job(**job), steps=max(rows), evaluate_every=4, final=final, keep=1)
    made.job.evaluate = lambda model: rows[made.step]
    return made


def accuracies(*values: float, loss: tuple[float, ...] = (1.0, 2.0, 3.0, 4.0)) -> dict[int, dict[str, float]]:
    """The same at every fourth step; the loss rises, as where training makes a model too sure."""
    return {4 * i: {"accuracy": value, "loss": loss[i]} for i, value in enumerate(values)}


COUNTS = {"better": "accuracy", "more_is_better": True}


@pytest.mark.parametrize(
    ("rows", "kept_step"),
    [
        (accuracies(0.78, 0.80, 0.82, 0.81), 8),  # though the loss was least at the start
        (accuracies(0.5, 0.8, 0.8, 0.8, loss=(9.0, 3.0, 1.0, 2.0)), 8),  # equal ones: the least loss
        (accuracies(0.5, 0.8, 0.8, 0.7, loss=(9.0, 2.0, 2.0, 1.0)), 4),  # all equal: the first
    ],
)
def test_the_figure_chooses_the_weights_and_the_loss_among_equals(rows: dict[int, dict[str, float]], kept_step: int):
    loop = scored_loop(None, rows, **COUNTS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loop.run()
    assert loop.best == (rows[kept_step]["accuracy"], kept_step)


def test_a_run_never_ends_at_its_start_unasked_and_warns_if_that_was_best():
    loop = scored_loop(None, accuracies(0.9, 0.7, 0.8), **COUNTS)
    told = (
        r"^training did not help: on validation the weights before the first step were best \(accuracy 0\.9\), and the "
        r"run keeps those of step 8 \(accuracy 0\.8\); try a lower --rate"
    )
    with pytest.warns(UserWarning, match=told):
        loop.run()
    assert loop.best == (0.8, 8)


def test_equal_to_the_start_but_less_sure_of_it_is_told_with_both_losses():
    with pytest.warns(UserWarning, match=r"best \(accuracy 0\.9, loss 1\), .* step 4 \(accuracy 0\.9, loss 2\)"):
        scored_loop(None, accuracies(0.9, 0.9, 0.8), **COUNTS).run()


def test_a_start_that_was_fitted_may_be_the_result_and_is_told(tmp_path: Path):
    folder = RunFolder.create(tmp_path / "run")
    loop = scored_loop(folder, accuracies(0.9, 0.7, 0.8), start_counts=True, whole=lambda m: {"loss": 1.0}, **COUNTS)
    with pytest.warns(UserWarning, match=r"were best \(accuracy 0\.9\), and these weights are kept; try"):
        loop.run()
    assert loop.best == (0.9, 0)
    logged = read_metrics(folder.path)[-1]
    assert (logged["split"], logged["weights_of"], logged["start_was"]) == ("validation-whole", 0, 0.9)
    tied = scored_loop(None, accuracies(0.9, 0.9, 0.8), start_counts=True, **COUNTS)
    with pytest.warns(UserWarning, match="loss 2"):
        tied.run()
    assert tied.best == (0.9, 4)  # of equals, what was trained


def test_a_resumed_run_chooses_and_warns_as_one_that_was_never_broken(tmp_path: Path):
    rows = accuracies(0.9, 0.85, 0.7, 0.8)
    straight, broken = (RunFolder.create(tmp_path / name) for name in ("straight", "broken"))
    whole = {"whole": lambda m: {"loss": 0.5}}
    with pytest.warns(UserWarning, match="training did not help"):
        scored_loop(straight, rows, **COUNTS, **whole).run()
    with pytest.raises(ConnectionResetError):
        scored_loop(broken, rows, Interrupt(10), **COUNTS, **whole).run()
    again = scored_loop(broken, rows, **COUNTS, **whole)
    with pytest.warns(UserWarning, match=r"step 4 \(accuracy 0\.85\)"):
        again.run(resume=True)
    assert again.best == (0.85, 4)
    assert timeless(broken.path) == timeless(straight.path)
    assert kept(broken)["best"].keys() == kept(straight)["best"].keys()
    assert same(kept(broken)["best"], kept(straight)["best"])


def test_an_older_checkpoint_which_went_by_loss_goes_on_by_the_figure(tmp_path: Path):
    """Its best was the start, by loss; the figure there and then is read from the log."""
    folder = RunFolder.create(tmp_path / "run")
    rows = accuracies(0.6, 0.8, 0.7, 0.75)
    with pytest.raises(ConnectionResetError):
        scored_loop(folder, rows, Interrupt(10), start_counts=True).run()  # by loss
    latest = latest_checkpoint(folder.path)
    assert latest is not None
    state = json.loads((latest / "state.json").read_text())
    assert state["best"] == [1.0, 0]
    for name in ("best_by", "best_loss", "start", "last"):
        del state[name]
    (latest / "state.json").write_text(json.dumps(state))
    write_checksums(latest)
    again = scored_loop(folder, rows, **COUNTS)
    again.run(resume=True)
    assert again.best == (0.75, 12)  # the one of step 4 was not kept by loss
    assert again.start == (0.6, 1.0)


def test_a_resumed_run_remembers_its_best_weights(tmp_path: Path):
    """The best are those of step 4, which are in no other way left after step 12."""

    def loop(folder: RunFolder, *more: Callback) -> Loop:
        made = little_loop(folder, more, keep=1)
        made.job.evaluate = lambda model: {"loss": {0: 5.0, 4: 1.0, 8: 3.0, 12: 4.0}[made.step]}
        return made

    straight, broken = (RunFolder.create(tmp_path / name) for name in ("straight", "broken"))
    one, other = loop(straight), loop(broken, Interrupt(7))
    one.run()
    with pytest.raises(ConnectionResetError):
        other.run()
    other = loop(broken)
    other.run(resume=True)
    assert other.best == one.best == (1.0, 4)
    assert same(dict(one.evaluated.state_dict()), dict(other.evaluated.state_dict()))
    assert not same(dict(one.evaluated.state_dict()), kept(straight)["weights"])


def test_samples_are_written_at_every_evaluation(tmp_path: Path):
    folder = RunFolder.create(tmp_path / "run")
    loop = little_loop(folder, (), little_job(samples=lambda m: {"text.txt": "Hi"}), steps=5)
    loop.run()
    assert sorted(p.name for p in (folder.path / "samples").iterdir()) == ["step-4-text.txt", "step-5-text.txt"]
    assert loop.samples == {"text.txt": "Hi"}


class Interrupt(Callback):
    """Breaks the run off after a step, without a word, as a crash would."""

    def __init__(self, at: int) -> None:
        self.at = at

    def step(self, loop: Any, metrics: dict[str, float]) -> None:
        if loop.step == self.at:
            raise ConnectionResetError


@pytest.mark.parametrize("optimizer", ["adamw", "muon", "momentum"])
@pytest.mark.parametrize("cut", [1, 3, 5, 10])
def test_a_broken_run_goes_on_bit_for_bit(cut: int, optimizer: str, tmp_path: Path):
    """Dropout, averages, clipping, summed batches, early stopping, a log out of step with the checkpoints."""

    def loop(folder: RunFolder, *more: Callback) -> Loop:
        own = [Averaging(0.9), EarlyStopping(50), *more]
        return little_loop(folder, own, optimizer=optimizer, accumulate=2, growth=2, clip=0.5, log_every=5)

    straight, broken = (RunFolder.create(tmp_path / name) for name in ("straight", "broken"))
    loop(straight).run()
    with pytest.raises(ConnectionResetError):
        loop(broken, Interrupt(cut)).run()
    broken.release()
    again = RunFolder(broken.path).hold()
    resumed = loop(again)
    resumed.run(resume=True)
    assert resumed.step == 12
    for name, tensors in kept(straight).items():
        assert same(tensors, kept(again)[name]), name
    assert timeless(straight.path) == timeless(again.path)
    states = [read_state(f.path / "state" / "step-12") for f in (straight, again)]
    for state in states:
        del state["seconds"], state["metrics_bytes"]  # times, and the digits that they take
    assert states[0] == states[1]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_saves_a_checkpoint_and_says_how_to_go_on(number: int, tmp_path: Path):
    class Press(Callback):
        def step(self, loop: Any, metrics: dict[str, float]) -> None:
            if loop.step == 5:
                os.kill(os.getpid(), number)

    straight, stopped = (RunFolder.create(tmp_path / name) for name in ("straight", "stopped"))
    little_loop(straight).run()
    with pytest.raises(Stopped, match="stopped after step 5 of 12") as stop:
        little_loop(stopped, [Press()]).run()
    assert stop.value.code == 128 + number
    assert latest_checkpoint(stopped.path) == stopped.path / "state" / "step-5"
    little_loop(stopped).run(resume=True)
    assert timeless(straight.path) == timeless(stopped.path)
    assert same(kept(straight)["weights"], kept(stopped)["weights"])


def test_ctrl_c_at_the_last_step_ends_the_run_as_usual(tmp_path: Path):
    class Press(Callback):
        def step(self, loop: Any, metrics: dict[str, float]) -> None:
            if loop.step == loop.steps:
                os.kill(os.getpid(), signal.SIGINT)

    loop = little_loop(RunFolder.create(tmp_path / "run"), [Press()])
    loop.run()
    assert loop.finished


def test_half_precision_covers_the_objective_and_nothing_else(monkeypatch: pytest.MonkeyPatch):
    """On the CPU of this machine it is only noted: products in bfloat16 are for devices that have units for them."""
    inside: list[bool] = []
    opened: list[tuple[str, torch.dtype]] = []

    class Note:
        def __init__(self, kind: str, dtype: torch.dtype) -> None:
            opened.append((kind, dtype))

        def __enter__(self) -> None:
            inside.append(True)

        def __exit__(self, *_: object) -> None:
            inside.pop()

    monkeypatch.setattr(loops.torch, "autocast", Note)

    def cost(model: nn.Module, batch: Any) -> Tensor:
        assert inside
        return squared(model, batch)

    def scored(model: nn.Module) -> dict[str, float]:
        assert not inside
        return {"loss": 1.0}

    little_loop(None, (), little_job(objective=cost, evaluate=scored), steps=2, precision=torch.bfloat16).run()
    assert opened == [("cpu", torch.bfloat16)] * 2


@pytest.mark.untyped
def test_a_compiled_model_trains_alike_and_has_the_same_names(tmp_path: Path):
    ends = []
    for compiled in (False, True):
        torch.manual_seed(0)
        job = little_job(Net(dropout=0.0))
        if compiled:
            job.model.compile(backend="aot_eager")
        folder = RunFolder.create(tmp_path / str(compiled))
        little_loop(folder, [Averaging(0.9)], job, steps=4).run()
        ends.append(kept(folder)["weights"])
    assert ends[0].keys() == ends[1].keys()
    for name in ends[0]:
        torch.testing.assert_close(ends[0][name], ends[1][name])
