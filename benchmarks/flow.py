"""What a look at the gradient flow costs in training, with one in a hundred steps. Aim: 1.02 times a run without."""

import copy
import tempfile
from pathlib import Path

import torch
from timing import compare, show
from torch import Tensor, nn

from cutaway.data.batches import Batches
from cutaway.models import GPT
from cutaway.training import FlowCallback, Job, Loop, Plan, RunFolder, Schedule, build_optimizers

EVERY = 100


class Tokens(Batches[Tensor]):
    """Random tokens: what is in them does not change the time."""

    def __init__(self, batch: int, context: int) -> None:
        super().__init__(batch, 0, 0, 1)
        self.tokens = torch.randint(65, (batch, context + 1))

    def at(self, step: int) -> Tensor:
        return self.tokens


def cost(model: nn.Module, tokens: Tensor) -> Tensor:
    return nn.functional.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())


def looked_at(width: int, depth: int, batch: int, context: int) -> tuple[float, float]:
    """A step with a look / a step without, and what that makes of a run with one look in a hundred steps."""
    model = GPT(vocabulary=65, width=width, depth=depth, heads=4, context=context)
    plan = Plan(Schedule(10**6), evaluate_every=10**6, checkpoint_every=10**6)

    def loop(folder: Path, callbacks: list[FlowCallback]) -> Loop:
        own = copy.deepcopy(model)
        job = Job(own, Tokens(batch, context), cost, lambda m: {})
        made = Loop(job, build_optimizers(own, "adamw", 1e-3), plan, RunFolder.create(folder), callbacks)
        for callback in callbacks:
            callback.start(made)
        return made

    with tempfile.TemporaryDirectory() as place:
        plain, looking = loop(Path(place, "plain"), []), loop(Path(place, "looking"), [FlowCallback(every=1)])
        times = compare({"plain": plain._advance, "look": looking._advance}, repeats=31)
    ratio = times["look"] / times["plain"]
    return ratio, 1 + (ratio - 1) / EVERY


def main() -> None:
    torch.manual_seed(0)
    rows = []
    for sizes in ((64, 4, 16, 64), (256, 6, 8, 128)):
        one, all_of_them = looked_at(*sizes)
        width, depth, batch, context = sizes
        name = f"GPT of width {width}, depth {depth}, {batch} × {context} tokens"
        rows += [(f"{name}: step with a look / without", f"{one:.2f}")]
        rows += [(f"{name}: run with a look every {EVERY} steps / without (aim ≤ 1.02)", f"{all_of_them:.4f}")]
    show("Gradient flow in training", rows)


if __name__ == "__main__":
    main()
