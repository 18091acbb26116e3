r"""The task of forecasting series: windows at their ends, simple methods, and how forecasts are measured.

    |———————— train ————————|·· validation ··|·· test ··|        windows of one horizon each, at the end of every series

    forecasts     sampled paths of the steps to come, by a learner (`forecast_learner.py`)
    metrics       quantile loss of the paths, CRPS, MASE, coverage (`backtesting.py`)
    baselines     random walk, seasonal naive, exponential smoothing, a linear model on lags (`baselines/`)

Weights are chosen by the geometric mean of the quantile loss in which large series weigh more and that in which all
weigh alike: of the first alone, a few huge series would choose.
"""

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

from cutaway.data.series.covariates import as_in_training
from cutaway.data.series.series_reading import extend, read_series
from cutaway.data.series.series_table import SeriesTable
from cutaway.overriding import override
from cutaway.tasks.series.baselines.simple_methods import fit_simple_methods, measure_simple_methods
from cutaway.tasks.series.histories import Histories, SeriesParts
from cutaway.tasks.task import Task

_READING = ("series", "time", "target", "known", "static", "missing", "duplicates", "encoding", "header")
_USUAL_HORIZON = 12  # steps, where the frequency of the series is not known
_HELD_OUT = 0.2  # of the shortest series, at most, for validation windows that nobody asked for


class SeriesForecasts(Task):
    """Series from a file or from memory, of which the next steps are asked for."""

    kind: ClassVar[str] = "series/forecast"
    figure = "balanced_wql"
    parts: SeriesParts

    # Reading.

    @cached_property
    def table(self) -> SeriesTable:
        """All series of the data, those that are too short for windows too."""
        table = self.read_table()
        if self.run is not None:
            self.run.expect_same_data(table.fingerprint)
        return table

    def read_table(self, source: Any = None, future: Any = None) -> SeriesTable:
        """The series of the data, or of another source with the same columns; ``future`` holds covariates."""
        settings = self.settings
        options = {name: getattr(settings, name) for name in _READING}
        options |= {"frequency": settings.frequency or None, "start": settings.start or None}
        if source is not None and self.run is not None:
            options |= self.run.about["data"].get("columns", {})
            options["frequency"] = settings.frequency or self.run.about["data"].get("frequency")
        if isinstance(source, Mapping) or not (source is None or hasattr(source, "columns") or _is_path(source)):
            options |= {"series": "", "time": "", "target": ""}  # arrays have no columns
        table = read_series(settings.data if source is None else source, future=future, **options)
        if settings.test_file and source is None:
            options = {name: value for name, value in options.items() if name not in ("known", "static")}
            table = extend(table, read_series(settings.test_file, **options))
        return table

    def inputs(self, source: Any, future: Any = None) -> SeriesTable:
        """New series that a person gives, with the columns and the covariates of training."""
        return as_in_training(self.read_table(source, future), self.run.about["data"])

    def horizon_for(self, table: SeriesTable) -> int:
        """The steps to forecast: as asked, else as is usual at the frequency of the series."""
        if self.settings.horizon:
            return self.settings.horizon
        return table.grid.usual_horizon if table.grid is not None else _USUAL_HORIZON

    @override
    def read_parts(self) -> SeriesParts:
        """The series with their windows for validation and test; those that are too short for these are left out."""
        table, settings = self.table, self.settings
        horizon = self.horizon_for(table)
        needed = horizon * (settings.validation + settings.windows) + 1
        kept, short = table.longer_than(needed)
        if not len(kept):
            longest = int(table.lengths.max())
            fitting = max((longest - 2) // max(settings.validation + settings.windows, 1), 1)
            raise ValueError(
                f"a series must be longer than its windows, got {len(table):,} series of at most {longest:,} values "
                f"for {settings.validation} + {settings.windows} windows of horizon={horizon}, which take {needed:,}; "
                f"lower horizon to {fitting} or give longer ones"
            )
        if short:
            named = ", ".join(short[:3]) + (", …" if len(short) > 3 else "")
            note = f"left out {len(short):,} of {len(table):,} series with at most {needed:,} values: {named}"
            kept = replace(kept, notes=(*kept.notes, note))
        windows = self._validation_windows(kept.cut(-horizon * settings.windows) if settings.windows else kept, horizon)
        parts = SeriesParts(kept, horizon, windows, settings.windows)
        return parts.before_outage() if windows else parts

    def _validation_windows(self, before_test: SeriesTable, horizon: int) -> int:
        """As many as asked for; a few long series have several each by default, so that a choice by them holds."""
        if self.settings.validation != 1:
            return self.settings.validation
        room = int(_HELD_OUT * int(before_test.lengths.min())) // horizon
        return max(1, min(-(-self.settings.validation_rows // len(before_test)), room))

    # What a run folder says of the data.

    @override
    def facts(self) -> dict[str, Any]:
        """The summary of the series, and the simple methods on the validation windows."""
        facts = self.facts_of_series()
        if self.parts.validation_windows:
            rows = self.simple_methods(self.parts.train, self.parts.validation())
            facts["baselines"] = {row.pop("name"): row for row in rows}
        return facts

    def facts_of_series(self) -> dict[str, Any]:
        """What the series are: their frequency, season, columns and covariates."""
        table = self.parts.table
        return super().facts() | {
            "frequency": table.frequency,
            "horizon": self.parts.horizon,
            "season": table.season,
            "levels": {name: list(words) for name, words in table.levels.items()},
            "known_names": list(table.known_names),
            "columns": {role: list(names) for role, names in table.columns.items()},
        }

    # Baselines and metrics.

    def simple_methods(self, train: SeriesTable, histories: Histories) -> list[dict[str, Any]]:
        """Name, rule and metrics of every simple method, fitted to ``train``, the best first."""
        methods = fit_simple_methods(train, self.parts.horizon)
        return measure_simple_methods(methods, histories, self.parts.horizon, train.season)

    def test_metrics(self, learner: Any) -> dict[str, float]:
        """Metrics of the test windows, beside the loss of the simple methods."""
        parts = self.parts
        if not parts.test_windows:
            raise ValueError("a test needs windows that were kept for it, got windows=0; train with windows=1")
        histories = parts.test()
        if not len(histories.series):
            raise ValueError(
                f"a test needs values, got only missing ones in the last {parts.test_windows * parts.horizon:,} steps "
                f"of {parts.table.name}, its test windows; train with more: --windows {parts.test_windows + 1}"
            )
        metrics = learner.backtest_windows(learner.model, histories, max(self.settings.samples, 200)).metrics
        simple = self.simple_methods(parts.before_test, histories)
        return metrics | {f"baseline_{row['name'].replace(' ', '_')}_wql": row["metrics"]["wql"] for row in simple}


def _is_path(source: Any) -> bool:
    return isinstance(source, (str, os.PathLike))
