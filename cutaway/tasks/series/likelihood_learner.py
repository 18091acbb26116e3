r"""The learner of `deepar` and `forecaster`: a distribution of every next value, trained by its likelihood.

    cost = −mean over windows and steps of log p(y_t | y_{<t})             missing values do not count

The model begins where simple forecasts end (`models/forecasting/linear_expert.py`) and is evaluated by paths that it
samples (`window_evaluation.py`). On the validation windows the spread of paths is calibrated, and again on the last
windows of each series that is forecast (`calibration.py`).
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from cutaway.data.series.series_table import SeriesTable
from cutaway.models.by_spec import from_spec
from cutaway.models.forecasting.series_windows import SeriesWindow
from cutaway.overriding import override
from cutaway.tasks.series.backtesting import LEVELS
from cutaway.tasks.series.calibration import own_factors
from cutaway.tasks.series.forecast import SeriesForecasts
from cutaway.tasks.series.forecast_learner import ForecastLearner
from cutaway.tasks.series.forecaster_design import forecaster_sizes
from cutaway.tasks.series.histories import SeriesParts, histories_at
from cutaway.tasks.series.prepared_series import freak_note, prepare, without_freaks
from cutaway.tasks.series.supports import SUPPORTS, Paths, within_support
from cutaway.tasks.series.window_batches import WindowBatches, series_tensors, windows_at_end
from cutaway.tasks.series.window_evaluation import (
    PATHS_IN_TRAINING,
    ROWS_IN_TRAINING,
    WindowEvaluation,
    negative_log_likelihood,
)
from cutaway.tasks.subjects import Subject
from cutaway.training.jobs import Job

_SERIES_SHOWN = 4  # whose steps go into the model for a look
_OWN_WINDOWS = 8  # last windows of a history that calibrate its forecast
_OWN_PATHS = 50
_LEAST_HISTORY = 8  # values before such a window
_ALIKE = 0.5  # of the history before a window, to be like the forecast
_FARTHEST = 3  # horizons that such windows reach


class LikelihoodLearner(ForecastLearner):
    """A forecaster of the family of `PredictiveModel`, whose spec says how its series are prepared."""

    unit = "windows"
    model: Any

    @classmethod
    def new(cls, settings: Any, task: SeriesForecasts) -> "LikelihoodLearner":
        """An untrained model for the series of a task."""
        spec = settings.model_spec(forecaster_sizes(settings, task.parts))
        torch.manual_seed(settings.seed)
        return cls(settings, task, from_spec(spec))

    # Training.

    @override
    def fit_first(self) -> None:
        """The scales of covariates."""
        parts, spec, logarithm = self.task.parts, self.model.spec, self.settings.logarithm
        self.tensors = series_tensors(prepare(parts.train, spec.likelihood, logarithm).table, spec)
        self.model.standardise(self.tensors.covariates)
        self.quick = self.whole = None
        if parts.validation_windows:
            held = _without_freaks(parts).validation()
            self.quick = WindowEvaluation(held, spec, logarithm, ROWS_IN_TRAINING, PATHS_IN_TRAINING)
            self.whole = WindowEvaluation(held, spec, logarithm, len(held.series), self.settings.samples)

    quick: WindowEvaluation | None = None  # some of the validation windows, by few paths
    whole: WindowEvaluation | None = None  # all of them

    @override
    def batches(self, rank: int, world: int) -> WindowBatches:
        return WindowBatches(self.tensors, self.model.spec, self.settings.batch, self.settings.seed, rank, world)

    @override
    def cost(self, model: nn.Module, batch: SeriesWindow) -> Tensor:
        return negative_log_likelihood(model, batch)

    @override
    def evaluate(self, model: nn.Module) -> dict[str, float]:
        return {} if self.quick is None else self.quick(model)

    @override
    def facts(self) -> dict[str, Any]:
        spec = self.model.spec
        lines = [
            self.task.parts.summary(),
            f"likelihood: {spec.likelihood}; lags: {', '.join(map(str, spec.lags))}",
            f"support: {SUPPORTS[spec.support]}; say --support for another",
            freak_note(self.task.parts.train),
        ]
        return {"likelihood": spec.likelihood, "summary": "\n".join(line for line in lines if line)}

    @override
    def job(self, rank: int = 0, world: int = 1) -> Job:
        job = super().job(rank, world)
        job.whole = self.whole
        job.calibrate = None if self.whole is None else self.whole.calibrate
        return job

    # Forecasts.

    @override
    def sample_paths(self, model: nn.Module, table: SeriesTable, horizon: int, samples: int, seed: int) -> Paths:
        """Paths that the model draws, as wide as the past of each series says, within the values that it can take."""
        forecaster: Any = model
        paths = self._raw_paths(forecaster, table, horizon, samples, seed)
        if forecaster.spec.lengths:
            paths = self._widened_by_own_past(forecaster, table, paths)
        return within_support(paths, table, forecaster.spec.support)

    def _raw_paths(self, model: Any, table: SeriesTable, horizon: int, samples: int, seed: int) -> Paths:
        """Paths as the model draws them, in the units of the series."""
        prepared = prepare(table, model.spec.likelihood, self.settings.logarithm)
        window = windows_at_end(prepared.table, model.spec, horizon).to(model.device)
        generator = torch.Generator(model.device).manual_seed(seed)
        return prepared.restore(model.sample_paths(window, horizon, samples, generator).double().cpu().numpy())

    def _widened_by_own_past(self, model: Any, table: SeriesTable, paths: Paths) -> Paths:
        """Paths stretched about their median by what came in the last windows of each history, step by step beyond."""
        trained, steps = model.spec.horizon, paths.shape[-1]
        reach = min(steps, _FARTHEST * trained)
        origins = [
            (i, length - w * trained)
            for i, length in enumerate(table.lengths.tolist())
            for w in range(1, _OWN_WINDOWS + -(-reach // trained))
            if length - w * trained >= _LEAST_HISTORY
        ]
        if not origins:
            return paths
        past = histories_at(without_freaks(table), origins, reach)
        whole = np.minimum(table.lengths, model.spec.reads)[past.series]
        alike = past.table.lengths >= _ALIKE * whole
        drawn = self._raw_paths(model, past.table, reach, _OWN_PATHS, 0)
        truth = past.truth
        if self.settings.logarithm:  # stretched there, so that they stay above 0
            with np.errstate(invalid="ignore", divide="ignore"):
                paths, drawn, truth = np.log(paths), np.log(drawn), np.log(np.where(truth > 0, truth, np.nan))
        quantiles = np.moveaxis(np.quantile(drawn, LEVELS, axis=1), 0, -1)
        middle = np.median(paths, axis=1, keepdims=True)
        factors = np.ones((len(table), steps))
        for first in range(0, reach, trained):
            part = slice(first, first + trained)
            own = own_factors(quantiles[:, part], truth[:, part], past.series, len(table), alike)
            factors[:, first:] = own[:, None]
        widened = middle + factors[:, None] * (paths - middle)
        return np.exp(widened) if self.settings.logarithm else widened

    @override
    def subject(self, given: str | None = None) -> "SeriesSubject":
        """The last steps of a few series: of a file, else of those that it was trained on."""
        spec = self.model.spec
        table = self.task.table if given is None else self.task.inputs(given)
        chosen = table.select(range(min(len(table), _SERIES_SHOWN)))
        window = windows_at_end(prepare(chosen, spec.likelihood, self.settings.logarithm).table, spec, 0)
        words = f"the last {spec.context} steps of {', '.join(chosen.names)}"
        length = int(chosen.lengths[0])
        steps = step_names(chosen.clock_times(0, length - spec.context, length))
        arguments = (window.to(self.model.device),)
        return SeriesSubject(arguments, words, steps=steps, given=None if given is None else table)


def _without_freaks(parts: SeriesParts) -> SeriesParts:
    """The parts with the freaks before the test missing: a validation window is not measured by them."""
    seen = without_freaks(parts.before_test).values
    values = [np.concatenate([a, b[len(a) :]]) for a, b in zip(seen, parts.table.values, strict=True)]
    return parts._replace(table=replace(parts.table, values=values))


@dataclass(frozen=True)
class SeriesSubject(Subject):
    """The last steps of a few series, for a look.

    ``given`` are the series of a person's own file; None for those that the model was trained on.
    """

    given: SeriesTable | None = None


def step_names(times: Any) -> tuple[str, ...]:
    """What steps are called: their dates, as short as they can be told apart, or their numbers.

    >>> step_names([3, 4])
    ('3', '4')
    """
    if not all(hasattr(time, "strftime") for time in times):
        return tuple(str(time) for time in times)
    whole_days = all(time.hour == time.minute == 0 for time in times)
    return tuple(f"{time:%Y-%m-%d}" if whole_days else f"{time:%m-%d %H:%M}" for time in times)
