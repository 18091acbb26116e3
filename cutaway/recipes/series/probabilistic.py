r"""What the recipes `deepar` and `forecaster` share: a distribution of every next value, trained by its likelihood.

    cost = −mean over windows and steps of log p(y_t | y_{<t})             missing values do not count

One configuration for all data: lags and seasons follow from the frequency, the likelihood from the values. The weights
kept are those with the lowest quantile loss of sampled paths on the validation windows, the geometric mean of that in
which large series weigh more and that in which all weigh alike: of the first alone, a few huge series would choose. On
these windows the spread of paths is calibrated too, for histories of several lengths, and again on the last windows of
each series that is forecast (see calibration.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from cutaway.recipes.checks import expect_at_least, expect_share
from cutaway.recipes.series.forecast_settings import ForecastRecipe, SeriesParts
from cutaway.recipes.settings import FIRST, MODEL, setting

if TYPE_CHECKING:
    import numpy as np
    from jaxtyping import Float
    from torch import Tensor, nn

    from cutaway.data.series.series_table import SeriesTable
    from cutaway.models.forecasting.predictive import ForecastSpec
    from cutaway.models.forecasting.series_windows import SeriesWindow
    from cutaway.runs.run import Run
    from cutaway.tasks.series.histories import Histories
    from cutaway.tasks.series.prepared_series import PreparedSeries
    from cutaway.tasks.series.series_subjects import SeriesSubject
    from cutaway.training.jobs import Job

_ROWS_EVALUATED = 200  # validation windows looked at while training; all of them at the end
_PATHS_EVALUATED = 50
_ENOUGH_ROWS = 64  # validation windows wanted: few series have several each
_HELD_OUT = 0.2  # of the shortest series, at most, for validation
_SERIES_SHOWN = 4  # whose steps go into the model for a look
_SMALL_COUNT = 50.0  # counts of a larger median are as good as real numbers
_DISPERSED = 0.5  # least variance of counts, as a share of their mean, that a negative binomial can have
_OWN_WINDOWS = 8  # last windows of a history that calibrate its forecast
_OWN_PATHS = 50
_LEAST_HISTORY = 8  # values before such a window
_ALIKE = 0.5  # of the history before a window, to be like the forecast
_LEAST_SEASON = 4  # shorter ones are in sight at once


@dataclass(frozen=True)
class ProbabilisticRecipe(ForecastRecipe):
    """Settings of both recipes."""

    likelihood: Literal["auto", "student-t", "gaussian", "negative-binomial"] = setting("auto", FIRST)
    """distribution of the next value; auto: negative-binomial for small counts, else student-t"""
    support: Literal["auto", "real", "nonnegative", "counts", "unit"] = setting("auto", MODEL)
    """values that series can take: any, from 0 up, whole numbers from 0 up, from 0 to 1; auto: found from the values"""
    logarithm: bool = setting(False, MODEL)
    """forecast the logarithms of values above 0, whose steps are log returns; losses are then of these"""
    context: int = setting(0, MODEL)
    """steps that the network reads before a forecast; 0 for as many as the horizon, at least 24"""
    width: int = setting(48, FIRST)
    """units of a layer"""
    depth: int = setting(2, FIRST)
    """layers"""
    embedding: int = setting(4, MODEL)
    """width of the vector of a static category"""
    dropout: float = setting(0.1, MODEL)
    """share of values dropped in training"""
    steps: int = 250
    """optimizer steps"""
    batch: int = 64
    """windows in a batch"""
    rate: float = 3e-3
    """full learning rate"""
    warmup: int = 50
    """steps in which the rate rises from zero"""
    evaluate_every: int = 50
    """steps between evaluations"""

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_at_least(self, 0, "context")
        expect_at_least(self, 1, "width", "depth", "embedding")
        expect_share(self, "dropout")

    def model_spec(self, sizes: dict[str, Any]) -> "ForecastSpec":
        """The family's spec of these sizes."""
        raise self._cannot("be trained")

    def validation_windows(self, before_test: "SeriesTable", horizon: int) -> int:
        """As asked for; a few long series have several each by default, so that a choice by them holds."""
        if self.validation != 1:
            return self.validation
        room = int(_HELD_OUT * int(before_test.lengths.min())) // horizon
        return max(1, min(-(-_ENOUGH_ROWS // len(before_test)), room))

    def spec(self, parts: SeriesParts) -> "ForecastSpec":
        """The model's design, from the frequency and the values of the series."""
        from cutaway.models.forecasting.running_scales import BURN
        from cutaway.tasks.series.baselines.autoregression import own_lags
        from cutaway.tasks.series.baselines.simple_methods import choose_own_lags
        from cutaway.tasks.series.prepared_series import prepare
        from cutaway.tasks.series.window_batches import covariate_names, typical_unit

        table, horizon = parts.table, parts.horizon
        seasons = table.seasons
        lags = own_lags(seasons)[-1]
        chosen = choose_own_lags(parts.train, horizon)
        context = self.context or max(horizon, 24)
        reads = lags[-1] + BURN + context
        likelihood = self.likelihood_for(parts.train)
        return self.model_spec(
            {
                "lags": lags,
                "seasons": seasons,
                "expert_lags": chosen,
                "context": context,
                "horizon": horizon,
                "likelihood": likelihood,
                "covariates": len(covariate_names(table)),
                "static": tuple(len(table.levels[name]) + 1 for name in table.static if name in table.levels),
                "embedding": self.embedding,
                "width": self.width,
                "depth": self.depth,
                "dropout": self.dropout,
                "windowed": True,
                "lengths": calibrated_lengths(seasons, context, reads),
                "typical": typical_unit(prepare(parts.train, likelihood, self.logarithm).table, lags, chosen),
                "support": self.support_for(parts.train),
            }
        )

    def likelihood_for(self, train: "SeriesTable") -> str:
        """The likelihood as asked for, or by the values of the training part."""
        import warnings

        import numpy as np

        values = np.concatenate(train.values)
        values = values[~np.isnan(values)]
        small = bool(len(values)) and train.is_count and float(np.median(values)) < _SMALL_COUNT
        small = small and _is_dispersed(train)
        if self.logarithm and self.likelihood == "negative-binomial":
            raise ValueError("a logarithm is no count, got logarithm=True with a negative-binomial; use student-t")
        if self.likelihood == "auto":
            return "negative-binomial" if small and not self.logarithm else "student-t"
        if self.likelihood == "negative-binomial" and not train.is_count:
            name, wrong = next((n, v[bad][0]) for n, v in zip(train.names, train.values) if (bad := _no_count(v)).any())
            raise ValueError(
                f"a negative binomial is for counts, whole numbers from 0 up, got {wrong:g} in series {name!r}; "
                "use likelihood=student-t"
            )
        if self.likelihood == "gaussian" and small:
            warnings.warn(
                f"the values of {train.name} are small counts, which a Gaussian fits badly; "
                "likelihood=negative-binomial (or auto) is made for them",
                stacklevel=2,
            )
        return self.likelihood

    def support_for(self, train: "SeriesTable") -> str:
        """The support as asked for, or by the values of the training part."""
        from cutaway.tasks.series.prepared_series import without_freaks
        from cutaway.tasks.series.supports import expect_support, find_support

        if self.support == "auto":
            return find_support(without_freaks(train))
        expect_support(train, self.support)
        return self.support

    def job(self, rank: int = 0, world: int = 1) -> "Job":
        import torch

        from cutaway.models.by_spec import from_spec
        from cutaway.tasks.series.prepared_series import freak_note, prepare
        from cutaway.tasks.series.window_batches import WindowBatches, series_tensors
        from cutaway.training.jobs import Job

        parts = self.parts()
        spec = self.spec(parts)
        torch.manual_seed(self.seed)
        model: Any = from_spec(spec)
        tensors = series_tensors(prepare(parts.train, spec.likelihood, self.logarithm).table, spec)
        model.standardise(tensors.covariates)
        told = self.facts(parts) | {"likelihood": spec.likelihood}
        told["summary"] += f"\nlikelihood: {spec.likelihood}; lags: {', '.join(map(str, spec.lags))}"
        told["summary"] += f"\nsupport: {_SUPPORTS[spec.support]}; say --support for another"
        freaks = freak_note(parts.train)
        told["summary"] += f"\n{freaks}" * bool(freaks)
        held = _without_freaks(parts).validation() if parts.validation_windows else None
        whole = None if held is None else _Evaluation(held, spec, self.logarithm, len(held.series), self.samples)
        return Job(
            model=model,
            batches=WindowBatches(tensors, spec, self.batch, self.seed, rank, world),
            objective=negative_log_likelihood,
            evaluate=_Evaluation(held, spec, self.logarithm, _ROWS_EVALUATED, _PATHS_EVALUATED),
            whole=whole,
            calibrate=None if whole is None else whole.calibrate,
            units=self.batch,
            unit="windows",
            data=told,
            better="balanced_wql",
        )

    def sample_paths(
        self, model: "nn.Module", table: "SeriesTable", horizon: int, samples: int, seed: int
    ) -> "Float[np.ndarray, 'rows samples horizon']":
        from cutaway.tasks.series.supports import within_support

        forecaster: Any = model
        paths = self._raw_paths(forecaster, table, horizon, samples, seed)
        if forecaster.spec.lengths:
            paths = self._widened_by_own_past(forecaster, table, paths)
        return within_support(paths, table, forecaster.spec.support)

    def _raw_paths(self, model: Any, table: "SeriesTable", horizon: int, samples: int, seed: int) -> "np.ndarray":
        """Paths as the model draws them, in the units of the series."""
        import torch

        from cutaway.tasks.series.prepared_series import prepare
        from cutaway.tasks.series.window_batches import windows_at_end

        prepared = prepare(table, model.spec.likelihood, self.logarithm)
        window = on_device(windows_at_end(prepared.table, model.spec, horizon), model.device)
        generator = torch.Generator(model.device).manual_seed(seed)
        drawn = model.sample_paths(window, horizon, samples, generator).double().cpu().numpy()
        return prepared.restore(drawn)

    def _widened_by_own_past(self, model: Any, table: "SeriesTable", paths: "np.ndarray") -> "np.ndarray":
        """Paths stretched about their median by what came in the last windows of each history, step by step beyond."""
        import numpy as np

        from cutaway.tasks.series.backtesting import LEVELS
        from cutaway.tasks.series.calibration import own_factors
        from cutaway.tasks.series.histories import histories_at
        from cutaway.tasks.series.prepared_series import without_freaks

        trained, steps = model.spec.horizon, paths.shape[-1]
        reach = min(steps, 3 * trained)
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
        if self.logarithm:  # stretched there, so that they stay above 0
            with np.errstate(invalid="ignore", divide="ignore"):
                paths, drawn, truth = np.log(paths), np.log(drawn), np.log(np.where(truth > 0, truth, np.nan))
        quantiles = np.moveaxis(np.quantile(drawn, LEVELS, axis=1), 0, -1)
        middle = np.median(paths, axis=1, keepdims=True)
        factors = np.ones((len(table), steps))
        for first in range(0, reach, trained):
            part = slice(first, first + trained)
            found = own_factors(quantiles[:, part], truth[:, part], past.series, len(table), alike)
            factors[:, first:] = found[:, None]
        widened = middle + factors[:, None] * (paths - middle)
        return np.exp(widened) if self.logarithm else widened

    def subject(self, run: "Run", given: str | None = None) -> "SeriesSubject":
        """The last steps of a few series: of a file, else of those that it was trained on."""
        from cutaway.tasks.series.prepared_series import prepare
        from cutaway.tasks.series.series_subjects import SeriesSubject, step_names
        from cutaway.tasks.series.window_batches import windows_at_end

        model: Any = run.model
        table = self.read(run, given) if given is None else self.read_new(run, given)
        chosen = table.select(range(min(len(table), _SERIES_SHOWN)))
        prepared = prepare(chosen, model.spec.likelihood, self.logarithm)
        window = windows_at_end(prepared.table, model.spec, 0)
        words = f"the last {model.spec.context} steps of {', '.join(chosen.names)}"
        length = int(chosen.lengths[0])
        steps = step_names(chosen.clock_times(0, length - model.spec.context, length))
        arguments = (on_device(window, model.device),)
        return SeriesSubject(arguments, words, steps=steps, given=None if given is None else table)


class _Evaluation:
    """Measures a model on validation windows; windows and constants are made once, at the first call."""

    def __init__(
        self, held: "Histories | None", spec: "ForecastSpec", logarithm: bool, rows: int, samples: int
    ) -> None:
        self.held, self.spec, self.logarithm, self.rows, self.samples = held, spec, logarithm, rows, samples
        self.window: SeriesWindow | None = None
        self.prepared: PreparedSeries | None = None

    def __call__(self, model: Any) -> dict[str, float]:
        from cutaway.tasks.series.backtesting import measure

        if self.held is None:
            return {}
        paths, quantiles = self._forecast(model)
        assert self.window is not None
        loss = self._loss(model, on_device(self.window, model.device))
        found = measure(self.held, quantiles, self.held.table.season, paths)
        return {"loss": loss} | found | {"balanced_wql": (found["wql"] * found["unweighted_wql"]) ** 0.5}

    def calibrate(self, model: Any) -> None:
        """Sets how much the model's paths are widened at each step, by what came in these windows."""
        import numpy as np
        import torch

        from cutaway.tasks.series.backtesting import LEVELS
        from cutaway.tasks.series.calibration import widening

        model.widening.fill_(1.0)
        found = []
        for steps in self.spec.lengths or (0,):
            shorter = self if not steps else self._with_history(steps)
            _, quantiles = shorter._forecast(model)
            assert shorter.held is not None
            factors = widening(quantiles, shorter.held.truth, LEVELS)
            if steps and steps < self.spec.reads:  # little to go by: wider by the whole way
                factors = np.maximum(factors**2, factors)
            found.append(torch.from_numpy(factors))
        model.widening.copy_(torch.stack(found).view_as(model.widening))

    def _with_history(self, steps: int) -> "_Evaluation":
        """The same windows with the last ``steps`` values before them alone."""
        from cutaway.tasks.series.histories import shortened

        assert self.held is not None
        rows, samples = min(self.rows, _ROWS_EVALUATED), min(self.samples, _PATHS_EVALUATED)
        return _Evaluation(shortened(self.held, steps), self.spec, self.logarithm, rows, samples)

    def _forecast(self, model: Any) -> "tuple[np.ndarray, np.ndarray]":
        """Paths of the windows, the same ones for the same weights, and their quantiles."""
        import torch

        from cutaway.tasks.series.backtesting import LEVELS
        from cutaway.tasks.series.prepared_series import prepare
        from cutaway.tasks.series.supports import path_quantiles, whole_series, within_support
        from cutaway.tasks.series.window_batches import windows_at_end

        assert self.held is not None
        if self.window is None:
            self.held = _some_rows(self.held, self.rows)
            self.prepared = prepare(self.held.table, self.spec.likelihood, self.logarithm)
            self.window = windows_at_end(self.prepared.table, self.spec, self.spec.horizon)
        window = on_device(self.window, model.device)
        generator = torch.Generator(model.device).manual_seed(0)
        assert self.prepared is not None
        drawn = model.sample_paths(window, self.spec.horizon, self.samples, generator).double().cpu().numpy()
        paths = within_support(self.prepared.restore(drawn), self.held.table, self.spec.support)
        return paths, path_quantiles(paths, LEVELS, whole_series(self.held.table, self.spec.support))

    def _loss(self, model: Any, window: "SeriesWindow") -> float:
        """The mean −log p of the values that came, each given those before it."""
        import torch

        assert self.held is not None
        assert self.prepared is not None
        truth = torch.from_numpy(self.prepared.apply(self.held.truth)).to(window.values)
        values = torch.cat([window.values, truth], 1)
        return negative_log_likelihood(model, window._replace(values=values), self.spec.horizon).item()


_SUPPORTS = {
    "real": "any number, as there are values below 0",
    "nonnegative": "no value below 0, as there is none",
    "counts": "whole numbers from 0 up, as all values are",
    "unit": "numbers from 0 to 1",
    "own": "each series by its own values: those never below 0 stay there, counts stay counts",
}


def _without_freaks(parts: SeriesParts) -> SeriesParts:
    """The parts with the freaks before the test missing: a validation window is not measured by them."""
    from dataclasses import replace

    import numpy as np

    from cutaway.tasks.series.prepared_series import without_freaks

    seen = without_freaks(parts.before_test).values
    values = [np.concatenate([a, b[len(a) :]]) for a, b in zip(seen, parts.table.values, strict=True)]
    return parts._replace(table=replace(parts.table, values=values))


def calibrated_lengths(seasons: Sequence[int], context: int, reads: int) -> tuple[int, ...]:
    """Lengths of histories that paths are calibrated for: where a forecast changes, as a season comes into sight.

    Between them factors follow straight lines, so there is one before the first season, too.

    >>> calibrated_lengths((24, 168), 48, 640), calibrated_lengths((), 24, 100)
    ((4, 12, 26, 50, 170, 320, 640), (4, 26, 50, 100))
    """
    seasonal = {season + 2 for season in seasons if season > _LEAST_SEASON} | {s // 2 for s in seasons[:1] if s > 8}
    return tuple(sorted(n for n in {4, context + 2, reads // 2, reads} | seasonal if n <= reads))


def _is_dispersed(train: "SeriesTable") -> bool:
    """Whether counts vary as much as a negative binomial does, which has at least its mean as variance."""
    import numpy as np

    seen = [values[~np.isnan(values)] for values in train.values]
    ratios = [float(v.var() / v.mean()) for v in seen if len(v) and v.mean() > 0]
    return not ratios or float(np.median(ratios)) >= _DISPERSED


def _no_count(values: "Float[np.ndarray, '_']") -> "np.ndarray":
    """Which values are neither missing nor a whole number from 0 up."""
    return (values < 0) | (values % 1 > 0)


def _some_rows(held: "Histories", most: int) -> "Histories":
    """Every k-th window, so that there are at most ``most``."""
    step = -(-len(held.series) // most)
    if step == 1:
        return held
    chosen = range(0, len(held.series), step)
    return type(held)(held.table.select(list(chosen)), held.series[::step], held.truth[::step])


def negative_log_likelihood(model: "nn.Module", window: "SeriesWindow", steps: int | None = None) -> "Tensor":
    """−log p of a value, in the mean over those that are there; of the last ``steps`` modelled steps, or all."""
    import torch

    from cutaway.models.forecasting.predictive import modelled_values

    forecaster: Any = model
    window = on_device(window, next(model.parameters()).device)
    y = modelled_values(window)
    there = ~y.isnan()
    found = torch.where(there, forecaster(window).log_density(y.nan_to_num(0.0)), 0.0)
    if steps is not None:
        found, there = found[:, -steps:], there[:, -steps:]
    return -found.sum() / there.sum().clamp(min=1)


def on_device(window: "SeriesWindow", device: Any) -> "SeriesWindow":
    return type(window)(*(part.to(device) for part in window))


__all__ = ["ProbabilisticRecipe", "negative_log_likelihood"]
