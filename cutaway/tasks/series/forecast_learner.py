r"""Learners that forecast series: they sample paths; forecasts and backtests are made of these.

paths ~ p(y_{T+1} … y_{T+h} | y_{≤T})        `sample_paths`, which each kind of model has its own of
forecast      the paths after the last value that is known
backtest      the paths after origins in the past, beside what came
"""

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float
from torch import nn

from cutaway.data.series.covariates import expect_known_ahead
from cutaway.data.series.series_table import SeriesTable
from cutaway.tasks.learner import Learner
from cutaway.tasks.series.backtesting import LEVELS, Backtest
from cutaway.tasks.series.forecast import SeriesForecasts
from cutaway.tasks.series.forecast_paths import Forecast, expect_count, expect_levels
from cutaway.tasks.series.histories import Histories, histories_before, with_values
from cutaway.tasks.series.prepared_series import freak_note
from cutaway.tasks.series.supports import path_quantiles, whole_series

if TYPE_CHECKING:
    import pandas

_ROWS = 2048  # series that are forecast at once


class ForecastLearner(Learner):
    """A model that forecasts series. A kind of model defines `sample_paths`."""

    task: SeriesForecasts

    def sample_paths(
        self, model: nn.Module, table: SeriesTable, horizon: int, samples: int, seed: int
    ) -> Float[np.ndarray, "rows samples horizon"]:
        """Paths that each series of the table may take in the ``horizon`` steps after its end.

        Covariates that are known ahead reach as far. The same seed gives the same paths.
        """
        own = type(self).__name__
        raise ValueError(f"a learner needs paths to forecast by, got {own} without; define `sample_paths`")

    def forecast(
        self,
        history: Any = None,
        horizon: int | None = None,
        future: Any = None,
        quantiles: Sequence[float] = (0.1, 0.5, 0.9),
        samples: int = 200,
        seed: int = 0,
    ) -> Forecast:
        """What comes after the series of the run's data, or after those of ``history``."""
        levels = tuple(expect_levels(quantiles))
        trained = self.run.about["data"]["horizon"]
        steps = trained if horizon is None else expect_count("horizon", horizon, 12)
        count = expect_count("samples", samples, 200)
        if history is not None:
            table = self.task.inputs(history, future)
        else:
            table = self.task.table if future is None else self.task.read_table(future=future)
        expect_known_ahead(table, steps)
        if note := freak_note(table):
            warnings.warn(note, stacklevel=3)
        if steps > trained:
            warnings.warn(
                f"steps {trained + 1} to {steps} lie beyond the horizon of training, {trained}, that intervals are "
                f"calibrated for: less than the stated share may lie in them; train with horizon={steps} for those",
                stacklevel=3,
            )
        paths = self._paths(self.model, table, steps, count, seed)
        return Forecast(table, paths, levels, self.whole_series(self.model, table))

    def predict(self, inputs: Any) -> "pandas.DataFrame":
        """What comes after new series: a file, a DataFrame, a dict of arrays …"""
        return self.forecast(inputs).to_pandas()

    def backtest(self, windows: int | None = None, samples: int = 200, seed: int = 0) -> Backtest:
        """Forecasts from the last ``windows`` origins, a horizon apart, beside what came.

        Without a number, those of validation: windows of the test count as read if you ask for more than there are
        before them, and windows that it was trained on tell nothing about new data.
        """
        parts = self.task.parts
        if windows is None:
            return self.backtest_windows(self.model, parts.validation(), samples, seed)
        count = expect_count("windows", windows, 3)
        histories = histories_before(parts.table, parts.horizon, count)
        if not len(histories.series):
            longest = (int(parts.table.lengths.max()) - 1) // parts.horizon
            raise ValueError(
                f"windows must fit into a series, got windows={count} of {parts.horizon} steps where the longest has "
                f"{parts.table.lengths.max():,} values; try windows={longest}"
            )
        histories = with_values(histories)
        if not len(histories.series):
            raise ValueError(
                f"a backtest needs values, got only missing ones in the last {count} windows of {parts.horizon} "
                f"steps; ask for more: windows={count + 1}"
            )
        return self.backtest_windows(self.model, histories, samples, seed)

    def backtest_windows(
        self, model: nn.Module, histories: Histories, samples: int | None = None, seed: int = 0
    ) -> Backtest:
        """Forecasts of some windows beside what came."""
        table = histories.table
        paths = self._paths(model, table, histories.truth.shape[1], samples or self.settings.samples, seed)
        quantiles = path_quantiles(paths, LEVELS, self.whole_series(model, table))
        return Backtest(histories, quantiles, table.season, paths)

    def whole_series(self, model: nn.Module, table: SeriesTable) -> Bool[np.ndarray, "series"]:
        """Which series of a table are counts, whose quantiles are whole numbers."""
        return whole_series(table, getattr(getattr(model, "spec", None), "support", ""))

    def _paths(
        self, model: nn.Module, table: SeriesTable, horizon: int, samples: int, seed: int
    ) -> Float[np.ndarray, "rows samples horizon"]:
        """Paths of every series of a table, some of them at once."""
        firsts = range(0, len(table), _ROWS)
        tables = [table.select(range(first, min(first + _ROWS, len(table)))) for first in firsts]
        return np.concatenate([self.sample_paths(model, part, horizon, samples, seed) for part in tables])
