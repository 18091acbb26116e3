"""The smallest recipe that forecasts: a random walk with a learned spread."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from cutaway.data.batches import ShuffledRows
from cutaway.recipes.index import register_recipe
from cutaway.recipes.series.forecast_settings import ForecastRecipe
from cutaway.tasks.series.forecast_learner import ForecastLearner


class Spread(nn.Module):
    """log σ of a step."""

    def __init__(self):
        super().__init__()
        self.log_std = nn.Parameter(torch.zeros(()))

    def forward(self, differences):
        return self.log_std + 0.5 * (differences / self.log_std.exp()) ** 2


class WalkLearner(ForecastLearner):
    """Learns the spread of the differences of training."""

    def fit_first(self):
        parts = self.task.parts
        apart = torch.tensor(np.concatenate([np.diff(x) for x in parts.train.values]), dtype=torch.float32)
        self.apart, self.held = apart[apart.isfinite()], parts.validation()

    def batches(self, rank, world):
        batch = min(self.settings.batch, len(self.apart))
        return ShuffledRows(len(self.apart), batch, self.settings.seed, rank, world)

    def cost(self, model, batch):
        return model(self.apart[torch.from_numpy(batch)]).mean()

    def evaluate(self, model):
        return {"loss": self.backtest_windows(model, self.held).metrics["wql"]} if len(self.held.series) else {}

    def job(self, rank=0, world=1):
        job = super().job(rank, world)
        job.better = "loss"
        return job

    def sample_paths(self, model, table, horizon, samples, seed):
        noise = torch.randn(len(table), samples, horizon, generator=torch.Generator().manual_seed(seed))
        last = np.array([x[~np.isnan(x)][-1] for x in table.values])
        return last[:, None, None] + (noise.cumsum(-1) * model.log_std.exp()).detach().double().numpy()


@register_recipe
@dataclass(frozen=True)
class WalkRecipe(ForecastRecipe):
    name = "walk-for-tests"
    steps: int = 20
    rate: float = 0.05

    def build(self, task, base=None, model=None):
        return WalkLearner(self, task, Spread() if model is None else model)

    def open_model(self, config):
        return Spread()
