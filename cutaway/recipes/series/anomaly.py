r"""`anomaly`: odd points and stretches of series, where what came was too unlikely given what came before."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from cutaway.overriding import override
from cutaway.recipes.series.forecast_settings import ForecastRecipe
from cutaway.recipes.settings import DATA, FIRST, MODEL, setting
from cutaway.tasks.abilities.ability import Offer

if TYPE_CHECKING:
    from cutaway.tasks.series.anomalies import SeriesAnomalies
    from cutaway.tasks.series.density_learner import DensityLearner


@dataclass(frozen=True)
class AnomalyRecipe(ForecastRecipe):
    """Odd points and stretches of series, found by how unlikely they are given what came before."""

    name: ClassVar[str] = "anomaly"
    task_kind: ClassVar[str] = "series/anomalies"
    abilities: ClassVar[tuple[Offer, ...]] = (
        Offer("test"),
        Offer("predict", takes="series.csv", gives="series in; their odd stretches out"),
    )
    quality: ClassVar[str] = (
        "Spikes, shifts and stuck stretches put into the test part, 2 false alarms a year asked for: Beijing's hourly "
        "pm2.5 (43,800 hours, 4 s of one core) precision 0.97, recall 0.83, and 2.0 alarms a year with nothing put in; "
        "a z-score 1.00, 0.11. Air pressure 1.00, 0.77, 1.0; ETTh1's oil temperature 1.00, 0.29, 0. The rate is kept "
        "roughly: 5.0 on ETTh1's HUFL, 3.0 on daily temperatures, where a z-score is better (F1 0.85 and 0.57, ours "
        "0.67 and 0.50)."
    )

    data: str = "city-power"
    alarms_per_year: float = setting(2.0, FIRST)
    """false alarms that you can live with, a year and series: it sets the threshold"""
    steps: int = 600
    batch: int = 256
    rate: float = 3e-3
    validation: int = setting(0, DATA)
    """windows of one horizon to evaluate on; 0 for a tenth of every series"""
    windows: int = setting(0, DATA)
    """windows of one horizon that are kept for `cutaway test`; 0 for a fifth of every series"""
    width: int = setting(32, MODEL)
    """units of the hidden layer"""
    evaluate_every: int = 100

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.alarms_per_year > 0:
            raise ValueError(f"alarms_per_year must be above 0, got {self.alarms_per_year}; try alarms_per_year=2")

    @override
    def read(self, base: Any = None) -> "SeriesAnomalies":
        from cutaway.tasks.series.anomalies import SeriesAnomalies

        task = SeriesAnomalies(self)
        task.parts  # noqa: B018 -- reads them
        return task

    @override
    def build(self, task: Any, base: Any = None, model: Any = None) -> "DensityLearner":
        from cutaway.tasks.series.density_learner import DensityLearner

        return DensityLearner.new(self, task) if model is None else DensityLearner(self, task, model)
