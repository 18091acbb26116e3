"""what comes after series, with quantiles"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cutaway.tasks.abilities.ability import Ability, expect_method
from cutaway.tasks.abilities.flag import Flag
from cutaway.tasks.abilities.index import headline

if TYPE_CHECKING:
    from cutaway.tasks.series.forecast_paths import Forecast


def forecast(
    run: Any,
    history: Any = None,
    horizon: int | None = None,
    future: Any = None,
    quantiles: Sequence[float] = (0.1, 0.5, 0.9),
    samples: int = 200,
    seed: int = 0,
) -> "Forecast":
    """What comes after some series: quantiles, means and whole paths of the next ``horizon`` steps, by series.

    ``history`` are other series than those trained on: a file, a DataFrame, a dict of arrays … ``future`` holds the
    covariates known ahead, if the history does not.
    """
    return expect_method(run, ABILITY)(history, horizon, future, quantiles, samples, seed)


ABILITY = Ability(
    verb="forecast",
    help=headline(__doc__),
    call=forecast,
    needs="forecast",
    following="",
    about="""Forecasts the series that the run was trained on, or those of another file, and prints quantiles as CSV.

A row for each step of each series: unique_id, ds, mean, and a column for each quantile. A file of other series has the
columns of training. With --out picture.png (.svg, .html) the forecasts are drawn behind their history.""",
    examples=(
        "cutaway forecast runs/deepar-1 --horizon 24",
        "cutaway forecast runs/deepar-1 --data new.csv --out forecast.csv",
        "cutaway forecast runs/deepar-1 --quantiles 0.05 0.5 0.95 --out forecast.html",
    ),
    inputs=(
        Flag("horizon", int, optional=True, help="steps to forecast (default: as many as in training)"),
        Flag(
            "history",
            default="",
            spelling="data",
            holds="series",
            help="a CSV or Parquet file of other series to go on from; - for standard input",
        ),
        Flag(
            "future",
            default="",
            holds="series",
            help="a file of covariates known ahead, where --data or the data of training does not reach as far",
        ),
        Flag("quantiles", float, several=True, default=(0.1, 0.5, 0.9), help="levels between 0 and 1"),
        Flag("samples", int, default=200, help="paths drawn for each series: more make quantiles steadier"),
        Flag("seed", int, default=0, help="the same seed gives the same forecast"),
    ),
    outputs=(Flag("forecast", holds="series", help="mean and quantiles of each step of each series"),),
    terminal=(
        Flag("series", several=True, default=(), help="only these series, by their names"),
        Flag(
            "out",
            default="",
            help="a file to write instead of printing: .csv, .json or .parquet, or a picture: .png, .svg or .html",
        ),
        Flag("overwrite", bool, default=False, help="write --out even if there is such a file"),
        Flag("json", bool, default=False, help="print JSON, an object for each step"),
    ),
    command="cutaway.commands.forecast:main",
)
