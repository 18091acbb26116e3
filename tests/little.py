"""Little jobs, texts and runs for the tests of training: nothing here takes more than a second."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from cutaway.data.batches import Batches
from cutaway.training.jobs import Job
from cutaway.training.loop import Loop
from cutaway.training.optimizers.groups import build_optimizers
from cutaway.training.optimizers.schedules import Schedule, batches_per_step
from cutaway.training.plans import Plan

WORDS = "the dog ate the cake and the cat ate the dog; the cake was sad.\n"
# The flags of a run that takes a second: a model of five thousand weights on sixteen characters at a time.
SETTINGS: dict[str, Any] = dict(
    width=16,
    depth=1,
    heads=2,
    context=16,
    batch=4,
    steps=12,
    evaluate_every=4,
    checkpoint_every=3,
    log_every=2,
    sample_tokens=5,
)


def little_text(folder: Path, lines: int = 60) -> Path:
    """A text whose lines differ, so that every stretch of it is another."""
    path = folder / "little.txt"
    path.write_text("".join(f"{i} {WORDS}" for i in range(lines)), encoding="utf-8")
    return path


class Points(Batches[tuple[Tensor, Tensor]]):
    """Noisy points of a plane: batch n is a function of n."""

    def __init__(self, batch: int = 8, seed: int = 0) -> None:
        super().__init__(batch, seed, 0, 1)
        self.taken: list[int] = []

    def at(self, step: int) -> tuple[Tensor, Tensor]:
        self.taken.append(step)
        x = torch.from_numpy(np.random.default_rng([self.seed, step]).normal(size=(self.batch, 3))).float()
        return x, x @ torch.tensor([[1.0], [-2.0], [0.5]])


class Net(nn.Module):
    """Two layers with dropout between them."""

    def __init__(self, width: int = 5, dropout: float = 0.25) -> None:
        super().__init__()
        self.inner = nn.Linear(3, width)
        self.drop = nn.Dropout(dropout)
        self.outer = nn.Linear(width, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.outer(self.drop(torch.tanh(self.inner(x))))


def squared(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
    return (model(batch[0]) - batch[1]).square().mean()


def little_job(model: nn.Module | None = None, **more: Any) -> Job:
    """A job of the net; the validation batch is one that training never takes."""
    torch.manual_seed(7)
    batches = Points()
    told = dict(
        model=Net() if model is None else model,
        batches=batches,
        objective=squared,
        evaluate=lambda m: {"loss": squared(m, Points().at(10**6)).item()},
    )
    return Job(**told | more)


def little_loop(
    folder: Any = None, callbacks: Any = (), job: Job | None = None, optimizer: str = "adamw", **plan: Any
) -> Loop:
    job = little_job() if job is None else job
    steps = plan.pop("steps", 12)
    batches = batches_per_step(plan.pop("accumulate", 1), plan.pop("growth", 1), steps)
    chosen = dict(evaluate_every=4, checkpoint_every=3, log_every=2) | plan
    made = Plan(Schedule(steps), batches, **chosen)
    return Loop(job, build_optimizers(job.model, optimizer, 0.01), made, folder, callbacks)


def weights_of(folder: Path) -> dict[str, Tensor]:
    return load_file(folder / "model.safetensors")


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    """Bit for bit."""
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def timeless(folder: Path) -> list[dict[str, Any]]:
    """The metrics of a run but for the times."""
    lines = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [{k: v for k, v in json.loads(line).items() if k != "seconds"} for line in lines]
