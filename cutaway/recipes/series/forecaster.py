r"""`forecaster`: a decoder-only transformer that forecasts many series at once, behind the interface of `deepar`."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from cutaway.overriding import override
from cutaway.recipes.checks import expect_at_least
from cutaway.recipes.series.probabilistic import ProbabilisticRecipe
from cutaway.recipes.settings import MODEL, setting

if TYPE_CHECKING:
    from cutaway.models.forecasting.forecaster import ForecasterSpec


@dataclass(frozen=True)
class ForecasterRecipe(ProbabilisticRecipe):
    """Forecasts series by a causal transformer over their steps, with the inputs and outputs of `deepar`."""

    name: ClassVar[str] = "forecaster"
    quality: ClassVar[str] = (
        "ETTh1, a day ahead: mean weighted quantile loss 0.210 (seed 0, 38 s of a core); a linear model on lags 0.238, "
        "`deepar` 0.207. On other series: `python benchmarks/forecasting.py forecaster`."
    )

    heads: int = setting(4, MODEL)
    """attentions side by side"""

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_at_least(self, 1, "heads")

    @override
    def model_spec(self, sizes: dict[str, Any]) -> "ForecasterSpec":
        from cutaway.models.forecasting.forecaster import ForecasterSpec

        return ForecasterSpec(**sizes, heads=self.heads)
