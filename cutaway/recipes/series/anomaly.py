r"""Odd points and stretches of series: a model of the next value, and alarms where what came was too unlikely."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from cutaway.recipes.series.forecast_settings import ForecastRecipe, SeriesParts
from cutaway.recipes.settings import DATA, FIRST, MODEL, setting
from cutaway.tasks.abilities.ability import Offer

if TYPE_CHECKING:
    import numpy as np
    import pandas
    from jaxtyping import Float
    from torch import nn

    from cutaway.data.series.series_table import SeriesTable
    from cutaway.runs.run import Run
    from cutaway.tasks.series.alarms import Stretch
    from cutaway.tasks.series.density_inputs import Inputs, Scale
    from cutaway.tasks.subjects import Subject
    from cutaway.training.jobs import Job

_VALIDATION, _TEST = 0.1, 0.2  # shares of every series
_POINTS = 200_000  # of training, at most
_SHOWN = 48  # steps that a look puts into the model
_LATE = 2  # steps after its end in which an error may still be noticed


class Detection(NamedTuple):
    """The surprise of every step of a series, what was expected, and the stretches that raised an alarm."""

    name: str
    scores: "Float[np.ndarray, 'n']"
    expected: "Float[np.ndarray, 'n']"
    stretches: "list[Stretch]"


@dataclass(frozen=True)
class AnomalyRecipe(ForecastRecipe):
    """Odd points and stretches of series, found by how unlikely they are given what came before."""

    name: ClassVar[str] = "anomaly"
    abilities: ClassVar[tuple[Offer, ...]] = (
        Offer("test"),
        Offer("predict", takes="series.csv", gives="series in; their odd stretches out"),
    )
    quality: ClassVar[str] = (
        "Spikes, shifts and stuck stretches put into the test part, 2 false alarms a year asked for: Beijing's hourly "
        "pm2.5 (43,800 hours, 4 s of one core) precision 0.97, recall 0.83, and 2.0 alarms a year with nothing put in; "
        "a z-score 1.00, 0.11. Air pressure 1.00, 0.77, 1.0; ETTh1's oil temperature 1.00, 0.29, 0. The rate is kept "
        "roughly: 5.0 on ETTh1's HUFL, 3.0 on daily temperatures, where a z-score is better (F1 0.85 and 0.57, ours "
        "0.67 and 0.50)."
    )

    data: str = "city-power"
    alarms_per_year: float = setting(2.0, FIRST)
    """false alarms that you can live with, a year and series: it sets the threshold"""
    steps: int = 600
    batch: int = 256
    rate: float = 3e-3
    validation: int = setting(0, DATA)
    """windows of one horizon to evaluate on; 0 for a tenth of every series"""
    windows: int = setting(0, DATA)
    """windows of one horizon that are kept for `cutaway test`; 0 for a fifth of every series"""
    width: int = setting(32, MODEL)
    """units of the hidden layer"""
    evaluate_every: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.alarms_per_year > 0:
            raise ValueError(f"alarms_per_year must be above 0, got {self.alarms_per_year}; try alarms_per_year=2")

    def horizon_for(self, table: "SeriesTable") -> int:
        return self.horizon or max(min(table.season, 48), 2)

    def parts(self, run: "Run | None" = None) -> SeriesParts:
        """The series in three parts, by shares of the shortest, unless windows are asked for."""
        table = self.read(run)
        horizon = self.horizon_for(table)
        kept = table.longer_than(max(10 * horizon, 50))[0]
        if not len(kept):
            raise ValueError(
                f"odd points need a history to stand out from, at least {max(10 * horizon, 50) + 1:,} values, got "
                f"series of at most {int(table.lengths.max()):,} in {table.name}; give longer ones"
            )
        room = int(kept.lengths.min()) // horizon
        validation, test = (
            asked or max(int(room * share), 1)
            for asked, share in ((self.validation, _VALIDATION), (self.windows, _TEST))
        )
        return SeriesParts(kept, horizon, validation, test).before_outage()

    def job(self, rank: int = 0, world: int = 1) -> "Job":
        import numpy as np
        import torch

        from cutaway.data.batches import ShuffledRows
        from cutaway.models.forecasting.series_density import SeriesDensity
        from cutaway.tasks.series.density_inputs import count_waves, inputs_of, lags_of, scale_of
        from cutaway.training.jobs import Job

        parts = self.parts()
        train = parts.train
        lags, scales = lags_of(train), [scale_of(values) for values in train.values]
        found = inputs_of(train, lags, scales)
        there = np.flatnonzero(~np.isnan(found.y))
        there = there[:: max(len(there) // _POINTS, 1)]
        x, y = (torch.from_numpy(np.ascontiguousarray(part[there])) for part in (found.x, found.y))
        torch.manual_seed(self.seed)
        model = SeriesDensity(lags=lags, calendar=count_waves(train), width=self.width)
        batch = min(self.batch, len(y))

        def objective(model: "nn.Module", rows: Any) -> Any:
            chosen = torch.from_numpy(rows)
            return -model(x[chosen]).log_density(y[chosen]).mean()

        held = self._held_out(parts, lags, scales)
        told = self.facts(parts) | {"scales": [list(scale) for scale in scales], "names": train.names}
        told["baselines"] = {"z-score": self.z_score(parts)}
        return Job(
            model=model,
            batches=ShuffledRows(len(y), batch, self.seed, rank, world),
            objective=objective,
            evaluate=lambda model: {"loss": self._loss(model, held)},
            whole=lambda model: {"loss": self._loss(model, held)} | self.measure_alarms(model, parts),
            units=batch,
            unit="values",
            data=told,
        )

    def facts(self, parts: SeriesParts) -> dict[str, Any]:
        return super().facts(parts._replace(validation_windows=0))

    def _held_out(self, parts: SeriesParts, lags: tuple[int, ...], scales: "list[Scale]") -> "Inputs":
        """The steps of the validation windows, with lags that reach back into the training part."""
        from cutaway.tasks.series.density_inputs import Inputs, inputs_of

        found = inputs_of(parts.before_test, lags, scales)
        keep = found.step >= parts.train.lengths[found.series]
        keep &= found.y == found.y
        return Inputs(*(part[keep] for part in found))

    def _loss(self, model: "nn.Module", held: "Inputs") -> float:
        import torch

        with torch.no_grad():
            x, y = torch.from_numpy(held.x), torch.from_numpy(held.y)
            return -model(x).log_density(y).mean().item()

    # ------------------------------------------------------------------------------------------------------------------

    def surprises(
        self, model: "nn.Module", table: "SeriesTable", scales: "list[Scale]"
    ) -> "list[tuple[np.ndarray, np.ndarray]]":
        """For every series the surprise of each step, −log P(as far from the middle or further), and what was expected.

        NaN where a value or its lags are missing.
        """
        import numpy as np
        import torch
        from scipy.special import stdtr

        from cutaway.tasks.series.density_inputs import inputs_of

        spec: Any = model.spec
        found = inputs_of(table, spec.lags, scales)
        with torch.no_grad():
            location, scale, freedom = model(torch.from_numpy(found.x))
        mu, sigma = location.double().numpy(), scale.double().numpy()
        apart = np.abs(found.y - mu) / sigma
        u = -np.log(np.maximum(2 * stdtr(float(freedom), -apart), 1e-300))
        results = []
        for i, values in enumerate(table.values):
            scores, expected = np.full(len(values), np.nan), np.full(len(values), np.nan)
            rows = found.series == i
            scores[found.step[rows]] = u[rows]
            expected[found.step[rows]] = mu[rows] * scales[i].spread + scales[i].middle
            results.append((scores, expected))
        return results

    def detect(self, scores: "np.ndarray", usual: "np.ndarray", table: "SeriesTable") -> "list[Stretch]":
        """The stretches of one series with surprises above the thresholds that ``usual`` ones set."""
        import numpy as np

        from cutaway.tasks.series.alarms import (
            LOUD,
            POINT,
            QUIET,
            Rule,
            explained,
            merged,
            stretch_scores,
            threshold,
        )

        window = self._window(table)
        year = table.grid.steps_a_year if table.grid is not None else 365.0
        probability = min(self.alarms_per_year / year / 3, 0.3)  # a third each: points, loud and quiet stretches
        long, usual_long = stretch_scores(scores, window), stretch_scores(usual, window)
        kinds = ((POINT, scores, usual), (LOUD, long, usual_long), (QUIET, -np.log(long), -np.log(usual_long)))
        rules = [
            Rule(why, np.nan_to_num(own, nan=-np.inf) > threshold(common, probability), own, common)
            for why, own, common in kinds
        ]
        alarms = np.logical_or.reduce([rule.alarms for rule in rules])
        return [explained(stretch, rules) for stretch in merged(alarms, scores, window)]

    def _window(self, table: "SeriesTable") -> int:
        return max(min(table.season // 2, 24), 4)

    def detections(self, run: "Run", source: Any = None) -> "tuple[SeriesTable, list[Detection]]":
        """The odd stretches of the series of training, or of others: thresholds come from before the test windows."""
        import numpy as np

        from cutaway.tasks.series.density_inputs import Scale, scale_of

        parts = self.parts(run)
        known = [Scale(*pair) for pair in run.about["data"]["scales"]]
        usual = _joined([scores for scores, _ in self.surprises(run.model, parts.before_test, known)])
        if source is None:
            table, scales = parts.table, known
        else:
            table = self.read(run, source)
            places = {name: i for i, name in enumerate(parts.table.names)}
            which = [places.get(name) for name in table.names]
            scales = [known[i] if i is not None else scale_of(v) for i, v in zip(which, table.values)]
        found = self.surprises(run.model, table, scales)
        if all(np.isnan(scores).all() for scores, _ in found):
            raise self._too_short(run, table)
        return table, [
            Detection(name, scores, expected, self.detect(scores, usual, table))
            for name, (scores, expected) in zip(table.names, found)
        ]

    def subject(self, run: "Run", given: str | None = None) -> "Subject":
        """The last steps of a series: of a file, else of training's, up to where the test windows begin."""
        import torch

        from cutaway.tasks.series.density_inputs import Scale, inputs_of, scale_of
        from cutaway.tasks.subjects import Subject

        spec: Any = run.model.spec
        table = self.parts(run).before_test if given is None else self.read(run, given)
        known = [Scale(*pair) for pair in run.about["data"]["scales"]]
        scales = known if given is None else [scale_of(values) for values in table.values]
        x = inputs_of(table, spec.lags, scales).x[-_SHOWN:]
        if not len(x):
            raise self._too_short(run, table)
        words = f"the last {len(x)} steps of {'a series' if given is None else 'your series'}, a row each"
        return Subject((torch.from_numpy(x),), words, source=given)

    def _too_short(self, run: "Run", table: "SeriesTable") -> ValueError:
        spec: Any = run.model.spec
        return ValueError(
            f"a series must be longer than what the model looks back on, {max(spec.lags):,} steps, got at most "
            f"{int(table.lengths.max()):,} values in {table.name}; give more of its past"
        )

    def predict(self, run: "Run", inputs: Any = None) -> "pandas.DataFrame":
        """Odd stretches of series: when they begin and end, the oddest value, the expected one, how unlikely, why."""
        from cutaway.extras import need

        pd = need("pandas", "series", "a table of odd stretches")
        table, found = self.detections(run, inputs)
        rows = []
        for i, one in enumerate(found):
            for stretch in one.stretches:
                times = table.zoned_times(i, stretch.start, stretch.stop)
                rows.append(
                    {
                        "unique_id": one.name,
                        "start": times[0],
                        "end": times[-1],
                        "steps": stretch.stop - stretch.start,
                        "value": table.values[i][stretch.peak],
                        "expected": one.expected[stretch.peak],
                        "probability": stretch.probability,
                        "why": stretch.why,
                    }
                )
        columns = ["unique_id", "start", "end", "steps", "value", "expected", "probability", "why"]
        return pd.DataFrame(rows, columns=columns)

    # ------------------------------------------------------------------------------------------------------------------

    def measure_alarms(self, model: "nn.Module", parts: SeriesParts, test: bool = False) -> dict[str, float]:
        """Alarms a year where nothing was changed, and precision, recall and F1 for errors put into the held-out part.

        Real series have odd points of their own, which count as false alarms here.
        """
        from cutaway.tasks.series.density_inputs import scale_of

        scales = [scale_of(values) for values in parts.train.values]

        def scorer(table: "SeriesTable") -> "list[np.ndarray]":
            return [scores for scores, _ in self.surprises(model, table, scales)]

        return self._measured(scorer, parts, test)

    def z_score(self, parts: SeriesParts, test: bool = False) -> dict[str, Any]:
        """The naive rule: how far a value is from the mean, in standard deviations; rule and metrics."""
        import numpy as np

        means = [(float(np.nanmean(v)), float(np.nanstd(v)) or 1.0) for v in parts.train.values]

        def scorer(table: "SeriesTable") -> "list[np.ndarray]":
            return [np.abs(v - mean) / std for v, (mean, std) in zip(table.values, means)]

        rule = "values too many standard deviations from the mean, with as many false alarms a year"
        return {"rule": rule, "metrics": self._measured(scorer, parts, test)}

    def _measured(self, scorer: Any, parts: SeriesParts, test: bool) -> dict[str, float]:
        from dataclasses import replace

        import numpy as np

        from cutaway.tasks.series.alarms import Stretch, inject, score_alarms

        usual_part, whole = (parts.before_test, parts.table) if test else (parts.train, parts.before_test)
        starts = usual_part.lengths.tolist()
        injected = [
            inject(values[start:], whole.season, self.seed + i, every=min(max((len(values) - start) // 4, 20), 250))
            for i, (values, start) in enumerate(zip(whole.values, starts))
        ]
        spoilt = replace(
            whole, values=[np.concatenate([v[:s], one.values]) for v, s, one in zip(whole.values, starts, injected)]
        )
        usual, plain, odd = _joined(scorer(usual_part)), scorer(whole), scorer(spoilt)
        alarms = steps = 0
        found: list[Stretch] = []
        events: list[Stretch] = []
        offset = 0
        for i, start in enumerate(starts):
            length = len(whole.values[i])
            alarms += sum(one.stop > start for one in self.detect(plain[i], usual, whole))
            steps += length - start
            shift = offset - start
            here = [one for one in self.detect(odd[i], usual, whole) if one.stop > start]
            found += [Stretch(one.start + shift, one.stop + shift, one.peak + shift) for one in here]
            events += [Stretch(e.start + offset, e.stop + offset, e.peak + offset) for e in injected[i].events]
            offset += length - start + 1000  # no stretch reaches into the next series
        year = whole.grid.steps_a_year if whole.grid is not None else 365.0
        late = _LATE + self._window(whole)
        return score_alarms(found, events, late) | {"alarms_per_year": alarms * year / max(steps, 1)}

    def test_metrics(self, run: "Run") -> dict[str, float]:
        parts = self.parts(run)
        naive = self.z_score(parts, test=True)["metrics"]
        return self.measure_alarms(run.model, parts, test=True) | {f"baseline_{k}": v for k, v in naive.items()}

    def sample_paths(
        self, model: "nn.Module", table: "SeriesTable", horizon: int, samples: int, seed: int
    ) -> "Float[np.ndarray, 'rows samples horizon']":
        """Values drawn one after another, each from the distribution given those before."""
        import numpy as np
        import torch

        from cutaway.data.series.missing_values import filled
        from cutaway.tasks.series.density_inputs import scale_of, waves_of

        spec: Any = model.spec
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
                location, scale, freedom = model(x)
            drawn = generator.standard_t(float(freedom), size=(rows, samples))
            past[:, :, longest + h] = np.clip(location.numpy() + scale.numpy() * drawn, -50.0, 50.0)
        spread = np.array([scale.spread for scale in scales])[:, None, None]
        middle = np.array([scale.middle for scale in scales])[:, None, None]
        return past[:, :, longest:] * spread + middle


def _joined(scores: "list[np.ndarray]") -> "np.ndarray":
    import numpy as np

    return np.concatenate(scores)


__all__ = ["AnomalyRecipe", "Detection"]
