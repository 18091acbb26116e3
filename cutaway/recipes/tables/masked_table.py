r"""`masked-table`: a model that restores any cell of a table from the others of its row."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from cutaway.overriding import override
from cutaway.recipes.base import Recipe, without_idle_patience
from cutaway.recipes.checks import expect_at_least, expect_share
from cutaway.recipes.settings import DATA, FIRST, RESULTS, SCHEDULE, setting
from cutaway.tasks.abilities.ability import Offer

if TYPE_CHECKING:
    from cutaway.tasks.tables.cell_restoring import CellRestorer
    from cutaway.tasks.tables.masked_cells import HiddenCellsTask


@dataclass(frozen=True)
class MaskedTableRecipe(Recipe):
    """Learns how the columns of a table go together: cells are hidden at random and restored from the rest of the row.

    It needs no target. It fills the missing cells of a table (`cutaway predict`), says how sure it is and which column
    tells of which; and `cutaway tune` makes a classifier of it that needs fewer labels than one from scratch.
    """

    name: ClassVar[str] = "masked-table"
    abilities: ClassVar[tuple[Offer, ...]] = (
        Offer("test"),
        Offer(
            "predict",
            takes="rows.csv",
            gives="rows with empty cells in; the rows with all cells filled out, with P(value) of filled categories "
            "and the 10 % and 90 % quantiles of filled numbers",
        ),
        Offer("look", takes="rows.csv"),
        Offer("embed"),
    )
    task_kind: ClassVar[str] = "tables/masked_cells"
    quality: ClassVar[str] = (
        "Adult's 14 columns, each cell of held-out rows hidden alone: 79.1 % of categories right (the most frequent "
        "56.0 %), mean R² of the numbers 0.29, after 1,500 steps (37 s of one core)."
    )
    unit: ClassVar[str] = "nats a hidden cell"
    memory: ClassVar[str] = "cutaway.data.stored:keep_table"

    data: str = "iris"  # in Python a DataFrame, too, or a dict of columns
    """a CSV or Parquet file, or the name of an embedded sample (`cutaway list data`)"""
    leave_out: str = setting("", DATA, "COLUMNS")
    """columns not to look at, with commas between: such as one that is to be predicted later"""
    hidden: float = setting(0.5, FIRST)
    """share of the cells that is hidden in training"""
    validation: float = setting(0.1, DATA)
    """share of the rows to evaluate on; 0 for none"""
    test: float = setting(0.1, DATA)
    """share of the rows for `cutaway test`; 0 for none"""
    encoding: str = setting("utf-8", DATA)
    """encoding of a CSV file"""
    header: bool | None = setting(None, DATA)
    """whether the first row of a CSV file holds the names of the columns; without it, it is found and told"""

    width: int = setting(256, FIRST)
    """units in a hidden layer"""
    depth: int = setting(3, FIRST)
    """hidden layers"""
    cell: int = 8
    """width of a cell's vector"""
    dropout: float = setting(0.1, FIRST)
    """share of hidden units dropped in training"""
    pieces: int = 96
    """pieces that the range of a number is cut into as an input, at most; fewer where rows are few, 0 for none"""
    bins: int = 32
    """bins of a number as an output, at most; fewer where rows are few"""

    steps: int = 1500
    """optimizer steps, at most"""
    batch: int = 256
    """rows in a batch; a smaller table is taken whole"""
    weight_decay: float = 0.01
    """pull of the matrices towards zero"""
    warmup: int = 50
    """steps in which the rate rises from zero"""
    patience: int = setting(20, SCHEDULE)
    """evaluations without improvement before stopping; 0 to go on"""
    evaluate_every: int = setting(50, RESULTS)
    """steps between evaluations"""

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_share(self, "validation", "test", "dropout")
        expect_at_least(self, 1, "width", "depth", "cell")
        expect_at_least(self, 0, "pieces")
        expect_at_least(self, 2, "bins")
        if not 0 < self.hidden < 1:
            raise ValueError(f"hidden must be above 0 and below 1, got {self.hidden}; try hidden=0.5")

    @override
    def settled(self, task: Any = None, base: Any = None) -> "Recipe":
        return without_idle_patience(self)

    @override
    def read(self, base: Any = None) -> "HiddenCellsTask":
        from cutaway.tasks.tables.masked_cells import HiddenCellsTask

        task = HiddenCellsTask(self)
        task.parts  # noqa: B018 -- reads them
        return task

    @override
    def build(self, task: Any, base: Any = None, model: Any = None) -> "CellRestorer":
        from cutaway.tasks.tables.cell_restoring import CellRestorer

        return CellRestorer.new(self, task) if model is None else CellRestorer(self, task, model)

    @override
    def smaller(self) -> str:
        return f"lower batch={self.batch}"
