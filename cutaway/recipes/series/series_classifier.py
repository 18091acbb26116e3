r"""`series-classifier`: the class of a whole series, from examples: gestures, heartbeats, machines, shapes."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.overriding import override
from cutaway.recipes.base import Recipe
from cutaway.recipes.checks import expect_at_least, expect_share
from cutaway.recipes.settings import DATA, FIRST, setting
from cutaway.tasks.abilities.ability import Offer

if TYPE_CHECKING:
    from cutaway.tasks.series.classifier_learner import ClassifierLearner
    from cutaway.tasks.series.classify import SeriesClasses


@dataclass(frozen=True)
class SeriesClassifierRecipe(Recipe):
    """Gives a whole series one class: by convolutions over time, or by a recurrent net in both directions.

    A file has a series in each row (its class in one column), a step in each row (with a column that says which series
    it belongs to), or is a .ts file of the UEA & UCR archives. Series may be of different lengths.
    """

    name: ClassVar[str] = "series-classifier"
    abilities: ClassVar[tuple[Offer, ...]] = (
        Offer("test"),
        Offer("predict", takes="series.csv", gives="series in; a class for each out"),
        Offer("look", takes="series.csv"),
    )
    task_kind: ClassVar[str] = "series/classify"
    quality: ClassVar[str] = (
        "Test accuracy on archive data, beside the published InceptionTime and the nearest training series: GunPoint "
        "1.00 (1.00, 0.91), ItalyPowerDemand 0.959 (0.966, 0.955), ArrowHead 0.82 (0.86, 0.80), OSULeaf 0.84 (0.92, "
        "0.52); of several channels: BasicMotions 1.00 (nearest 0.60), JapaneseVowels 0.984 (0.951). 3 to 45 s of one "
        "core each, one seed, 300 steps. `python benchmarks/run.py series_classes` measures it."
    )
    unit: ClassVar[str] = "nats a series"

    data: str = "cylinder-bell-funnel"
    """a CSV, Parquet or .ts file, or the name of an embedded sample (`cutaway list data`)"""
    target: str = setting("", FIRST)
    """the column of the class (default: one called class, label or target, else found by sight)"""
    series: str = setting("", DATA)
    """the column that says which series a row belongs to, if rows are steps (default: series, unique_id or id)"""
    time: str = setting("", DATA)
    """the column that orders the steps of a series (default: time, step or ds, else the order of the rows)"""
    validation: float = setting(0.2, DATA)
    """share of the series to evaluate on; 0 for none"""
    test: float = setting(0.2, DATA)
    """share of the series for `cutaway test`; 0 for none"""
    test_file: str = setting("", DATA, "PATH")
    """a file of test series of its own, instead of a share"""
    encoding: str = setting("utf-8", DATA)
    """encoding of a CSV file"""
    header: bool | None = setting(None, DATA)
    """whether the first row of a CSV file holds the names of the columns; without it, it is found and told"""
    design: Literal["conv", "rnn"] = setting("conv", FIRST)
    """convolutions over time, or a bidirectional LSTM"""
    width: int = setting(64, FIRST)
    """filters of a convolution, or units of a direction"""
    depth: int = setting(3, FIRST)
    """layers"""
    dropout: float = 0.2
    """share of pooled values dropped in training"""
    augment: float = setting(0.0, DATA)
    """strength of random noise, size and speed in training, where they keep the class; 1 is the usual, 0 for none"""

    steps: int = 300
    """optimizer steps, at most"""
    batch: int = 32
    """series in a batch; fewer series are taken whole"""
    weight_decay: float = 0.01
    """pull of the matrices towards zero"""
    rate: float = 2e-3
    """full learning rate"""
    ema: float = 0.98
    """decay of an average of the weights, which is then what is evaluated and kept; 0 for none"""
    evaluate_every: int = 25
    """steps between evaluations"""

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_at_least(self, 1, "width", "depth")
        expect_at_least(self, 0, "augment")
        expect_share(self, "validation", "test", "dropout")
        if self.patience and not self.validation:
            raise ValueError(
                f"patience needs series to evaluate on, got patience={self.patience} with validation=0; "
                "set patience=0 too"
            )

    @override
    def read(self, base: Any = None) -> "SeriesClasses":
        from cutaway.tasks.series.classify import SeriesClasses

        task = SeriesClasses(self)
        task.parts  # noqa: B018 -- reads them
        return task

    @override
    def build(self, task: Any, base: Any = None, model: Any = None) -> "ClassifierLearner":
        from cutaway.tasks.series.classifier_learner import ClassifierLearner

        return ClassifierLearner.new(self, task) if model is None else ClassifierLearner(self, task, model)

    @override
    def smaller(self) -> str:
        return f"lower batch={self.batch} or width={self.width}"
