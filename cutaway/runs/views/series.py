r"""Views of runs that forecast series: fans over windows, errors by horizon, calibration, simple methods beside it."""

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from cutaway.look.pages.picture import Picture
from cutaway.look.series.fans import Fan, fan_chart
from cutaway.look.series.forecast_errors import calibration, errors_by_horizon, method_bars
from cutaway.tasks.series.backtesting import LEVELS, Backtest, mean_of_known
from cutaway.tasks.series.baselines.simple_methods import fit_simple_methods
from cutaway.tasks.series.forecast_paths import Forecast
from cutaway.tasks.series.likelihood_learner import SeriesSubject
from cutaway.tasks.subjects import Subject

if TYPE_CHECKING:
    from cutaway.runs.run import Run

_KINDS = ("series/forecast", "series/anomalies")  # of tasks whose learners forecast
_PANELS = 6
_HISTORY = 4  # horizons before a forecast that are drawn


def forecasts_windows(run: "Run") -> bool:
    """Runs that forecast series and have windows that they were not trained on."""
    return forecasts(run) and run.task.settings.validation > 0


def forecasts(run: "Run") -> bool:
    """Runs that forecast series."""
    return run.recipe.task_kind in _KINDS


@lru_cache(maxsize=2)  # several views of a page look at one backtest
def _backtest(run: "Run") -> Backtest:
    return run.backtest(samples=200)


def _spread(errors: np.ndarray) -> list[int]:
    """Windows from the best to the worst, by evenly spaced quantiles of their errors."""
    order = np.argsort(np.nan_to_num(errors, nan=np.inf), kind="stable")
    order = order[np.isfinite(errors[order])]
    if len(order) <= _PANELS:
        return order.tolist()
    return [int(order[round(i * (len(order) - 1) / (_PANELS - 1))]) for i in range(_PANELS)]


def given_series(run: "Run", subject: Subject) -> Picture | list[Picture]:
    """What comes after the series of a file of yours; nothing without one.

    Covariates that are known ahead may end before the horizon does: the forecast then goes as far as they do.
    """
    table = subject.given if isinstance(subject, SeriesSubject) else None
    if table is None:
        return []
    chosen = table.select(range(min(len(table), _PANELS)))
    ahead = [len(known) - len(values) for known, values in zip(chosen.known, chosen.values)]
    horizon = min([run.about["data"]["horizon"], *ahead])
    if horizon < 1:
        return []
    learner: Any = run.learner
    paths = learner.sample_paths(run.model, chosen, horizon, 200, 0)
    drawn = Forecast(chosen, paths, (0.1, 0.3, 0.5, 0.7, 0.9), learner.whole_series(run.model, chosen))
    more = f"The first {len(chosen)} of {len(table):,} series." if len(chosen) < len(table) else ""
    return forecast_picture(drawn, title=f"What comes after your series: {horizon} steps", note=more)


def fans(run: "Run", subject: Subject) -> Picture:
    """Forecasts of validation windows with their history, from the best to the worst."""
    backtest = _backtest(run)
    sizes = mean_of_known(np.abs(backtest.truth))
    errors = mean_of_known(backtest.losses()) / np.where(sizes > 0, sizes, np.nan)
    chosen = _spread(errors) or [0]
    chosen_levels = [LEVELS.index(level) for level in (0.1, 0.3, 0.5, 0.7, 0.9)]
    table, horizon = backtest.histories.table, backtest.truth.shape[1]
    shown = []
    for row in chosen:
        end = len(table.values[row])
        start = max(end - _HISTORY * horizon, 0)
        shown.append(
            Fan(
                table.names[row],
                list(table.clock_times(row, start, end)),
                table.values[row][start:],
                list(table.clock_times(row, end, end + horizon)),
                backtest.quantiles[row][:, chosen_levels],
                [LEVELS[j] for j in chosen_levels],
                backtest.truth[row],
            )
        )
    names = [fan.name for fan in shown]
    if len(set(names)) < len(names):  # several windows of a series: by when they begin
        shown = [fan._replace(name=f"{fan.name}, from {_day(fan.ahead[0])}") for fan in shown]
    caption = "What came (orange) should lie inside the outer band four times in five, and near its middle most often."
    note = f"{len(shown)} of {len(errors):,} windows, from the smallest error to the largest." * (len(errors) > 1)
    return fan_chart(shown, title="Forecasts of windows that it was not trained on", caption=caption, note=note)


def _day(time: Any) -> str:
    return f"{time:%Y-%m-%d %H:%M}".removesuffix(" 00:00") if hasattr(time, "strftime") else str(time)


def simple_methods(run: "Run", subject: Subject) -> Picture | list[Picture]:
    """The loss of the model beside those of simple methods."""
    known = {name: one["metrics"] for name, one in run.about["data"].get("baselines", {}).items()}
    simple = {name: metrics["wql"] for name, metrics in known.items() if "wql" in metrics}
    if not simple:  # a run of anomaly, measured beside a z-score, which forecasts nothing
        return []
    losses = {run.recipe.name: _backtest(run).metrics["wql"]} | simple
    title = "The model beside simple methods, on the validation windows"
    return method_bars(losses, title=title, unit="mean weighted quantile loss")


def by_horizon(run: "Run", subject: Subject) -> Picture | list[Picture]:
    """The error of each step ahead, beside those of simple methods."""
    backtest = _backtest(run)
    horizon = backtest.truth.shape[1]
    if horizon < 2:
        return []
    lines = {run.recipe.name: backtest.losses()}
    for method in fit_simple_methods(run.task.parts.train, horizon):
        quantiles = method.quantiles(backtest.histories, horizon, LEVELS)
        lines[method.name] = Backtest(backtest.histories, quantiles).losses()
    size = np.nanmean(np.abs(backtest.truth)) or 1.0
    shares = {name: mean_of_known(line, 0) / size for name, line in lines.items()}
    return errors_by_horizon(
        shares, title="Errors by the number of steps ahead", unit="quantile loss, as a share of the mean size"
    )


def ranks(run: "Run", subject: Subject) -> Picture:
    """Whether the forecasts are calibrated: where the truth lies in them."""
    return calibration(_backtest(run).ranks())


def forecast_picture(forecast: Forecast, names: Sequence[str] = (), title: str = "", note: str = "") -> Picture:
    """A forecast behind its history, a panel for each series."""
    if names:
        forecast = forecast.only(names)
    table, found = forecast.history, forecast.quantile(forecast.levels)
    shown = []
    for i, name in enumerate(table.names):
        end = len(table.values[i])
        start = max(end - _HISTORY * forecast.horizon, 0)
        times = list(table.clock_times(i, start, end))
        ahead = list(forecast.clock_times(i))
        shown.append(Fan(name, times, table.values[i][start:], ahead, found[i], forecast.levels))
    caption = "The line is the median; the bands widen as the forecast knows less."
    title = title or f"Forecasts of the next {forecast.horizon} steps"
    return fan_chart(shown, title=title, caption=caption, note=note)
