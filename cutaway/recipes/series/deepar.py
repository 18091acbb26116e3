r"""`deepar`: an LSTM that forecasts many series at once, with a distribution of every value to come."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from cutaway.overriding import override
from cutaway.recipes.series.probabilistic import ProbabilisticRecipe

if TYPE_CHECKING:
    from cutaway.models.forecasting.deepar import DeepARSpec


@dataclass(frozen=True)
class DeepARRecipe(ProbabilisticRecipe):
    """Forecasts series by an LSTM that reads lags, running scales, calendar and covariates.

    Its location is a mixture of simple forecasts (last value, last season, a linear model on lags) and a learned
    correction, so that it begins where those end.
    """

    name: ClassVar[str] = "deepar"
    quality: ClassVar[str] = (
        "Means of three seeds. M4 hourly, the competition's window of 48: mean weighted quantile loss 0.0222 (67 s of "
        "a core); seasonal naive 0.0376, exponential smoothing 0.0445, a linear model on lags 0.0317. M4 weekly "
        "0.0412; linear 0.0429. ETTh1, a day ahead: 0.208; linear 0.238. Exchange rates, 50 windows: 0.0099, the "
        "random walk 0.0098. Intervals of 80 % cover 76 to 81 %; of a single short series (airline passengers) far "
        "less: use Holt–Winters. `python benchmarks/run.py forecasting` measures all of them."
    )

    @override
    def model_spec(self, sizes: dict[str, Any]) -> "DeepARSpec":
        from cutaway.models.forecasting.deepar import DeepARSpec

        return DeepARSpec(**sizes)
