"""One training run by a recipe's settings, timed and scored, for the benchmarks that race."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

import torch

from cutaway.recipes.texts.gpt import GPTRecipe
from cutaway.runs.execution import optimizers_of, plan_of
from cutaway.training.loop import Loop


@dataclass(frozen=True)
class Trial:
    """Seconds from the first to the last optimizer step, without evaluation, and the loss on the whole validation."""

    steps: int
    seconds: float
    loss: float

    def __str__(self) -> str:
        return f"{self.loss:.3f} after {self.steps:,} steps in {self.seconds:.1f} s"


def shakespeare() -> str:
    """The path of tinyshakespeare."""
    folder = Path(os.environ.get("CUTAWAY_DATA", Path(__file__).parents[2] / "shared" / "data"))
    path = folder / "text" / "tinyshakespeare.txt.xz"
    if not path.is_file():
        sys.exit(f"this benchmark reads tinyshakespeare, which is not at {path}; set CUTAWAY_DATA to its folder's root")
    return str(path)


def loop_of(recipe: GPTRecipe) -> Loop:
    """The loop of a run that keeps nothing and looks at nothing before its end."""
    job = recipe.job()
    job.evaluate, job.samples = lambda model: {}, lambda model: {}
    return Loop(job, optimizers_of(recipe, job.model), plan_of(recipe, torch.device("cpu")))


def train(recipe: GPTRecipe) -> Trial:
    """A whole run."""
    loop = loop_of(recipe)
    loop.run()
    return Trial(recipe.steps, loop.seconds, loop.metrics["whole_validation_loss"])
