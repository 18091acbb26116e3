"""forecasts of the past beside what came"""

from typing import TYPE_CHECKING, Any

from cutaway.tasks.abilities.ability import Ability, expect_method
from cutaway.tasks.abilities.flag import Flag
from cutaway.tasks.abilities.index import headline

if TYPE_CHECKING:
    from cutaway.tasks.series.backtesting import Backtest


def backtest(run: Any, windows: int | None = None, samples: int = 200, seed: int = 0) -> "Backtest":
    """Forecasts of the last ``windows`` windows of every series beside what came; by default those of validation.

    ``samples`` paths are drawn for each.
    """
    return expect_method(run, ABILITY)(windows, samples, seed)


ABILITY = Ability(
    verb="backtest",
    help=headline(__doc__),
    call=backtest,
    needs="backtest",
    cannot="forecast",
    about="Forecasts the last windows of every series from what came before them, and prints the forecasts beside it.",
    examples=("cutaway backtest runs/deepar-1", "cutaway backtest runs/deepar-1 --windows 5 --out windows.csv"),
    inputs=(
        Flag("windows", int, optional=True, help="windows of each series (default: those of validation)"),
        Flag("samples", int, default=200, help="paths drawn for each window"),
        Flag("seed", int, default=0, help="the same seed gives the same forecasts"),
    ),
    outputs=(Flag("windows", holds="series", help="mean and quantiles of each step, and what came"),),
)
