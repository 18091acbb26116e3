r"""`deepar`: an LSTM that forecasts many series at once, with a distribution of every value to come."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

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
        "M4 hourly, the competition's window of 48: mean weighted quantile loss 0.0213 (one seed, 53 s of processor "
        "time); seasonal naive with residuals 0.0376, a linear model on lags 0.0329. M4 weekly 0.0417; linear 0.0423. "
        "ETTh1, a day ahead: 0.208; linear 0.233. Exchange rates, all 50 windows: 0.0098, as the random walk. "
        "`python benchmarks/run.py forecasting` measures all of them."
    )

    def model_spec(self, sizes: dict[str, Any]) -> "DeepARSpec":
        from cutaway.models.forecasting.deepar import DeepARSpec

        return DeepARSpec(**sizes)
