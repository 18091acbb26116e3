r"""The task `table`: a column of a table, by a model that has learned to restore the cells of others like it."""

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.overriding import override
from cutaway.recipes.checks import expect_at_least
from cutaway.recipes.settings import DATA, FIRST, OPTIMIZER, RESULTS, setting
from cutaway.tasks.abilities.ability import Offer
from cutaway.tuning.settings import TunedRecipe

if TYPE_CHECKING:
    from torch import nn

    from cutaway.tasks.tables.predict import TablePrediction
    from cutaway.tuning.bases import Base
    from cutaway.tuning.learners.table import TunedTable

# The head's was chosen on validation rows of Adult, the others are near ones tried there; that of adapters is not.
_RATES = {"lora": 1e-3, "adapter": 1e-3, "head_only": 1e-2, "last": 3e-4, "full": 3e-4}
_FEWEST, _MOST = 100, 2000  # steps


@dataclass(frozen=True)
class TunedTableRecipe(TunedRecipe):
    """Tunes a model of hidden cells (`masked-table`) to predict a column, for which few rows have a value.

    The rows are read as those of the base were; the column to predict may be one that the base never saw.
    """

    name: ClassVar[str] = "tuned-table"
    abilities: ClassVar[tuple[Offer, ...]] = (
        Offer("test"),
        Offer("predict", takes="rows.csv", gives="rows in; the target out, and for classes P(label) for every label"),
        Offer("look", takes="rows.csv"),
        Offer("embed"),
    )
    task: ClassVar[str] = "table"
    task_kind: ClassVar[str] = "tables/predict"
    memory: ClassVar[str] = "cutaway.data.stored:keep_table"
    quality: ClassVar[str] = (
        "Adult's test file, head only, 50 labels: accuracy 0.819 (mlp from scratch 0.793, logistic regression 0.810); "
        "LoRA, 1,000 labels: 0.850 (0.845, 0.844). `python benchmarks/run.py few_label_table` measures it."
    )
    unit: ClassVar[str] = "nats a row; of numbers, of the target's variance"

    data: str = setting("", FIRST, "PATH")  # in Python a DataFrame, too, or a dict of columns
    """a CSV or Parquet file with the columns of the base and the target"""
    target: str = setting("", FIRST, "COLUMN")
    """the column to predict (default: one called target, label or class, else the last)"""
    kind: Literal["auto", "regression", "binary", "multi-class", "multi-label"] = setting("auto", DATA)
    """what the target asks for: auto finds it"""
    test_file: str = setting("", DATA, "PATH")
    """a file of test rows of its own, instead of a share"""
    encoding: str = setting("utf-8", DATA)
    """encoding of a CSV file"""
    header: bool | None = setting(None, DATA)
    """whether the first row of a CSV file holds the names of the columns; without it, it is found and told"""

    batch: int = 128
    """rows in a batch"""
    epochs: float = setting(30.0, FIRST)
    """how often every row is seen; the steps are 100 at least and 2,000 at most"""
    rate: float = setting(0.0, FIRST)
    """full learning rate; 0 for one that suits the way: 0.001 for LoRA and adapters, 0.01 for a head, 0.0003 for last
    layers and all weights"""
    penalty: float = setting(30.0, OPTIMIZER)
    """pull of the head's weights towards zero, 1/C of scikit-learn's LogisticRegression: it fades as rows grow many"""
    final: Literal["best", "last"] = setting("last", RESULTS)
    """the weights that the run ends with: last, as few rows cannot tell which are best, or best by validation"""

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_at_least(self, 0, "penalty")

    @override
    @classmethod
    def suits(cls, data: Any) -> str:
        from cutaway.data.kinds import tables

        return tables(data)

    @override
    def settled(self, task: Any = None, base: Any = None) -> "TunedRecipe":
        new = super().settled(task, base)
        way = new.way
        if not self.rate:
            new = dataclasses.replace(new, rate=_RATES[way])
        if not self.steps:
            steps = min(max(new.steps, _FEWEST), _MOST)
            looks = self.evaluate_every or max(1, steps // 20)
            new = dataclasses.replace(new, steps=steps, warmup=self.warmup or steps // 16, evaluate_every=looks)
        return new

    @property
    def target_task(self) -> str:
        """What the target is said to ask for; auto to have it found."""
        return self.kind

    @override
    def read(self, base: Any = None) -> "TablePrediction":
        from cutaway.tasks.tables.predict import TablePrediction
        from cutaway.tuning.learners.table import cells_of_base

        task = TablePrediction(self, cells=cells_of_base(base))
        task.parts  # noqa: B018 -- reads them
        return task

    @override
    def headed(self, base: "Base", task: "TablePrediction") -> "nn.Module":
        from cutaway.blocks.losses.tasks import Task

        return base.model.with_task(Task(task.schema.task, task.schema.outputs))

    @override
    def learner_kind(self) -> "type[TunedTable]":
        from cutaway.tuning.learners.table import TunedTable

        return TunedTable
