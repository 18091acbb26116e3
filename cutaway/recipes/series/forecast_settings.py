r"""What recipes that forecast series share: reading them, windows for validation and test, forecasts and backtests.

    |———————— train ————————|·· validation ··|·· test ··|        windows of one horizon each, at the end of every series

A recipe of this kind gives a model, its batches and objective, and `sample_paths`; the rest is here.
"""

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from cutaway.recipes.base import Recipe
from cutaway.recipes.checks import expect_at_least
from cutaway.recipes.settings import DATA, FIRST, RESULTS, setting
from cutaway.tasks.abilities.ability import Offer

if TYPE_CHECKING:
    import numpy as np
    import pandas
    from jaxtyping import Float
    from torch import nn

    from cutaway.data.series.series_table import SeriesTable
    from cutaway.runs.run import Run
    from cutaway.tasks.series.backtesting import Backtest
    from cutaway.tasks.series.forecasts import Forecast
    from cutaway.tasks.series.histories import Histories

_ROWS = 2048  # windows that are forecast at once
_VALUES_NEEDED = 0.25  # share of the values of validation windows that must be there


class SeriesParts(NamedTuple):
    """Series with the windows at their ends that are kept for validation and test."""

    table: "SeriesTable"
    horizon: int
    validation_windows: int
    test_windows: int

    def _without(self, windows: int) -> "SeriesTable":
        return self.table.cut(-windows * self.horizon) if windows else self.table

    @property
    def train(self) -> "SeriesTable":
        """The series without the windows of validation and test."""
        return self._without(self.validation_windows + self.test_windows)

    @property
    def before_test(self) -> "SeriesTable":
        """The series without the windows of the test."""
        return self._without(self.test_windows)

    def validation(self) -> "Histories":
        """The validation windows that have values, each with its history and what came."""
        from cutaway.tasks.series.histories import histories_before, with_values

        return with_values(histories_before(self.before_test, self.horizon, self.validation_windows))

    def test(self) -> "Histories":
        """The test windows that have values, each with its history and what came."""
        from cutaway.tasks.series.histories import histories_before, with_values

        return with_values(histories_before(self.table, self.horizon, self.test_windows))

    def before_outage(self) -> "SeriesParts":
        """More validation windows, where most values of those are missing: enough to reach back before the outage.

        A choice of weights and a calibration need values to measure by.
        """
        from cutaway.tasks.series.histories import histories_before

        before, count = self.before_test, self.validation_windows
        for windows in range(count, int(before.lengths.max()) // self.horizon):
            truth = histories_before(before, self.horizon, windows).truth
            if not truth.size:
                break
            if (truth == truth).sum() >= _VALUES_NEEDED * count * self.horizon * len(before):
                return self if windows == count else self._replace(validation_windows=windows)._told(count)
        end = f"the {count * self.horizon:,} steps before the test"
        raise ValueError(
            f"validation windows must hold values, got too few of them in {end} of {before.name}, and no room before "
            "them; fill them with --missing interpolate, lower horizon, or train without: --validation 0"
        )

    def _told(self, count: int) -> "SeriesParts":
        missing = (
            f"most values of the {count:,} validation window{'s' * (count > 1)} of {self.horizon} steps are missing"
        )
        note = f"{missing}: {self.validation_windows:,} are kept for validation, which reach back before that"
        return self._replace(table=replace(self.table, notes=(*self.table.notes, note)))


@dataclass(frozen=True)
class ForecastRecipe(Recipe):
    """A model that forecasts series."""

    abilities: ClassVar[tuple[Offer, ...]] = (
        Offer("test"),
        Offer(
            "predict",
            takes="series.csv",
            gives="series in; quantiles of what comes next out, as `cutaway forecast` says them",
        ),
        Offer("forecast"),
        Offer("backtest"),
        Offer("look", takes="series.csv"),
    )

    unit: ClassVar[str] = "nats a value"
    memory: ClassVar[str] = "cutaway.data.stored:keep_series"

    data: str = "shop-sales"  # in Python a DataFrame, a dict of arrays or an array, too
    """a CSV or Parquet file of series, long or wide, or the name of an embedded sample (`cutaway list data`)"""
    horizon: int = setting(0, FIRST)
    """steps to forecast; 0 for as many as people do at the frequency of the data"""
    series: str = setting("", DATA, "COLUMN")
    """column that tells series apart; several with commas (default: unique_id, or found)"""
    time: str = setting("", DATA, "COLUMN")
    """column of times; several that make one with commas, as in year,month,day (default: ds, date …, or found)"""
    target: str = setting("", DATA, "COLUMN")
    """column of values; in a table with a column a series, those to forecast (default: y …, or all of numbers)"""
    known: str = setting("", DATA, "COLUMNS")
    """covariates that are known ahead, such as prices and holidays: their columns, with commas"""
    static: str = setting("", DATA, "COLUMNS")
    """columns that hold for a whole series, such as its region, with commas"""
    frequency: str = setting("", DATA)
    """distance of two steps, as pandas writes it: h, D, B, W, MS, 15min … (default: found from the times)"""
    start: str = setting("", DATA, "DATE")
    """when series without times start, given their frequency"""
    missing: Literal["keep", "zero", "forward", "interpolate", "refuse"] = setting("keep", DATA)
    """what becomes of missing values: keep leaves them out of the training"""
    duplicates: Literal["refuse", "mean", "sum", "first", "last"] = setting("refuse", DATA)
    """what becomes of several values of one time"""
    validation: int = setting(1, DATA)
    """windows of one horizon, before those of the test, to evaluate on"""
    windows: int = setting(1, DATA)
    """windows of one horizon at the end of every series that are kept for `cutaway test`"""
    test_file: str = setting("", DATA, "PATH")
    """a file with what came after the series, by their names, as test windows"""
    encoding: str = setting("utf-8", DATA)
    """encoding of a CSV file"""
    header: bool | None = setting(None, DATA)
    """whether the first row of a CSV file holds the names of the columns; without it, it is found"""
    samples: int = setting(100, RESULTS)
    """paths drawn for each window when a forecast is measured"""

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_at_least(self, 0, "horizon", "validation", "windows")
        expect_at_least(self, 1, "samples")

    # What a model of this kind gives.

    def sample_paths(
        self, model: "nn.Module", table: "SeriesTable", horizon: int, samples: int, seed: int
    ) -> "Float[np.ndarray, 'rows samples horizon']":
        """Paths that each series of the table may take in the ``horizon`` steps after its end.

        Covariates that are known ahead reach as far. The same seed gives the same paths.
        """
        raise self._cannot("forecast")

    # ------------------------------------------------------------------------------------------------------------------

    def read(self, run: "Run | None" = None, source: Any = None, future: Any = None) -> "SeriesTable":
        """The series of this recipe's data, or of another source with the same columns; ``future`` holds covariates."""
        from cutaway.data.series.series_reading import extend, read_series

        options = self._reading()
        if source is not None and run is not None:
            options |= run.about["data"].get("columns", {})
            options["frequency"] = self.frequency or run.about["data"].get("frequency")
        if isinstance(source, Mapping) or (
            source is not None and not hasattr(source, "columns") and not _is_path(source)
        ):
            options |= {"series": "", "time": "", "target": ""}  # arrays have no columns
        table = read_series(self.data if source is None else source, future=future, **options)
        if self.test_file and source is None:
            options = {name: value for name, value in options.items() if name not in ("known", "static")}
            table = extend(table, read_series(self.test_file, **options))
        if run is not None and source is None and future is None:
            run.expect_same_data(table.fingerprint)
        return table

    def read_new(self, run: "Run", source: Any, future: Any = None) -> "SeriesTable":
        """Series of another source, with the columns and the covariates of training."""
        from cutaway.data.series.covariates import as_in_training

        return as_in_training(self.read(run, source, future), run.about["data"])

    def _reading(self) -> dict[str, Any]:
        names = ("series", "time", "target", "known", "static", "missing", "duplicates", "encoding", "header")
        found = {name: getattr(self, name) for name in names}
        return found | {"frequency": self.frequency or None, "start": self.start or None}

    def horizon_for(self, table: "SeriesTable") -> int:
        """The steps to forecast: as asked, else as is usual at the frequency of the series."""
        if self.horizon:
            return self.horizon
        return table.grid.usual_horizon if table.grid is not None else 12

    def parts(self, run: "Run | None" = None) -> SeriesParts:
        """The series with their windows for validation and test; those that are too short for these are left out."""
        table = self.read(run)
        horizon = self.horizon_for(table)
        needed = horizon * (self.validation + self.windows) + 1
        kept, short = table.longer_than(needed)
        if not len(kept):
            longest = int(table.lengths.max())
            fitting = max((longest - 2) // max(self.validation + self.windows, 1), 1)
            raise ValueError(
                f"a series must be longer than its windows, got {len(table):,} series of at most {longest:,} values "
                f"for {self.validation} + {self.windows} windows of horizon={horizon}, which take {needed:,}; "
                f"lower horizon to {fitting} or give longer ones"
            )
        if short:
            named = ", ".join(short[:3]) + (", …" if len(short) > 3 else "")
            note = f"left out {len(short):,} of {len(table):,} series with at most {needed:,} values: {named}"
            kept = replace(kept, notes=(*kept.notes, note))
        windows = self.validation_windows(kept.cut(-horizon * self.windows) if self.windows else kept, horizon)
        parts = SeriesParts(kept, horizon, windows, self.windows)
        return parts.before_outage() if windows else parts

    def validation_windows(self, before_test: "SeriesTable", horizon: int) -> int:
        """How many windows at the end of series without their test are kept for validation."""
        return self.validation

    def facts(self, parts: SeriesParts) -> dict[str, Any]:
        """What config.json says of the data: its summary, and the simple methods on the validation windows."""
        table = parts.table
        told: dict[str, Any] = {
            "summary": table.summary(),
            "fingerprint": table.fingerprint.to_dict(),
            "source": self.data,
            "frequency": table.frequency,
            "horizon": parts.horizon,
            "season": table.season,
            "levels": {name: list(words) for name, words in table.levels.items()},
            "known_names": list(table.known_names),
            "columns": {role: list(names) for role, names in table.columns.items()},
        }
        if parts.validation_windows:
            found = self.simple_methods(parts, parts.train, parts.validation())
            told["baselines"] = {row.pop("name"): row for row in found}
        return told

    def simple_methods(self, parts: SeriesParts, train: "SeriesTable", histories: "Histories") -> list[dict[str, Any]]:
        """Name, rule and metrics of every simple method, fitted to ``train``, the best first."""
        from cutaway.tasks.series.baselines.simple_methods import fit_simple_methods, measure_simple_methods

        methods = fit_simple_methods(train, parts.horizon)
        return measure_simple_methods(methods, histories, parts.horizon, train.season)

    # ------------------------------------------------------------------------------------------------------------------

    def backtest_windows(
        self, model: "nn.Module", histories: "Histories", samples: int | None = None, seed: int = 0
    ) -> "Backtest":
        """Forecasts of some windows beside what came."""
        from cutaway.tasks.series.backtesting import LEVELS, Backtest
        from cutaway.tasks.series.supports import path_quantiles

        paths = self._draw(model, histories.table, histories.truth.shape[1], samples or self.samples, seed)
        quantiles = path_quantiles(paths, LEVELS, self.counted(model, histories.table))
        return Backtest(histories, quantiles, histories.table.season, paths)

    def measure(self, model: "nn.Module", histories: "Histories", samples: int | None = None) -> dict[str, float]:
        """Metrics of forecasts of some windows: mean weighted quantile loss, CRPS, MASE, coverage."""
        return self.backtest_windows(model, histories, samples).metrics

    def test_metrics(self, run: "Run") -> dict[str, float]:
        parts = self.parts(run)
        if not parts.test_windows:
            raise ValueError("a test needs windows that were kept for it, got windows=0; train with windows=1")
        histories = parts.test()
        if not len(histories.series):
            raise ValueError(
                f"a test needs values, got only missing ones in the last {parts.test_windows * parts.horizon:,} steps "
                f"of {parts.table.name}, its test windows; train with more: --windows {parts.test_windows + 1}"
            )
        found = self.measure(run.model, histories, max(self.samples, 200))
        simple = self.simple_methods(parts, parts.before_test, histories)
        return found | {f"baseline_{row['name'].replace(' ', '_')}_wql": row["metrics"]["wql"] for row in simple}

    def backtest(self, run: "Run", windows: int | None = None, samples: int = 200, seed: int = 0) -> "Backtest":
        """Forecasts from the last ``windows`` origins, a horizon apart, beside what came.

        Without a number, those of validation: windows of the test count as read if you ask for more than there are
        before them, and windows that it was trained on tell nothing about new data.
        """
        from cutaway.tasks.series.forecasts import expect_count
        from cutaway.tasks.series.histories import histories_before, with_values

        parts = self.parts(run)
        if windows is None:
            return self.backtest_windows(run.model, parts.validation(), samples, seed)
        count = expect_count("windows", windows, 3)
        histories = histories_before(parts.table, parts.horizon, count)
        if len(histories.series):
            histories = with_values(histories)
            if not len(histories.series):
                raise ValueError(
                    f"a backtest needs values, got only missing ones in the last {count} windows of {parts.horizon} "
                    f"steps; ask for more: windows={count + 1}"
                )
        if not len(histories.series):
            longest = (int(parts.table.lengths.max()) - 1) // parts.horizon
            raise ValueError(
                f"windows must fit into a series, got windows={count} of {parts.horizon} steps where the longest has "
                f"{parts.table.lengths.max():,} values; try windows={longest}"
            )
        return self.backtest_windows(run.model, histories, samples, seed)

    def forecast(
        self,
        run: "Run",
        history: Any = None,
        horizon: int | None = None,
        future: Any = None,
        quantiles: Sequence[float] = (0.1, 0.5, 0.9),
        samples: int = 200,
        seed: int = 0,
    ) -> "Forecast":
        from cutaway.data.series.covariates import expect_known_ahead
        from cutaway.tasks.series.forecasts import Forecast, expect_count, expect_levels

        levels = tuple(expect_levels(quantiles))
        asked = run.about["data"]["horizon"] if horizon is None else expect_count("horizon", horizon, 12)
        count = expect_count("samples", samples, 200)
        table = self.read(run, None, future) if history is None else self.read_new(run, history, future)
        expect_known_ahead(table, asked)
        for note in self._forecast_notes(run, table, asked):
            warnings.warn(note, stacklevel=3)
        return Forecast(table, self._draw(run.model, table, asked, count, seed), levels, self.counted(run.model, table))

    def counted(self, model: "nn.Module", table: "SeriesTable") -> "np.ndarray":
        """Which series of a table are counts, whose quantiles are whole numbers."""
        from cutaway.tasks.series.supports import whole_series

        return whole_series(table, getattr(getattr(model, "spec", None), "support", ""))

    def _forecast_notes(self, run: "Run", table: "SeriesTable", horizon: int) -> list[str]:
        """What a person should know about a forecast."""
        from cutaway.tasks.series.prepared_series import freak_note

        trained = run.about["data"]["horizon"]
        notes = [freak_note(table)]
        if horizon > trained:
            notes.append(
                f"steps {trained + 1} to {horizon} lie beyond the horizon of training, {trained}, that intervals are "
                f"calibrated for: less than the stated share may lie in them; train with horizon={horizon} for those"
            )
        return [note for note in notes if note]

    def _draw(
        self, model: "nn.Module", table: "SeriesTable", horizon: int, samples: int, seed: int
    ) -> "Float[np.ndarray, 'rows samples horizon']":
        """Paths of every series of a table, some of them at once."""
        import numpy as np

        rows = range(0, len(table), _ROWS)
        chosen = [table.select(range(a, min(a + _ROWS, len(table)))) for a in rows]
        return np.concatenate([self.sample_paths(model, part, horizon, samples, seed) for part in chosen])

    def predict(self, run: "Run", inputs: Any) -> "pandas.DataFrame":
        """What comes after new series: a file, a DataFrame, a dict of arrays …"""
        return self.forecast(run, inputs).to_pandas()

    def smaller(self) -> str:
        return f"lower batch={self.batch}"


def _is_path(source: Any) -> bool:
    return isinstance(source, (str, os.PathLike))


__all__ = ["ForecastRecipe", "SeriesParts"]
