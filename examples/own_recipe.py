"""A recipe of your own: what is trained, on what, towards what. It trains, resumes, loads and reports like ours."""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

import cutaway as cut
from cutaway.data import ShuffledRows
from cutaway.training import Job


def wave(count: int, seed: int) -> tuple[Tensor, Tensor]:
    """A noisy sine, in place of your data."""
    generator = torch.Generator().manual_seed(seed)
    x = 6 * torch.rand(count, 1, generator=generator) - 3
    return x, torch.sin(2 * x) + 0.1 * torch.randn(count, 1, generator=generator)


@dataclass(frozen=True)
class WaveRecipe(cut.recipes.Recipe):
    """A small network that learns a wave."""

    name: ClassVar[str] = "wave"

    data: str = "made here"
    steps: int = 300
    batch: int = 64
    rate: float = 1e-2
    width: int = 32
    """units in each hidden layer"""

    def build(self) -> nn.Module:
        tanh, wide = cut.blocks.tanh, self.width
        hidden = cut.blocks.Dense(1, wide, tanh), cut.blocks.Dense(wide, wide, tanh)
        return nn.Sequential(*hidden, cut.blocks.Linear(wide, 1))

    def job(self, rank: int = 0, world: int = 1) -> Job:
        """Data, model and objective: all that the loop needs."""
        torch.manual_seed(self.seed)
        (x, y), (held_x, held_y) = wave(1000, seed=1), wave(200, seed=2)

        def cost(model: nn.Module, rows: Any) -> Tensor:
            rows = torch.as_tensor(rows)
            return cut.blocks.squared_loss(model(x[rows]), y[rows]).mean()

        def evaluate(model: nn.Module) -> dict[str, float]:
            with torch.no_grad():
                return {"loss": cut.blocks.squared_loss(model(held_x), held_y).mean().item()}

        batches = ShuffledRows(len(x), self.batch, self.seed, rank, world)
        return Job(self.build(), batches, cost, evaluate, data={"summary": "1,000 points of sin 2x with noise 0.1"})

    def open_model(self, config: dict[str, Any]) -> nn.Module:
        """The untrained model of a run's config.json: the weights are put into it."""
        return self.build()

    def predict(self, run: Any, inputs: Any) -> list[float]:
        with torch.no_grad():
            return run.model(torch.as_tensor(inputs)[:, None])[:, 0].tolist()


cut.register(WaveRecipe)  # known to cut.train and cut.load by its name

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        run = cut.train("wave", out=Path(folder) / "wave", show="quiet")
        print("validation loss:", round(run.metrics[-1]["loss"], 3), "(the noise alone: 0.01)")
        again = cut.load(run.path)
        print("sin(2 · 0.5) ≈", round(again.predict([0.5])[0], 2), "really 0.84")
        print("in the run folder:", ", ".join(sorted(path.name for path in run.path.iterdir())))
