r"""`masked-table`: a model that restores any cell of a table from the others of its row."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from cutaway.recipes.base import Recipe, without_idle_patience
from cutaway.recipes.checks import expect_at_least, expect_share
from cutaway.recipes.settings import DATA, FIRST, RESULTS, SCHEDULE, setting
from cutaway.tasks.tables.row_vectors import RowVectors

if TYPE_CHECKING:
    import pandas
    from torch import nn

    from cutaway.data.tables.cells import CellTable
    from cutaway.models.cells import CellNet
    from cutaway.runs.run import Run
    from cutaway.tasks.subjects import Subject
    from cutaway.training.jobs import Job

WHOLE = "whole_numbers.json"  # in the run folder: the columns of whole numbers
_ROWS_EACH = 10  # training rows for every piece of all numbers together, at least
_ROWS_A_BIN = 10  # training rows for every bin of a number, at least
_EVALUATED = 4096  # rows of an evaluation while training


@dataclass(frozen=True)
class MaskedTableRecipe(RowVectors, Recipe):
    """Learns how the columns of a table go together: cells are hidden at random and restored from the rest of the row.

    It needs no target. It fills the missing cells of a table (`cutaway predict`), says how sure it is and which column
    tells of which; and `cutaway tune` makes a classifier of it that needs fewer labels than one from scratch.
    """

    name: ClassVar[str] = "masked-table"
    quality: ClassVar[str] = (
        "Adult's 14 columns, each cell of held-out rows hidden alone: 79.1 % of categories right (the most frequent "
        "56.0 %), mean R² of the numbers 0.29, after 1,500 steps (37 s of one core)."
    )
    unit: ClassVar[str] = "nats a hidden cell"
    input_is_file: ClassVar[bool] = True
    memory: ClassVar[str] = "cutaway.data.stored:keep_table"
    prediction: ClassVar[str] = (
        "rows with empty cells in; the rows with all cells filled out, with P(value) of filled categories and the "
        "10 % and 90 % quantiles of filled numbers"
    )

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

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_share(self, "validation", "test", "dropout")
        expect_at_least(self, 1, "width", "depth", "cell")
        expect_at_least(self, 0, "pieces")
        expect_at_least(self, 2, "bins")
        if not 0 < self.hidden < 1:
            raise ValueError(f"hidden must be above 0 and below 1, got {self.hidden}; try hidden=0.5")

    def settled(self, task: Any = None, base: Any = None) -> "Recipe":
        return without_idle_patience(self)

    def table(self, run: "Run | None" = None) -> "CellTable":
        """The table in its three parts, with its schema; that of a ``run`` must be as it was."""
        from cutaway.data.tables.cells import read_cells

        found = read_cells(
            self.data,
            leave_out=[name.strip() for name in self.leave_out.split(",") if name.strip()],
            validation=self.validation,
            test=self.test,
            seed=self.seed,
            encoding=self.encoding,
            header=self.header,
        )
        if run is not None:
            run.expect_same_data(found.fingerprint)
        return found

    def build(self, table: "CellTable") -> "CellNet":
        """The untrained model, with the knots and bins of the training rows."""
        import torch

        from cutaway.blocks.embeddings.number_bins import choose_edges
        from cutaway.blocks.embeddings.numbers import choose_knots
        from cutaway.data.tables.cells import cell_columns, cell_inputs
        from cutaway.models.cells import CellNet, CellNetSpec

        inputs, columns = cell_inputs(table.schema), cell_columns(table.schema)
        known = torch.from_numpy(table.train.known)
        numbers = torch.from_numpy(table.train.numbers).split(inputs, -1) if inputs else ()
        values = [x[known[:, j], 0] for j, x in enumerate(numbers)]
        rows = table.train.size
        pieces = min(self.pieces, rows // (_ROWS_EACH * max(1, len(inputs))))
        knots = [choose_knots(x, pieces) if pieces > 1 else x[:0] for x in values]
        knots = [own if len(own) > 2 else own[:0] for own in knots]
        edges = [choose_edges(x, max(2, min(self.bins, len(x) // _ROWS_A_BIN))) for x in values]
        spec = CellNetSpec(
            inputs=inputs,
            bins=tuple(len(own) + 1 for own in edges),
            cardinalities=tuple(len(column.categories) for column in columns[len(inputs) :]),
            pieces=tuple(max(0, len(own) - 1) for own in knots) if any(map(len, knots)) else (),
            cell=self.cell,
            width=self.width,
            depth=self.depth,
            dropout=self.dropout,
        )
        torch.manual_seed(self.seed)
        model = CellNet(spec)
        if model.cells.pieces is not None:
            model.cells.pieces.set_knots(knots)
        model.bins.set_bins(values, edges)
        return model

    def job(self, rank: int = 0, world: int = 1) -> "Job":
        from cutaway.atomic_files import write_json
        from cutaway.tasks.tables.masked_cells import (
            CellBatches,
            column_scores,
            hidden_cost,
            hidden_metrics,
            naive_loss,
            outcome_frequencies,
            summary_metrics,
        )
        from cutaway.training.jobs import Job

        table = self.table()
        model = self.build(table)
        batch = min(self.batch, table.train.size)
        held = table.validation
        numbers = len(model.spec.inputs)
        told: dict[str, Any] = {
            "summary": table.summary(),
            "fingerprint": table.fingerprint.to_dict(),
            "source": str(self.data),
        }
        files: dict[str, Callable[[Path], None]] = {
            "schema.json": lambda path: write_json(path, table.schema.to_dict()),
            WHOLE: lambda path: write_json(path, {"columns": list(table.whole)}),
        }
        frequencies = outcome_frequencies(model, table.train)
        if held is not None:
            told["baseline"] = {
                "rule": "the most frequent category of a column, or its mean, in training",
                "metrics": {"loss": naive_loss(model, held, frequencies, self.hidden)}
                | summary_metrics(column_scores(model, held, frequencies), numbers, naive=True),
            }
        some = None if held is None else held.take(slice(0, _EVALUATED))

        def evaluate(m: "nn.Module") -> dict[str, float]:
            return {} if some is None else hidden_metrics(m, some, self.hidden)

        def whole(m: "nn.Module") -> dict[str, float]:
            if held is None:
                return {}
            net: Any = m
            return hidden_metrics(m, held, self.hidden) | summary_metrics(
                column_scores(net, held, frequencies), numbers
            )

        return Job(
            model=model,
            batches=CellBatches(table.train, self.hidden, batch, self.seed, rank, world),
            objective=hidden_cost,
            evaluate=evaluate,
            whole=whole,
            units=batch,
            files=files,
            data=told,
        )

    def test_metrics(self, run: "Run") -> dict[str, float]:
        from cutaway.tasks.tables.masked_cells import (
            column_scores,
            hidden_metrics,
            outcome_frequencies,
            summary_metrics,
        )

        table = self.table(run)
        model: Any = run.model
        rows = table.open_test()
        scores = column_scores(model, rows, outcome_frequencies(model, table.train))
        numbers = len(model.spec.inputs)
        naive = {f"baseline_{name}": value for name, value in summary_metrics(scores, numbers, naive=True).items()}
        return hidden_metrics(model, rows, self.hidden) | summary_metrics(scores, numbers) | naive

    def predict(self, run: "Run", inputs: Any) -> "pandas.DataFrame":
        """The rows of a DataFrame, a file, or dicts, with their missing cells filled."""
        from cutaway.atomic_files import read_json
        from cutaway.tasks.tables.filling import fill_table
        from cutaway.tasks.tables.predict import read_rows, schema_of

        schema, about = schema_of(run), run.file(WHOLE)
        whole = () if about is None else tuple(read_json(about, "columns")["columns"])
        model: Any = run.model
        return fill_table(model, schema, read_rows(schema, inputs, self.encoding), whole)

    def model_rows(self, run: "Run", frame: "pandas.DataFrame") -> tuple[Any, ...]:
        from cutaway.data.tables.cells import encode_cells
        from cutaway.data.tables.encoding import tidy
        from cutaway.tasks.tables.predict import schema_of

        return encode_cells(schema_of(run), tidy(frame))[:3]

    def subject(self, run: "Run", given: str | None = None) -> "Subject":
        """Rows of a file; without one, rows that it was not trained on (or was, if there are no others)."""
        import torch

        from cutaway.data.tables.cells import encode_cells
        from cutaway.data.tables.encoding import tidy
        from cutaway.tasks.subjects import SHOWN, Subject
        from cutaway.tasks.tables.predict import read_rows, schema_of

        if given is not None:
            schema = schema_of(run)
            cells = encode_cells(schema, tidy(read_rows(schema, given, self.encoding)))
            words = "your rows"
        else:
            table = self.table(run)
            cells = table.train if table.validation is None else table.validation
            words = "rows that it was " + ("trained on" if table.validation is None else "not trained on")
        if not cells.size:
            raise ValueError("a table to look at must have a row, got none; give it some")
        words = words if cells.size <= SHOWN else f"the first {SHOWN} of {cells.size:,} {words}"
        device = next(run.model.parameters()).device
        return Subject(tuple(torch.from_numpy(part).to(device) for part in cells.take(slice(0, SHOWN))[:3]), words)

    def smaller(self) -> str:
        return f"lower batch={self.batch}"


__all__ = ["WHOLE", "MaskedTableRecipe"]
