r"""Settings of every recipe that forecasts series: how they are read, and how many windows are kept for what.

    |———————— train ————————|·· validation ··|·· test ··|        windows of one horizon each, at the end of every series

A recipe of this kind builds a learner that samples paths (`tasks/series/forecast_learner.py`).
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.overriding import override
from cutaway.recipes.base import Recipe
from cutaway.recipes.checks import expect_at_least
from cutaway.recipes.settings import DATA, FIRST, RESULTS, setting
from cutaway.tasks.abilities.ability import Offer

if TYPE_CHECKING:
    from cutaway.tasks.series.forecast import SeriesForecasts


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
    task_kind: ClassVar[str] = "series/forecast"
    validation_rows: ClassVar[int] = 1  # windows of all series together that `validation=1` stands for

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

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_at_least(self, 0, "horizon", "validation", "windows")
        expect_at_least(self, 1, "samples")

    @override
    def read(self, base: Any = None) -> "SeriesForecasts":
        from cutaway.tasks.series.forecast import SeriesForecasts

        task = SeriesForecasts(self)
        task.parts  # noqa: B018 -- reads them
        return task

    @override
    def smaller(self) -> str:
        return f"lower batch={self.batch}"
