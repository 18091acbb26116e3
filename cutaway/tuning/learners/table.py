r"""A column of a table, by a model that has learned to restore the cells of tables like it.

cost = mean over rows of the loss of the target's kind + λ/(2n) Σ W²        W of the head, n training rows

With --head-only the body computes its features once (`CellFeatures`); training and evaluation both read them.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from cutaway.atomic_files import read_json
from cutaway.data.batches import ShuffledRows
from cutaway.data.tables.cells import Cells, encode_cells
from cutaway.data.tables.encoding import tidy
from cutaway.data.tables.schema import Schema
from cutaway.overriding import override
from cutaway.tasks.frozen_features import represent_still
from cutaway.tasks.subjects import Subject
from cutaway.tasks.tables.cell_restoring import cell_subject
from cutaway.tasks.tables.masked_cells import scores_of
from cutaway.tasks.tables.predict import CELLS, SCHEMA, TablePrediction
from cutaway.tasks.tables.row_vectors import RowVectors
from cutaway.training.jobs import Job
from cutaway.tuning.bases import Base
from cutaway.tuning.learner import TunedLearner

if TYPE_CHECKING:
    import pandas

_ROWS = 4096  # whose features are computed at a time


class TunedTable(RowVectors, TunedLearner):
    """A model of cells with a head for the target."""

    task: TablePrediction

    @override
    def fit_first(self) -> None:
        splits: Any = self.task.parts.splits
        train, held = splits.train, splits.validation
        self.rows = CellFeatures(self.model, train) if self.settings.head_only else train
        self.held = None if held is None else CellFeatures(self.model, held) if self.settings.head_only else held

    @override
    def batches(self, rank: int, world: int) -> ShuffledRows:
        return ShuffledRows(self.task.count(), self.settings.batch, self.settings.seed, rank, world)

    @override
    def cost(self, model: nn.Module, batch: Int[np.ndarray, "b"]) -> Tensor:
        return cell_cost(model, batch, self.rows, self.settings.penalty / self.task.count())

    def measure(self, model: Any, rows: "Cells | CellFeatures") -> dict[str, float]:
        """Metrics of some rows, from their features where the body is frozen."""
        if isinstance(rows, Cells):
            return self.task.metrics(model.head, scores_of(model, rows), rows)
        with torch.no_grad():
            return self.task.metrics(model.head, model.head(rows.values).cpu(), rows)

    @override
    def evaluate(self, model: nn.Module) -> dict[str, float]:
        return {} if self.held is None else self.measure(model, self.held)

    @override
    def facts(self) -> dict[str, Any]:
        schema, cells = self.task.schema, self.task.cells
        assert cells is not None
        known = {column.name for column in cells.columns if column.kind != "ignored"}
        seen = sorted({column.name for column in schema.targets} & known)
        summary = self.task.parts.summary()
        if seen:
            summary += f"\nthe base has seen the column {seen[0]!r}: it is hidden here, but what it learned of it stays"
        classes = schema.task in ("binary", "multi-class")
        facts: dict[str, Any] = {
            "summary": summary,
            "loss_unit": "nats a row" if classes else "share of the target's variance",
        }
        if self.held is not None:
            facts["baseline"] = self.task.baseline(self.model.head, self.held)
        return facts

    @override
    def task_job(self, rank: int, world: int) -> Job:
        job = super().task_job(rank, world)
        job.better, job.more_is_better = self.task.figure_by(self.model.head)
        return job

    def encode(self, frame: "pandas.DataFrame") -> Cells:
        """New rows as cells; the target, if they have it, is hidden."""
        assert self.task.cells is not None
        names = [column.name for column in self.task.schema.targets]
        return encode_cells(self.task.cells, tidy(frame.reset_index(drop=True)), unknown=names)

    def outputs(self, rows: "pandas.DataFrame") -> tuple[Any, Tensor]:
        """The model's head, and what it says of new rows."""
        return self.model.head, scores_of(self.model, self.encode(rows))

    @override
    def model_rows(self, frame: "pandas.DataFrame") -> tuple[Any, ...]:
        return self.encode(frame)[:3]

    @override
    def subject(self, given: str | None = None) -> Subject:
        """Rows of a file; without one, rows that it was not trained on (or was, if there are no others)."""
        if given is not None:
            return cell_subject(self.model, self.encode(self.task.inputs(given)), "your rows")
        return cell_subject(self.model, *self.task.rows_to_show())


class CellFeatures:
    """What the head reads of rows, computed once by a frozen body, and their targets."""

    def __init__(self, model: nn.Module, cells: Cells) -> None:
        device = next(model.parameters()).device
        parts = []
        for first in range(0, cells.size, _ROWS):
            some = cells.take(slice(first, first + _ROWS))
            parts.append(represent_still(model, *(torch.from_numpy(part).to(device) for part in some[:3])))
        self.values: Float[Tensor, "n w"] = torch.cat(parts)
        self.targets = cells.targets


def cell_cost(
    model: nn.Module, numbers: Int[np.ndarray, "b"], rows: Cells | CellFeatures, penalty: float = 0.0
) -> Tensor:
    """The mean loss of some rows, by their numbers; from their features where the body is frozen.

    ``penalty`` (λ/n) is the weight of ½ Σ W² of the head.
    """
    head: Any = model.head
    device = next(model.parameters()).device
    assert rows.targets is not None
    targets = torch.from_numpy(rows.targets[numbers]).to(device)
    pull = penalty / 2 * head.linear.weight.square().sum()
    if isinstance(rows, CellFeatures):
        return head.loss(head(rows.values[torch.from_numpy(numbers).to(device)]), targets).mean() + pull
    some = rows.take(numbers)
    return head.loss(model(*(torch.from_numpy(part).to(device) for part in some[:3])), targets).mean() + pull


def cells_of_base(base: Base) -> Schema:
    """The columns that a base was trained on: of a run tuned before, those of its own base."""
    path = base.file(CELLS) or base.file(SCHEMA)
    if path is None:
        raise ValueError(
            f"a model of cells needs the schema of its table, got {base.path} without it; take it from a copy"
        )
    return Schema.from_dict(read_json(path, "version"))
