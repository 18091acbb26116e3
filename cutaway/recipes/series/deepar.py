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
    quality: ClassVar[str] = ""

    def model_spec(self, sizes: dict[str, Any]) -> "DeepARSpec":
        from cutaway.models.forecasting.deepar import DeepARSpec

        return DeepARSpec(**sizes)
