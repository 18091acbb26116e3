r"""Settings that the recipes for tables share. Their task is `tasks/tables/predict.py`."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.overriding import override
from cutaway.recipes.base import Recipe
from cutaway.recipes.checks import expect_share
from cutaway.recipes.settings import DATA, FIRST, setting
from cutaway.tasks.abilities.ability import Offer

if TYPE_CHECKING:
    from cutaway.data.tables.reading import Table
    from cutaway.models.tables import TableNetSpec
    from cutaway.tasks.tables.predict import TablePrediction
    from cutaway.tasks.tables.rows import RowLearner

ALL_TASKS = ("regression", "binary", "multi-class", "multi-label")


@dataclass(frozen=True)
class TableRecipe(Recipe):
    """A model of the rows of a table."""

    abilities: ClassVar[tuple[Offer, ...]] = (
        Offer("test"),
        Offer(
            "predict",
            takes="rows.csv",
            gives="rows in; the target out, and for classes P(label) for every label; categories that training never "
            "saw and empty fields are fine, a column that is not there is not",
        ),
        Offer("look", takes="rows.csv"),
        Offer("embed"),
    )
    task_kind: ClassVar[str] = "tables/predict"
    memory: ClassVar[str] = "cutaway.data.stored:keep_table"
    # What the table asks for → what the model does.
    heads: ClassVar[dict[str, str]] = {task: task for task in ALL_TASKS}
    others: ClassVar[str] = "mlp"  # recipes for tasks that this one is not for
    probable: ClassVar[bool] = True  # whether its outputs tell probabilities

    data: str = "iris"  # in Python a DataFrame, too, or a dict of columns
    """a CSV or Parquet file, or the name of an embedded sample (`cutaway list data`)"""
    target: str = setting("", FIRST)
    """the column to predict; several with commas between (default: one called target, label or class, else the last)"""
    task: Literal["auto", "regression", "binary", "multi-class", "multi-label"] = setting("auto", DATA)
    """what the target asks for: auto finds it"""
    validation: float = setting(0.1, DATA)
    """share of the rows to evaluate on; 0 for none"""
    test: float = setting(0.1, DATA)
    """share of the rows for `cutaway test`; 0 for none"""
    test_file: str = setting("", DATA, "PATH")
    """a file of test rows of its own, instead of a share"""
    encoding: str = setting("utf-8", DATA)
    """encoding of a CSV file"""
    header: bool | None = setting(None, DATA)
    """whether the first row of a CSV file holds the names of the columns; without it, it is found and told"""

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_share(self, "validation", "test")
        if self.patience and not self.validation:
            raise ValueError(
                f"patience needs rows to evaluate on, got patience={self.patience} with validation=0; "
                "set patience=0 too"
            )

    @property
    def target_task(self) -> str:
        """What the target is said to ask for; auto to have it found."""
        return self.task

    def spec(self, table: "Table") -> "TableNetSpec":
        """The model's design."""
        raise self._cannot("be trained")

    @override
    def read(self, base: Any = None) -> "TablePrediction":
        from cutaway.tasks.tables.predict import TablePrediction

        task = TablePrediction(self)
        task.parts  # noqa: B018 -- reads them
        return task

    def learner(self) -> "type[RowLearner]":
        """How its model learns."""
        from cutaway.tasks.tables.rows import RowLearner

        return RowLearner

    @override
    def build(self, task: Any, base: Any = None, model: Any = None) -> "RowLearner":
        return self.learner().new(self, task) if model is None else self.learner()(self, task, model)

    @override
    def smaller(self) -> str:
        return f"lower batch={self.batch}"
