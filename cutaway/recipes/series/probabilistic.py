r"""Settings that the recipes `deepar` and `forecaster` share: models of the distribution of every next value.

One configuration serves all data: lags and seasons follow from the frequency, the likelihood from the values
(`tasks/series/forecaster_design.py`). How they learn and forecast stands in `tasks/series/likelihood_learner.py`.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.overriding import override
from cutaway.recipes.checks import expect_at_least, expect_share
from cutaway.recipes.series.forecast_settings import ForecastRecipe
from cutaway.recipes.settings import FIRST, MODEL, setting

if TYPE_CHECKING:
    from cutaway.models.forecasting.likelihood_model import ForecastSpec
    from cutaway.tasks.series.likelihood_learner import LikelihoodLearner


@dataclass(frozen=True)
class ProbabilisticRecipe(ForecastRecipe):
    """Settings of both recipes."""

    validation_rows: ClassVar[int] = 64  # few series have several windows each, so that a choice by them holds

    likelihood: Literal["auto", "student-t", "gaussian", "negative-binomial"] = setting("auto", FIRST)
    """distribution of the next value; auto: negative-binomial for small counts, else student-t"""
    support: Literal["auto", "real", "nonnegative", "counts", "unit"] = setting("auto", MODEL)
    """values that series can take: any, from 0 up, whole numbers from 0 up, from 0 to 1; auto: found from the values"""
    logarithm: bool = setting(False, MODEL)
    """forecast the logarithms of values above 0, whose steps are log returns; losses are then of these"""
    context: int = setting(0, MODEL)
    """steps that the network reads before a forecast; 0 for as many as the horizon, at least 24"""
    width: int = setting(48, FIRST)
    """units of a layer"""
    depth: int = setting(2, FIRST)
    """layers"""
    embedding: int = setting(4, MODEL)
    """width of the vector of a static category"""
    dropout: float = setting(0.1, MODEL)
    """share of values dropped in training"""
    steps: int = 250
    """optimizer steps"""
    batch: int = 64
    """windows in a batch"""
    rate: float = 3e-3
    """full learning rate"""
    warmup: int = 50
    """steps in which the rate rises from zero"""
    evaluate_every: int = 50
    """steps between evaluations"""

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_at_least(self, 0, "context")
        expect_at_least(self, 1, "width", "depth", "embedding")
        expect_share(self, "dropout")

    def model_spec(self, sizes: dict[str, Any]) -> "ForecastSpec":
        """The family's spec of these sizes."""
        raise self._cannot("be trained")

    @override
    def build(self, task: Any, base: Any = None, model: Any = None) -> "LikelihoodLearner":
        from cutaway.tasks.series.likelihood_learner import LikelihoodLearner

        return LikelihoodLearner.new(self, task) if model is None else LikelihoodLearner(self, task, model)
