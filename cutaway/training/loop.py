r"""The training loop runs the steps of a run, one after another.

    for step in steps:
        g = Σ ∇ objective(model, batch) / accumulate
        clip g;  θ ← optimizer(θ, g, rate · schedule(step))
        now and then: evaluate, checkpoint

A run ends with the weights of its best evaluation (unless ``final="last"``). The rule is one for all tasks: the best by
the job's figure (accuracy for classes, loss for language …), and of several that are equal the one with the least
validation loss. Weights before the first step are not a result, but where the job fitted them (`Job.start_counts`: a
bag of words, a head alone), and then a tie goes to those that were trained. If no evaluation came up to the start, the
loop warns.

Batch n is a function of the seed and n alone, and random numbers come from a stream of the loop's own, so a run resumed
from a checkpoint ends with the same weights, bit for bit.
"""

import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from signal import SIGTERM
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from cutaway.training.adapters.freezing import hold_statistics
from cutaway.training.callbacks import Callback
from cutaway.training.failures import NotFinite, broken_parameter, report_failure
from cutaway.training.freed_memory import keep_freed_memory
from cutaway.training.jobs import Job
from cutaway.training.loop_state import restore_loop, save_loop
from cutaway.training.optimizers.groups import rates_of, set_rate
from cutaway.training.plans import Plan
from cutaway.training.processes.alone import Alone
from cutaway.training.progress import is_shown
from cutaway.training.random_stream import RandomStream
from cutaway.training.run_folder.folder import RunFolder
from cutaway.training.run_folder.interrupts import Stopped, StopSignals
from cutaway.waiting import telling_waits


