r"""How well a forecaster does on windows: the likelihood of what came, and the quantile loss of sampled paths.

    loss = −mean log p(y_t | y_{<t})                    over the steps of the windows; missing values do not count
    balanced wQL = √(wQL · unweighted wQL)              large series weigh more in the first, all alike in the second

On the same windows the spread of paths is calibrated, for histories of several lengths (`calibration.py`).
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from cutaway.models.forecasting.likelihood_model import ForecastSpec, modelled_values
from cutaway.models.forecasting.series_windows import SeriesWindow
from cutaway.tasks.series.backtesting import LEVELS, Quantiles, measure
from cutaway.tasks.series.calibration import widening
from cutaway.tasks.series.histories import Histories, shortened
from cutaway.tasks.series.prepared_series import PreparedSeries, prepare
from cutaway.tasks.series.supports import Paths, path_quantiles, whole_series, within_support
from cutaway.tasks.series.window_batches import windows_at_end

ROWS_IN_TRAINING = 200  # windows looked at while training; all of them at the end
PATHS_IN_TRAINING = 50


def negative_log_likelihood(model: nn.Module, window: SeriesWindow, steps: int | None = None) -> Tensor:
    """−log p of a value, in the mean over those that are there; of the last ``steps`` modelled steps, or all."""
    window = window.to(next(model.parameters()).device)
    y = modelled_values(window)
    there = ~y.isnan()
    logs = torch.where(there, model(window).log_density(y.nan_to_num(0.0)), 0.0)
    if steps is not None:
        logs, there = logs[:, -steps:], there[:, -steps:]
    return -logs.sum() / there.sum().clamp(min=1)


class WindowEvaluation:
    """Measures a model on validation windows; windows and constants are made once, at the first call."""

    def __init__(self, held: Histories, spec: ForecastSpec, logarithm: bool, rows: int, samples: int) -> None:
        self.held, self.spec, self.logarithm, self.rows, self.samples = held, spec, logarithm, rows, samples
        self.window: SeriesWindow | None = None
        self.prepared: PreparedSeries | None = None

    def __call__(self, model: Any) -> dict[str, float]:
        paths, quantiles = self._forecast(model)
        assert self.window is not None
        loss = self._loss(model, self.window.to(model.device))
        metrics = measure(self.held, quantiles, self.held.table.season, paths)
        return {"loss": loss} | metrics | {"balanced_wql": (metrics["wql"] * metrics["unweighted_wql"]) ** 0.5}

    def calibrate(self, model: Any) -> None:
        """Sets how much the model's paths are widened at each step, by what came in these windows."""
        model.widening.fill_(1.0)
        by_length = []
        for steps in self.spec.lengths or (0,):
            shorter = self if not steps else self._with_history(steps)
            _, quantiles = shorter._forecast(model)
            factors = widening(quantiles, shorter.held.truth, LEVELS)
            if steps and steps < self.spec.reads:  # little to go by: wider by the whole way
                factors = np.maximum(factors**2, factors)
            by_length.append(torch.from_numpy(factors))
        model.widening.copy_(torch.stack(by_length).view_as(model.widening))

    def _with_history(self, steps: int) -> "WindowEvaluation":
        """The same windows with the last ``steps`` values before them alone."""
        rows, samples = min(self.rows, ROWS_IN_TRAINING), min(self.samples, PATHS_IN_TRAINING)
        return WindowEvaluation(shortened(self.held, steps), self.spec, self.logarithm, rows, samples)

    def _forecast(self, model: Any) -> tuple[Paths, Quantiles]:
        """Paths of the windows, the same ones for the same weights, and their quantiles."""
        if self.window is None:
            self.held = _some_rows(self.held, self.rows)
            self.prepared = prepare(self.held.table, self.spec.likelihood, self.logarithm)
            self.window = windows_at_end(self.prepared.table, self.spec, self.spec.horizon)
        assert self.prepared is not None
        generator = torch.Generator(model.device).manual_seed(0)
        window = self.window.to(model.device)
        drawn = model.sample_paths(window, self.spec.horizon, self.samples, generator).double().cpu().numpy()
        paths = within_support(self.prepared.restore(drawn), self.held.table, self.spec.support)
        return paths, path_quantiles(paths, LEVELS, whole_series(self.held.table, self.spec.support))

    def _loss(self, model: nn.Module, window: SeriesWindow) -> float:
        """The mean −log p of the values that came, each given those before it."""
        assert self.prepared is not None
        truth = torch.from_numpy(self.prepared.apply(self.held.truth)).to(window.values)
        values = torch.cat([window.values, truth], 1)
        return negative_log_likelihood(model, window._replace(values=values), self.spec.horizon).item()


def _some_rows(held: Histories, most: int) -> Histories:
    """Every k-th window, so that there are at most ``most``."""
    step = -(-len(held.series) // most)
    if step == 1:
        return held
    chosen = range(0, len(held.series), step)
    return Histories(held.table.select(list(chosen)), held.series[::step], held.truth[::step])
