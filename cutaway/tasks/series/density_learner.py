r"""The learner of `anomaly`: the distribution of the next value from lags and calendar, and the surprise of what came.

    cost = −mean log p(y_t | lags, calendar)                              Student's t, by `SeriesDensity`
    u_t = −log P(|Y_t − μ_t| ≥ |y_t − μ_t|)                               surprise: about Exp(1) while all is usual

Paths are drawn one value after another, each given those before it, so that it forecasts too.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from cutaway.data.batches import ShuffledRows
from cutaway.data.series.missing_values import filled
from cutaway.data.series.series_table import SeriesTable
from cutaway.models.forecasting.series_density import SeriesDensity
from cutaway.overriding import override
from cutaway.tasks.series.anomalies import Detection, Scores, SeriesAnomalies
from cutaway.tasks.series.density_inputs import Inputs, Scale, count_waves, inputs_of, lags_of, scale_of, waves_of
from cutaway.tasks.series.forecast_learner import ForecastLearner
from cutaway.tasks.subjects import Subject
from cutaway.training.jobs import Job

if TYPE_CHECKING:
    import pandas

_POINTS = 200_000  # of training, at most
_SHOWN = 48  # steps that a look puts into the model
_FARTHEST = 50.0  # spreads from the middle that a path can go


class DensityLearner(ForecastLearner):
    """A density of the next value; series are in units of their own spread."""

    unit = "values"
    task: SeriesAnomalies
    model: Any

    @classmethod
    def new(cls, settings: Any, task: SeriesAnomalies) -> "DensityLearner":
        """An untrained model for the series of a task."""
        train = task.parts.train
        lags, waves = lags_of(train), count_waves(train)
        torch.manual_seed(settings.seed)
        return cls(settings, task, SeriesDensity(lags=lags, calendar=waves, width=settings.width))

    # Training.

    @override
    def fit_first(self) -> None:
        """The inputs of every step that is learned from, and of the validation windows."""
        parts, lags, scales = self.task.parts, self.model.spec.lags, self.task.scales
        inputs = inputs_of(parts.train, lags, scales)
        there = np.flatnonzero(~np.isnan(inputs.y))
        there = there[:: max(len(there) // _POINTS, 1)]
        self.x, self.y = (torch.from_numpy(np.ascontiguousarray(part[there])) for part in (inputs.x, inputs.y))
        inputs = inputs_of(parts.before_test, lags, scales)  # lags reach back into the training part
        held = (inputs.step >= parts.train.lengths[inputs.series]) & ~np.isnan(inputs.y)
        self.held = Inputs(*(part[held] for part in inputs))

    @property
    def batch(self) -> int:
        """Values in a batch: fewer are taken whole."""
        return min(self.settings.batch, len(self.y))

    @override
    def batches(self, rank: int, world: int) -> ShuffledRows:
        return ShuffledRows(len(self.y), self.batch, self.settings.seed, rank, world)

    @override
    def cost(self, model: nn.Module, batch: Int[np.ndarray, "b"]) -> Tensor:
        rows = torch.from_numpy(batch)
        return -model(self.x[rows]).log_density(self.y[rows]).mean()

    @override
    @torch.no_grad()
    def evaluate(self, model: nn.Module) -> dict[str, float]:
        x, y = torch.from_numpy(self.held.x), torch.from_numpy(self.held.y)
        return {"loss": -model(x).log_density(y).mean().item()}

    @override
    def job(self, rank: int = 0, world: int = 1) -> Job:
        job = super().job(rank, world)
        job.units = self.batch
        job.whole = lambda model: (
            self.evaluate(model) | self.task.alarm_metrics(lambda table: self.scores(model, table, self.task.scales))
        )
        return job

    # Surprises.

    def scores(self, model: nn.Module, table: SeriesTable, scales: list[Scale]) -> list[Scores]:
        """The surprise of each step of every series."""
        return [scores for scores, _ in self.surprises(model, table, scales)]

    def surprises(
        self, model: nn.Module, table: SeriesTable, scales: list[Scale]
    ) -> list[tuple[Scores, Float[np.ndarray, "_"]]]:
        """For every series the surprise of each step, −log P(as far from the middle or further), and what was expected.

        NaN where a value or its lags are missing.
        """
        from scipy.special import stdtr

        density: Any = model
        inputs = inputs_of(table, density.spec.lags, scales)
        with torch.no_grad():
            location, scale, freedom = density(torch.from_numpy(inputs.x))
        mu, sigma = location.double().numpy(), scale.double().numpy()
        apart = np.abs(inputs.y - mu) / sigma
        u = -np.log(np.maximum(2 * stdtr(float(freedom), -apart), 1e-300))
        results = []
        for i, values in enumerate(table.values):
            scores, expected = np.full(len(values), np.nan), np.full(len(values), np.nan)
            rows = inputs.series == i
            scores[inputs.step[rows]] = u[rows]
            expected[inputs.step[rows]] = mu[rows] * scales[i].spread + scales[i].middle
            results.append((scores, expected))
        return results

    def detections(self, source: Any = None) -> tuple[SeriesTable, list[Detection]]:
        """The odd stretches of the series of training, or of others: thresholds come from before the test windows."""
        task = self.task
        usual = np.concatenate(self.scores(self.model, task.parts.before_test, task.scales))
        table = task.parts.table if source is None else task.read_table(source)
        surprises = self.surprises(self.model, table, task.scales_for(table))
        if all(np.isnan(scores).all() for scores, _ in surprises):
            raise self._too_short(table)
        return table, [
            Detection(name, scores, expected, task.detect(scores, usual, table))
            for name, (scores, expected) in zip(table.names, surprises)
        ]

    @override
    def predict(self, inputs: Any) -> "pandas.DataFrame":
        """Odd stretches of series: when they begin and end, the oddest value, the expected one, how unlikely, why."""
        return self.task.stretch_table(*self.detections(inputs))

    @override
    def subject(self, given: str | None = None) -> Subject:
        """The last steps of a series: of a file, else of training's, up to where the test windows begin."""
        if given is None:
            table, scales = self.task.parts.before_test, self.task.scales
        else:
            table = self.task.read_table(given)
            scales = [scale_of(values) for values in table.values]
        x = inputs_of(table, self.model.spec.lags, scales).x[-_SHOWN:]
        if not len(x):
            raise self._too_short(table)
        words = f"the last {len(x)} steps of {'a series' if given is None else 'your series'}, a row each"
        return Subject((torch.from_numpy(x),), words, source=given)

    def _too_short(self, table: SeriesTable) -> ValueError:
        return ValueError(
            f"a series must be longer than what the model looks back on, {max(self.model.spec.lags):,} steps, got at "
            f"most {int(table.lengths.max()):,} values in {table.name}; give more of its past"
        )

    # Forecasts.

    @override
    def sample_paths(
        self, model: nn.Module, table: SeriesTable, horizon: int, samples: int, seed: int
    ) -> Float[np.ndarray, "rows samples horizon"]:
        """Values drawn one after another, each from the distribution given those before."""
        density: Any = model
        spec = density.spec
        generator = np.random.Generator(np.random.Philox(seed))
        longest, rows = max(spec.lags), len(table)
        scales = [scale_of(values) for values in table.values]
        past = np.zeros((rows, samples, longest + horizon))
        waves = np.zeros((rows, horizon, spec.calendar), np.float32)
        for i, values in enumerate(table.values):
            z = filled((values - scales[i].middle) / scales[i].spread, "forward")[-longest:]
            past[i, :, longest - len(z) : longest] = z
            waves[i] = waves_of(table, i, len(values), len(values) + horizon)
        for h in range(horizon):
            lagged = past[:, :, [longest + h - lag for lag in spec.lags]]
            ahead = np.broadcast_to(waves[:, None, h], (rows, samples, spec.calendar))
            with torch.no_grad():
                x = torch.from_numpy(np.concatenate([lagged, ahead], -1).astype(np.float32))
                location, scale, freedom = density(x)
            drawn = generator.standard_t(float(freedom), size=(rows, samples))
            past[:, :, longest + h] = np.clip(location.numpy() + scale.numpy() * drawn, -_FARTHEST, _FARTHEST)
        spread = np.array([scale.spread for scale in scales])[:, None, None]
        middle = np.array([scale.middle for scale in scales])[:, None, None]
        return past[:, :, longest:] * spread + middle
