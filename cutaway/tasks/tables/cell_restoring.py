r"""The learner of the recipe `masked-table`: a `CellNet` restores cells that are hidden from it.

Numbers bend at knots and are asked for by bins, both chosen by the training rows.
"""

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from cutaway.blocks.embeddings.number_bins import choose_edges
from cutaway.blocks.embeddings.numbers import choose_knots
from cutaway.data.tables.cells import Cells, cell_columns, cell_inputs, encode_cells
from cutaway.data.tables.encoding import tidy
from cutaway.models.cells import CellNet, CellNetSpec
from cutaway.overriding import override
from cutaway.tasks.learner import Learner
from cutaway.tasks.subjects import SHOWN, Subject
from cutaway.tasks.tables.filling import fill_table
from cutaway.tasks.tables.masked_cells import (
    CellBatches,
    HiddenCells,
    HiddenCellsTask,
    column_scores,
    hidden_cost,
    hidden_metrics,
    naive_loss,
    outcome_frequencies,
    summary_metrics,
)
from cutaway.tasks.tables.row_vectors import RowVectors
from cutaway.training.jobs import Job

if TYPE_CHECKING:
    import pandas

_ROWS_EACH = 10  # training rows for every piece of all numbers together, at least
_ROWS_A_BIN = 10  # training rows for every bin of a number, at least
_EVALUATED = 4096  # rows of an evaluation while training


class CellRestorer(RowVectors, Learner):
    """A model that gives every cell of a row a distribution, from the cells that are left."""

    task: HiddenCellsTask
    model: CellNet

    @classmethod
    def new(cls, settings: Any, task: HiddenCellsTask) -> "CellRestorer":
        """An untrained model, with the knots and bins of the training rows."""
        table = task.parts
        inputs, columns = cell_inputs(table.schema), cell_columns(table.schema)
        known = torch.from_numpy(table.train.known)
        numbers = torch.from_numpy(table.train.numbers).split(inputs, -1) if inputs else ()
        values = [x[known[:, j], 0] for j, x in enumerate(numbers)]
        pieces = min(settings.pieces, table.train.size // (_ROWS_EACH * max(1, len(inputs))))
        knots = [choose_knots(x, pieces) if pieces > 1 else x[:0] for x in values]
        knots = [own if len(own) > 2 else own[:0] for own in knots]
        edges = [choose_edges(x, max(2, min(settings.bins, len(x) // _ROWS_A_BIN))) for x in values]
        spec = CellNetSpec(
            inputs=inputs,
            bins=tuple(len(own) + 1 for own in edges),
            cardinalities=tuple(len(column.categories) for column in columns[len(inputs) :]),
            pieces=tuple(max(0, len(own) - 1) for own in knots) if any(map(len, knots)) else (),
            cell=settings.cell,
            width=settings.width,
            depth=settings.depth,
            dropout=settings.dropout,
        )
        torch.manual_seed(settings.seed)
        model = CellNet(spec)
        if model.cells.pieces is not None:
            model.cells.pieces.set_knots(knots)
        model.bins.set_bins(values, edges)
        return cls(settings, task, model)

    @property
    def batch(self) -> int:
        return min(self.settings.batch, self.task.parts.train.size)

    @override
    def fit_first(self) -> None:
        self.frequencies = outcome_frequencies(self.model, self.task.parts.train)

    @override
    def batches(self, rank: int, world: int) -> CellBatches:
        settings = self.settings
        return CellBatches(self.task.parts.train, settings.hidden, self.batch, settings.seed, rank, world)

    @override
    def cost(self, model: nn.Module, batch: HiddenCells) -> Tensor:
        return hidden_cost(model, batch)

    @override
    def evaluate(self, model: nn.Module) -> dict[str, float]:
        held = self.task.parts.validation
        return {} if held is None else hidden_metrics(model, held.take(slice(0, _EVALUATED)), self.settings.hidden)

    def evaluate_whole(self, model: Any) -> dict[str, float]:
        """Metrics of the whole validation part, column by column."""
        held = self.task.parts.validation
        if held is None:
            return {}
        scores = column_scores(model, held, self.frequencies)
        return hidden_metrics(model, held, self.settings.hidden) | summary_metrics(scores, len(model.spec.inputs))

    @override
    def facts(self) -> dict[str, Any]:
        held = self.task.parts.validation
        if held is None:
            return {}
        scores = column_scores(self.model, held, self.frequencies)
        metrics = {"loss": naive_loss(self.model, held, self.frequencies, self.settings.hidden)}
        metrics |= summary_metrics(scores, len(self.model.spec.inputs), naive=True)
        rule = "the most frequent category of a column, or its mean, in training"
        return {"baseline": {"rule": rule, "metrics": metrics}}

    @override
    def job(self, rank: int = 0, world: int = 1) -> Job:
        job = super().job(rank, world)
        job.units, job.whole = self.batch, self.evaluate_whole
        return job

    def predict(self, inputs: Any) -> "pandas.DataFrame":
        """The rows of a DataFrame, a file, or dicts, with their missing cells filled."""
        return fill_table(self.model, self.task.schema, self.task.inputs(inputs), self.task.whole)

    @override
    def model_rows(self, frame: "pandas.DataFrame") -> tuple[Any, ...]:
        return encode_cells(self.task.schema, tidy(frame))[:3]

    @override
    def subject(self, given: str | None = None) -> Subject:
        """Rows of a file; without one, rows that it was not trained on (or was, if there are no others)."""
        if given is not None:
            cells, words = encode_cells(self.task.schema, tidy(self.task.inputs(given))), "your rows"
        else:
            cells, words = self.task.rows_to_show()
        return cell_subject(
            self.model, cells, words if cells.size <= SHOWN else f"the first {SHOWN} of {cells.size:,} {words}"
        )


def cell_subject(model: nn.Module, cells: Cells, words: str) -> Subject:
    """Some rows of cells for their model."""
    if not cells.size:
        raise ValueError("a table to look at must have a row, got none; give it some")
    device = next(model.parameters()).device
    return Subject(tuple(torch.from_numpy(part).to(device) for part in cells.take(slice(0, SHOWN))[:3]), words)