class Loop:
    """Trains a job. ``model``, ``step``, ``metrics`` (the newest of each kind) and so on are for callbacks to see."""

    def __init__(
        self,
        job: Job,
        optimizers: list[Optimizer],
        plan: Plan,
        folder: RunFolder | None = None,
        callbacks: Sequence[Callback] = (),
        processes: Alone | None = None,
    ) -> None:
        self.job, self.optimizers, self.plan, self.folder = job, optimizers, plan, folder
        self.processes = Alone() if processes is None else processes
        self.model: nn.Module = job.model
        hold_statistics(self.model)
        self._called: nn.Module = self.processes.called or job.model  # in training
        self.evaluated: nn.Module = job.model  # the one that is evaluated and kept: an average, if someone makes it
        self.callbacks = _named(callbacks)
        self.step = 0
        self.taken = 0  # batches so far
        self.steps = plan.schedule.steps
        self.metrics: dict[str, float] = {}
        self.samples: dict[str, str] = {}
        self.best: tuple[float, int] | None = None  # figure and step
        self.best_loss = math.inf  # there, which breaks ties
        self.start: tuple[float, float] | None = None  # figure and loss before the first step
        self.last: tuple[float, int] | None = None  # figure and step of the newest evaluation
        self.last_loss = math.inf
        self.seconds = 0.0  # spent in optimizer steps alone
        self.why_stopped = ""
        self.finished = False
        self.best_weights: dict[str, Tensor] = {}
        self.sums: dict[str, float] = {}  # of metrics since the last line of the log
        self._parameters = [p for p in job.model.parameters() if p.requires_grad]
        self.device = self._parameters[0].device
        self.random = RandomStream(plan.seed + self.processes.rank, self.device)
        self._signals = StopSignals(announce=self.processes.is_first)

    def stop(self, why: str) -> None:
        """Ends the run after this step."""
        self.why_stopped = why

    def run(self, resume: bool = False) -> None:
        """All steps that are left, from the newest checkpoint on if ``resume``. Ctrl-C ends it after a checkpoint."""
        kept = restore_loop(self) if resume else {}
        with ExitStack() as stack:
            stack.enter_context(keep_freed_memory())
            for name, callback in self.callbacks.items():
                callback.start(self)
                stack.callback(callback.end, self)
                if name in kept:  # one that is new since the checkpoint starts fresh
                    callback.restore(*kept[name])
            if self.step == 0:
                self._evaluate()
            with self._signals:
                while self.step < self.steps and not self.why_stopped:
                    self._advance()
                    if self._folder_is_gone():
                        self._signals.received = SIGTERM
                    if (signal := self.processes.stop_signal(self._signals)) is not None:
                        self._stop_here(signal)
            self._finish()

    def _advance(self) -> None:
        for callback in self.callbacks.values():
            callback.before(self)
        started = time.perf_counter()
        count = self.plan.batches(self.step)
        try:
            with self.random:
                metrics = self._train_step(count)
        except NotFinite as broken:
            with self.random:  # as it stood before the step: the same dropout
                report_failure(self, str(broken), [self.job.batches.at(self.taken + i) for i in range(count)])
        self.seconds += time.perf_counter() - started
        self.step += 1
        self.taken += count
        self._log_training(metrics)
        for callback in self.callbacks.values():
            callback.step(self, metrics)
        self.why_stopped = self.processes.agree_to_stop(self.why_stopped, self._signals)
        if self.step % self.plan.evaluate_every == 0 or self._is_last():
            self._evaluate()
        if self.step % self.plan.checkpoint_every == 0 or self._is_last():
            self._checkpoint()

    def _folder_is_gone(self) -> bool:
        return self.folder is not None and self.folder.is_gone()

    def _is_last(self) -> bool:
        return self.step == self.steps or bool(self.why_stopped)

    def _train_step(self, count: int) -> dict[str, float]:
        """One step of the optimizers, on the mean gradient of ``count`` batches."""
        set_rate(self.optimizers, self.plan.schedule(self.step))
        if not self.model.training:
            self.model.train()
            hold_statistics(self.model)
        if self.job.update is not None:
            return self._own_step(self.job.update, count)
        loss = 0.0
        for batch in self._batches(count):
            for part, share in self._parts(batch):
                cost = self.cost(part, self._called) * share
                (cost / count).backward()
                loss += cost.item() / count
        loss, norm = self._expect_finite(loss)
        if self.plan.clip:
            nn.utils.clip_grads_with_norm_(self._parameters, self.plan.clip, norm, foreach=True)
        for optimizer in self.optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        return {"loss": loss, "gradient_norm": norm.item()} | rates_of(self.optimizers)

    def _own_step(self, update: Callable[[nn.Module, Any, float], dict[str, float]], count: int) -> dict[str, float]:
        """One step by the job's own rule, batch after batch; the means of what it measures."""
        share = self.plan.schedule(self.step)
        rows = [update(self.model, batch, share) for batch in self._batches(count)]
        metrics = {name: sum(row[name] for row in rows) / count for name in rows[0]}
        if not math.isfinite(metrics["loss"]):
            raise NotFinite(f"loss is {metrics['loss']}")
        return metrics

    def _parts(self, batch: Any) -> list[tuple[Any, float]]:
        return [(batch, 1.0)] if self.job.parts is None else self.job.parts(batch)

    def _batches(self, count: int) -> Iterator[Any]:
        """The next ``count`` batches."""
        numbers = range(self.taken, self.taken + count)
        return self.processes.batches_of_step(self.job.batches.at(n) for n in numbers)

    def _expect_finite(self, loss: float) -> tuple[float, Tensor]:
        """The loss and the length of the gradient, of all processes together, if both are finite."""
        loss = self.processes.mean(loss)
        if not math.isfinite(loss):
            raise NotFinite(f"loss is {loss}")
        norm = self.processes.norm([p.grad for p in self._parameters if p.grad is not None])
        if not math.isfinite(norm.item()):
            raise NotFinite(f"length of the gradient is {norm.item()}")
        return loss, norm

    def cost(self, batch: Any, model: nn.Module | None = None) -> Tensor:
        """The objective on one batch, in the plan's precision."""
        half: AbstractContextManager[Any] = nullcontext()
        if self.plan.precision is not None:
            half = torch.autocast(self.device.type, dtype=self.plan.precision)
        with half:
            return self.job.objective(self.model if model is None else model, batch)

    def _log_training(self, metrics: dict[str, float]) -> None:
        """Logs a line every few steps: the means over them, as single batches vary much, and the latest rates."""
        for name, value in (metrics | {"steps": 1}).items():
            self.sums[name] = self.sums.get(name, 0.0) + value
        if self.step % self.plan.log_every == 0 or self._is_last():
            steps = self.sums.pop("steps")
            row = {name: value / steps for name, value in self.sums.items()} | rates_of(self.optimizers)
            self.sums = {}
            self.metrics |= row
            self._log("train", row | {"seconds": round(self.seconds, 3)})

    def _score(self, measure: Callable[[nn.Module], Any]) -> Any:
        """The result of ``measure`` on the evaluated model, in evaluation mode."""
        modes = [(module, module.training) for module in self.evaluated.modules()]
        self.evaluated.eval()
        try:
            with torch.no_grad(), self.processes.unsharded(self.evaluated):
                return measure(self.evaluated)
        finally:
            for module, training in modes:
                module.training = training

    def _evaluate(self) -> None:
        metrics = self.processes.from_first(self._score(self.job.evaluate))
        if metrics:
            self._expect_finite_metrics(metrics)
            score, loss = metrics[self.job.better], metrics.get("loss", math.inf)
            self.last, self.last_loss = (score, self.step), loss
            self.start = (score, loss) if self.step == 0 else self.start
            if self._is_better(score, loss):
                self.best, self.best_loss = (score, self.step), loss
                if self.plan.final == "best":
                    state = self.evaluated.state_dict()
                    self.best_weights = {k: v.clone() for k, v in state.items() if k not in self.job.left_out}
            self.metrics |= {f"validation_{name}": value for name, value in metrics.items()}
            self._log("validation", metrics)
        if self.step:
            self.samples = self._score(self.job.samples)
            if self.folder is not None:
                self.folder.write_samples(self.step, self.samples)
        for callback in self.callbacks.values():
            callback.evaluate(self, metrics)
        self.why_stopped = self.processes.agree_to_stop(self.why_stopped, self._signals)

    def _expect_finite_metrics(self, metrics: dict[str, float]) -> None:
        for name in (self.job.better, "loss"):
            if not math.isfinite(metrics.get(name, 0.0)):
                again = lambda: self._score(self.job.evaluate)
                report_failure(self, f"validation {name} is {metrics[name]}", [], again)

    def _is_better(self, score: float, loss: float) -> bool:
        """Whether an evaluation is better than the best so far: by the figure, then by the loss."""
        if self.best is None:
            return True
        best, step = self.best
        if step == 0 and not self.job.start_counts:
            return True  # what was never trained only stands in until something is
        new, old = self._rank(score, loss), self._rank(best, self.best_loss)
        return new < old or (step == 0 and score == best)

    def _rank(self, score: float, loss: float) -> tuple[float, float]:
        """What orders evaluations, the best first."""
        return (-score if self.job.more_is_better else score, loss)

    def _warn_of_start(self) -> dict[str, float]:
        """Warns if the start was better than the weights that the run ends with; returns what to log of it."""
        kept, loss = (self.best, self.best_loss) if self.best_weights else (self.last, self.last_loss)
        if self.start is None or kept is None or not self.step:
            return {}
        figure, step = kept
        score, first_loss = self.start
        if step and self._rank(figure, loss) <= self._rank(score, first_loss):
            return {}
        name = self.job.better.replace("_", " ")
        before, after = f"{name} {score:.4g}", f"{name} {figure:.4g}"
        if score == figure and name != "loss" and step:
            before, after = f"{before}, loss {first_loss:.4g}", f"{after}, loss {loss:.4g}"
        told = "and these weights are kept" if step == 0 else f"and the run keeps those of step {step:,} ({after})"
        if self.processes.is_first:
            warnings.warn(
                f"training did not help: on validation the weights before the first step were best ({before}), {told}; "
                f"try a lower --rate, {'fewer steps' if self.step > 1 else 'more steps'}, or more examples to "
                "learn from and to evaluate on",
                stacklevel=2,
            )
        return {"start_was": score}

    def _log(self, split: str, metrics: dict[str, float]) -> None:
        if self.folder is not None:
            self.folder.log({"step": self.step, "split": split, **metrics})

    def _checkpoint(self) -> None:
        if self.folder is None:
            return
        if broken_parameter(self.model):  # never a checkpoint to go on from
            report_failure(self, "weights are not finite", [])
        save_loop(self)
        for callback in self.callbacks.values():
            callback.checkpoint(self)

    def _stop_here(self, signal: int) -> None:
        if self._is_last():
            return
        if self.step % self.plan.checkpoint_every or self._folder_is_gone():  # else it is there
            self._checkpoint()
        raise Stopped(f"stopped after step {self.step} of {self.steps}", 128 + signal)

    def _finish(self) -> None:
        """Takes the weights that the run ends with, calibrates them, and evaluates on the whole validation split."""
        notes = self._warn_of_start()
        if self.best_weights:
            assert self.best is not None
            self.evaluated.load_state_dict(self.best_weights, strict=not self.job.left_out)
            notes["weights_of"] = self.best[1]
        with telling_waits("evaluating what was learned", is_shown(self.callbacks.values())):
            if self.job.calibrate is not None:
                notes |= self._score(self.job.calibrate) or {}
            whole = {} if self.job.whole is None else self.processes.from_first(self._score(self.job.whole))
        self.metrics |= {f"whole_validation_{name}": value for name, value in whole.items()}
        if whole:
            self._log("validation-whole", whole | notes)
        self.finished = True


def _named(callbacks: Sequence[Callback]) -> dict[str, Callback]:
    """Callbacks by the names of their classes, numbered where two have one."""
    named: dict[str, Callback] = {}
    for callback in callbacks:
        kind, n = type(callback).__name__, 2
        name = kind
        while name in named:
            name, n = f"{kind}-{n}", n + 1
        named[name] = callback
    return named
