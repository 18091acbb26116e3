r"""Callbacks are called by the training loop at six moments, to watch or change a run.

    start → (before step …, evaluate …, checkpoint …) → end

To write one, subclass `Callback` and override what you need; what `state` and `tensors` return is saved in checkpoints.
A callback may draw random numbers without changing the run: training has a random stream of its own.
"""

import copy
import math
from typing import TYPE_CHECKING, Any, NoReturn

import torch
from torch import Tensor, nn

from cutaway.overriding import override

if TYPE_CHECKING:
    from cutaway.training.loop import Loop


class Callback:
    """The base class; it does nothing. ``loop`` has the model, step and metrics so far; ``loop.stop(why)`` ends it."""

    def start(self, loop: "Loop") -> None:
        """Before the first step of this process; in a resumed run `restore` follows."""

    def before(self, loop: "Loop") -> None:
        """Before every step; ``loop.step`` is the number of steps so far."""

    def step(self, loop: "Loop", metrics: dict[str, float]) -> None:
        """After every step, with its metrics."""

    def evaluate(self, loop: "Loop", metrics: dict[str, float]) -> None:
        """After every evaluation, with the metrics on the validation split: none if there is no such split."""

    def checkpoint(self, loop: "Loop") -> None:
        """After every checkpoint."""

    def note(self, loop: "Loop", text: str) -> None:
        """When something is to be told beside the steps: a line for a person."""

    def end(self, loop: "Loop") -> None:
        """Once, however the run ends; ``loop.finished`` says whether it got to its end."""

    def state(self) -> dict[str, Any]:
        """Plain values to keep in a checkpoint."""
        return {}

    def tensors(self) -> dict[str, Tensor]:
        """Tensors to keep in a checkpoint."""
        return {}

    def restore(self, state: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        """Restores what `state` and `tensors` saved in a checkpoint."""


class EarlyStopping(Callback):
    """Ends the run when validation has not got better for ``patience`` evaluations (N0 §1.6).

    It gets better where the metric does, which with ``more`` is to rise, or the loss: accuracy may stand still while
    the model still learns. Veličković et al. 2018, §3.3.
    """

    def __init__(self, patience: int, metric: str = "loss", more: bool = False) -> None:
        if patience < 1:
            raise ValueError(f"patience must be above 0, got {patience}; try patience=5")
        self.patience, self.metric, self.more = patience, metric, more
        self.least: dict[str, float] = {}  # of what is to fall: the metric, negated if it is to rise, and the loss
        self.waited = 0

    @override
    def evaluate(self, loop: "Loop", metrics: dict[str, float]) -> None:
        better = False
        for name in {self.metric, "loss"} & set(metrics):
            value = -metrics[name] if name == self.metric and self.more else metrics[name]
            if value < self.least.get(name, math.inf):
                self.least[name] = value
                better = True
        self.waited = 0 if better else self.waited + 1
        if self.waited >= self.patience:
            names = self.metric if self.metric == "loss" or "loss" not in metrics else f"{self.metric} and loss"
            have = "has" if names == self.metric else "have"
            loop.stop(f"validation {names} {have} not got better for {self.waited} evaluations")

    @override
    def state(self) -> dict[str, Any]:
        return {"least": self.least, "waited": self.waited}

    @override
    def restore(self, state: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        self.waited = state["waited"]
        if "least" in state:
            self.least = dict(state["least"])
        elif state["best"] is not None:  # of an older checkpoint: the metric then, which was to fall
            self.least = {"loss" if self.more else self.metric: state["best"]}


class Averaging(Callback):
    """Keeps the exponential moving average of the weights, θ̄ ← γ θ̄ + (1 − γ) θ, and evaluates with it (Polyak 1992).

    Running statistics (batch norm's) are averaged alike: the newest ones belong to other weights than the average.
    """

    def __init__(self, decay: float) -> None:
        if not 0 < decay < 1:
            raise ValueError(f"ema must be between 0 and 1, got {decay}; try ema=0.999")
        self.decay = decay
        self.average: nn.Module | None = None
        self._left_out: frozenset[str] = frozenset()

    @override
    def start(self, loop: "Loop") -> None:
        if loop.processes.strategy == "fsdp":
            refuse_shares(self.decay)
        self._left_out = loop.job.left_out
        # What never changes is its own average: it is not copied.
        constant = {id(p): p for name, p in loop.model.state_dict(keep_vars=True).items() if name in self._left_out}
        self.average = copy.deepcopy(loop.model, constant).eval().requires_grad_(False)
        loop.evaluated = self.average

    @override
    @torch.no_grad()
    def step(self, loop: "Loop", metrics: dict[str, float]) -> None:
        assert self.average is not None
        # Early on the average follows quickly, so that it does not remember the first random weights.
        decay = min(self.decay, (1 + loop.step) / (10 + loop.step))
        pairs = zip(self.average.parameters(), loop.model.parameters(), strict=True)
        mine, theirs = zip(*((mean, now) for mean, now in pairs if mean is not now), strict=True)
        torch._foreach_lerp_(mine, theirs, 1 - decay)
        for mean, now in zip(self.average.buffers(), loop.model.buffers(), strict=True):
            # What does not change stays exact, −∞ in a mask too; counts and indices are taken as they are.
            mean.copy_(torch.where(mean == now, now, mean.lerp(now, 1 - decay)) if mean.is_floating_point() else now)

    @override
    def tensors(self) -> dict[str, Tensor]:
        assert self.average is not None
        return {name: x for name, x in self.average.state_dict().items() if name not in self._left_out}

    @override
    def restore(self, state: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        assert self.average is not None
        self.average.load_state_dict(tensors, strict=not self._left_out)


def refuse_shares(decay: float) -> NoReturn:
    """Refuses averaging under fsdp: each process holds a share of every tensor, and none a whole model."""
    raise ValueError(
        f"an average of the weights is a whole model, got ema={decay} with strategy=fsdp, which leaves a share of it "
        "to each process; use --ema 0, or --strategy ddp"
    )
