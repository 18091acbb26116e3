"""The smallest recipe that forecasts: a random walk with a learned spread."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from cutaway.data.batches import ShuffledRows
from cutaway.recipes.index import register_recipe
from cutaway.recipes.series.forecast_settings import ForecastRecipe
from cutaway.training.jobs import Job


class Spread(nn.Module):
    """log σ of a step."""

    def __init__(self):
        super().__init__()
        self.log_std = nn.Parameter(torch.zeros(()))

    def forward(self, differences):
        return self.log_std + 0.5 * (differences / self.log_std.exp()) ** 2


@register_recipe
@dataclass(frozen=True)
class WalkRecipe(ForecastRecipe):
    name = "walk-for-tests"
    steps: int = 20
    rate: float = 0.05

    def job(self, rank=0, world=1):
        parts = self.parts()
        apart = torch.tensor(np.concatenate([np.diff(x) for x in parts.train.values]), dtype=torch.float32)
        apart = apart[apart.isfinite()]
        histories = parts.validation()
        return Job(
            model=Spread(),
            batches=ShuffledRows(len(apart), min(self.batch, len(apart)), self.seed, rank, world),
            objective=lambda model, rows: model(apart[torch.from_numpy(rows)]).mean(),
            evaluate=lambda model: {"loss": self.measure(model, histories)["wql"]} if len(histories.series) else {},
            data=self.facts(parts),
        )

    def open_model(self, config):
        return Spread()

    def sample_paths(self, model, table, horizon, samples, seed):
        noise = torch.randn(len(table), samples, horizon, generator=torch.Generator().manual_seed(seed))
        last = np.array([x[~np.isnan(x)][-1] for x in table.values])
        return last[:, None, None] + (noise.cumsum(-1) * model.log_std.exp()).detach().double().numpy()
