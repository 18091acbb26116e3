r"""The loop: one plain pass through the steps of a run.

    for step in steps:
        g = Σ ∇ objective(model, batch) / accumulate
        clip g;  θ ← optimizer(θ, g, rate · schedule(step))
        now and then: evaluate, checkpoint

Batch n is a function of the seed and n alone, and random numbers come from a stream of the loop's own, so a run resumed
from a checkpoint ends with the same weights, bit for bit.
"""

import math
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from cutaway.training.callbacks import Callback
from cutaway.training.failures import NotFinite, broken_parameter, report_failure
from cutaway.training.jobs import Job
from cutaway.training.optimizers.groups import set_rate
from cutaway.training.plans import Plan
from cutaway.training.processes.alone import Alone
from cutaway.training.random_stream import RandomStream
from cutaway.training.run_folder.checkpoints import (
    forget_later,
    latest_checkpoint,
    optimizer_tensors,
    read_state,
    read_tensors,
    restore_optimizers,
    save_checkpoint,
)
from cutaway.training.run_folder.folder import RunFolder
from cutaway.training.run_folder.interrupts import HeldBack, Stopped


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
        self._called: nn.Module = self.processes.called or job.model  # in training
        self.evaluated: nn.Module = job.model  # the one that is evaluated and kept: an average, if someone makes it
        self.callbacks = _named(callbacks)
        self.step = 0
        self.taken = 0  # batches so far
        self.steps = plan.schedule.steps
        self.metrics: dict[str, float] = {}
        self.samples: dict[str, str] = {}
        self.best: tuple[float, int] | None = None  # score and step
        self.seconds = 0.0  # spent in optimizer steps alone
        self.why_stopped = ""
        self.finished = False
        self._best_weights: dict[str, Tensor] = {}
        self._sums: dict[str, float] = {}  # of metrics since the last line of the log
        self._parameters = [p for p in job.model.parameters() if p.requires_grad]
        self.device = self._parameters[0].device
        self._random = RandomStream(plan.seed + self.processes.rank, self.device)
        self._held = HeldBack(tells=self.processes.is_first)

    def stop(self, why: str) -> None:
        """Ends the run after this step."""
        self.why_stopped = why

    def run(self, resume: bool = False) -> None:
        """All steps that are left, from the newest checkpoint on if ``resume``. Ctrl-C ends it after a checkpoint."""
        kept = self._restore() if resume else {}
        with ExitStack() as stack:
            for name, callback in self.callbacks.items():
                callback.start(self)
                stack.callback(callback.end, self)
                if name in kept:  # one that is new since the checkpoint starts fresh
                    callback.restore(*kept[name])
            if self.step == 0:
                self._evaluate()
            with self._held:
                while self.step < self.steps and not self.why_stopped:
                    self._advance()
                    if (signal := self.processes.asked(self._held)) is not None:
                        self._stop_here(signal)
            self._finish()

    def _advance(self) -> None:
        for callback in self.callbacks.values():
            callback.before(self)
        started = time.perf_counter()
        count = self.plan.batches(self.step)
        try:
            with self._random:
                metrics = self._train_step(count)
        except NotFinite as broken:
            with self._random:  # as it stood before the step: the same dropout
                report_failure(self, str(broken), [self.job.batches.at(self.taken + i) for i in range(count)])
        self.seconds += time.perf_counter() - started
        self.step += 1
        self.taken += count
        self._log_training(metrics)
        for callback in self.callbacks.values():
            callback.step(self, metrics)
        self.why_stopped = self.processes.agree(self.why_stopped, self._held)
        if self.step % self.plan.evaluate_every == 0 or self._is_last():
            self._evaluate()
        if self.step % self.plan.checkpoint_every == 0 or self._is_last():
            self._checkpoint()

    def _is_last(self) -> bool:
        return self.step == self.steps or bool(self.why_stopped)

    def _train_step(self, count: int) -> dict[str, float]:
        share = self.plan.schedule(self.step)
        set_rate(self.optimizers, share)
        if not self.model.training:
            self.model.train()
        total = 0.0
        for part in range(count):
            with self.processes.summing(part + 1 < count):
                cost = self.cost(self.job.batches.at(self.taken + part), self._called)
                self.processes.backward(cost if count == 1 else cost / count)
            value = self.processes.mean(cost)
            if not math.isfinite(value):
                raise NotFinite(f"loss is {value}")
            total += value / count
        gradients = [p.grad for p in self._parameters if p.grad is not None]
        norm = self.processes.norm(gradients)
        length = norm.item()
        if not math.isfinite(length):
            raise NotFinite(f"length of the gradient is {length}")
        if self.plan.clip is not None:
            nn.utils.clip_grads_with_norm_(self._parameters, self.plan.clip, norm, foreach=True)
        for optimizer in self.optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        return {"loss": total, "gradient_norm": length, "rate": share}

    def cost(self, batch: Any, model: nn.Module | None = None) -> Tensor:
        """The objective on one batch, in the plan's precision."""
        half: AbstractContextManager[Any] = nullcontext()
        if self.plan.precision is not None:
            half = torch.autocast(self.device.type, dtype=self.plan.precision)
        with half:
            return self.job.objective(self.model if model is None else model, batch)

    def _log_training(self, metrics: dict[str, float]) -> None:
        """A line of means every few steps: single batches jump."""
        for name, value in (metrics | {"steps": 1}).items():
            self._sums[name] = self._sums.get(name, 0.0) + value
        if self.step % self.plan.log_every == 0 or self._is_last():
            steps = self._sums.pop("steps")
            means = {name: value / steps for name, value in self._sums.items()}
            self._sums = {}
            self.metrics |= means
            self._log("train", means | {"seconds": round(self.seconds, 3)})

    def _score(self, how: Callable[[nn.Module], Any]) -> Any:
        """What ``how`` says of the evaluated model in evaluation mode."""
        modes = [(module, module.training) for module in self.evaluated.modules()]
        self.evaluated.eval()
        try:
            with torch.no_grad(), self.processes.opened(self.evaluated):
                return how(self.evaluated)
        finally:
            for module, training in modes:
                module.training = training

    def _evaluate(self) -> None:
        metrics = self.processes.of_first(self._score(self.job.evaluate))
        if metrics:
            score = metrics[self.job.better]
            if not math.isfinite(score):
                again = lambda: self._score(self.job.evaluate)
                report_failure(self, f"validation {self.job.better} is {score}", [], again)
            if self.best is None or score < self.best[0]:
                self.best = (score, self.step)
                if self.plan.final == "best":
                    self._best_weights = {k: v.clone() for k, v in self.evaluated.state_dict().items()}
            self.metrics |= {f"validation_{name}": value for name, value in metrics.items()}
            self._log("validation", metrics)
        if self.step:
            self.samples = self._score(self.job.samples)
            if self.folder is not None:
                self.folder.write_samples(self.step, self.samples)
        for callback in self.callbacks.values():
            callback.evaluate(self, metrics)
        self.why_stopped = self.processes.agree(self.why_stopped, self._held)

    def _log(self, split: str, metrics: dict[str, float]) -> None:
        if self.folder is not None:
            self.folder.log({"step": self.step, "split": split, **metrics})

    def _checkpoint(self) -> None:
        if self.folder is None:
            return
        if broken_parameter(self.model):  # never a checkpoint to go on from
            report_failure(self, "weights are not finite", [])
        tensors, plain = optimizer_tensors(self.optimizers)
        files = {"weights": dict(self.model.state_dict()), "optimizer": tensors}
        if self._best_weights:
            files["best"] = self._best_weights
        for name, callback in self.callbacks.items():
            if kept := callback.tensors():
                files[f"callback-{name}"] = kept
        files = {name: self.processes.whole(tensors) for name, tensors in files.items()}
        files["random"] = self.processes.every_stream(self._random.tensors())
        state = {
            "batches": self.taken,
            "seconds": self.seconds,
            "best": self.best,
            "why_stopped": self.why_stopped,
            "sums": self._sums,
            "metrics_bytes": self.folder.flush_metrics(),
            "optimizers": plain,
            "callbacks": {name: callback.state() for name, callback in self.callbacks.items()},
        }
        folder = self.folder.path
        self.processes.first(lambda: save_checkpoint(folder, self.step, files, state, self.plan.keep))
        for callback in self.callbacks.values():
            callback.checkpoint(self)

    def _restore(self) -> dict[str, tuple[dict[str, Any], dict[str, Tensor]]]:
        """Goes back to the newest checkpoint, if there is one, and forgets what came after it.

        Returns what it kept for callbacks, by their names.
        """
        assert self.folder is not None
        checkpoint = latest_checkpoint(self.folder.path)
        if checkpoint is None:
            self.folder.cut_metrics(0)
            return {}
        files = {path.stem: read_tensors(path) for path in checkpoint.glob("*.safetensors")}
        state = read_state(checkpoint)
        share, own = self.processes.share, self.model.state_dict()
        self.model.load_state_dict({name: share(tensor, own[name]) for name, tensor in files["weights"].items()})
        restore_optimizers(self.optimizers, files["optimizer"], state["optimizers"], share)
        self._random.restore(self.processes.own_stream(files["random"]))
        best = files.get("best", {})
        self._best_weights = {name: share(tensor.to(self.device), own[name]) for name, tensor in best.items()}
        self.step, self.taken, self.seconds = state["step"], state["batches"], state["seconds"]
        self.best = None if state["best"] is None else tuple(state["best"])
        self.why_stopped, self._sums = state["why_stopped"], state["sums"]
        self.folder.cut_metrics(state["metrics_bytes"])
        if self.processes.is_first:
            forget_later(self.folder.path, self.step)
        return {name: (plain, files.get(f"callback-{name}", {})) for name, plain in state["callbacks"].items()}

    def _stop_here(self, signal: int) -> None:
        if self._is_last():
            return
        if self.step % self.plan.checkpoint_every:  # else it is there
            self._checkpoint()
        raise Stopped(f"stopped after step {self.step} of {self.steps}", 128 + signal)

    def _finish(self) -> None:
        """Takes the weights that the run ends with, and evaluates them on the whole validation split."""
        if self._best_weights:
            self.evaluated.load_state_dict(self._best_weights)
        if self.job.whole is not None:
            whole = self.processes.of_first(self._score(self.job.whole))
            self.metrics |= {f"whole_validation_{name}": value for name, value in whole.items()}
            if whole:
                self._log("validation-whole", whole)
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
