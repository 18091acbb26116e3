r"""Learners of the rows of a table: a network, one layer with a penalty, and the perceptron's rule.

cost = mean loss of the rows (+ λ/n ½ Σ W²)
"""

from typing import Any

import torch
from torch import Tensor, nn

from cutaway.blocks.losses.penalties import l2_penalty
from cutaway.data.tables.encoding import Encoded, TableBatches
from cutaway.models.tables import TableNet
from cutaway.overriding import override
from cutaway.tasks.learner import Learner
from cutaway.tasks.subjects import Subject, row_subject
from cutaway.tasks.tables.predict import TablePrediction, encode_rows
from cutaway.tasks.tables.row_vectors import RowVectors
from cutaway.training.jobs import Job

_ROWS = 4096  # evaluated or predicted at a time


class RowLearner(RowVectors, Learner):
    """A `TableNet` that is given numbers and ids of categories."""

    task: TablePrediction
    model: TableNet

    @classmethod
    def new(cls, settings: Any, task: TablePrediction) -> "RowLearner":
        """An untrained model, which takes from the training rows where numbers may bend."""
        torch.manual_seed(settings.seed)
        model = TableNet(settings.spec(task.parts))
        if model.pieces is not None:
            model.pieces.set_knots(settings.knots(task.parts))
        return cls(settings, task, model)

    @property
    def batch(self) -> int:
        return min(self.settings.batch, len(self.task.parts.train.numbers))

    @override
    def batches(self, rank: int, world: int) -> "RowBatches":
        return RowBatches(self.task.parts.train, self.batch, self.settings.seed, rank, world)

    @override
    def cost(self, model: nn.Module, batch: Encoded) -> Tensor:
        return row_cost(model, batch)

    def losses(self, model: Any, outputs: Tensor, targets: Tensor) -> Tensor:
        """The loss of every row, as shown; the cost may be another."""
        return model.head.loss(outputs, targets)

    def measure(self, model: Any, rows: Encoded) -> dict[str, float]:
        """Metrics of some rows."""
        assert rows.targets is not None
        outputs = outputs_of(model, rows)
        return self.task.metrics(model.head, outputs, rows, self.losses(model, outputs, torch.from_numpy(rows.targets)))

    @override
    def evaluate(self, model: nn.Module) -> dict[str, float]:
        held = self.task.parts.validation
        return {} if held is None else self.measure(model, held)

    @override
    def facts(self) -> dict[str, Any]:
        held = self.task.parts.validation
        return {} if held is None else {"baseline": self.task.baseline(self.model.head, held)}

    @override
    def job(self, rank: int = 0, world: int = 1) -> Job:
        job, held = super().job(rank, world), self.task.parts.validation
        job.units = self.batch
        job.better, job.more_is_better = self.task.figure_by(self.model.head)
        if held is not None:
            job.whole = lambda model: self.measure(model, held) | self.task.naive_metric(model.head, held)
        return job

    def outputs(self, rows: Any) -> tuple[Any, Tensor]:
        """The model's head, and what it says of new rows."""
        return self.model.head, outputs_of(self.model, encode_rows(self.task.schema, rows))

    @override
    def model_rows(self, frame: Any) -> tuple[Any, ...]:
        return encode_rows(self.task.schema, frame)[:2]

    @override
    def subject(self, given: str | None = None) -> Subject:
        """Rows of a file; without one, rows that it was not trained on (or was, if there are no others)."""
        if given is not None:
            return row_subject(self.run, encode_rows(self.task.schema, self.task.inputs(given)), "your rows")
        return row_subject(self.run, *self.task.rows_to_show())


class OneLayer(RowLearner):
    """One layer whose weights are pulled towards zero as much as in statistics: λ/n ½ Σ W²."""

    @override
    def cost(self, model: nn.Module, batch: Encoded) -> Tensor:
        settings, schema = self.settings, self.task.schema
        if not settings.penalty:
            return row_cost(model, batch)
        # The loss is a mean over rows, and for numbers and labels over outputs; of a square the half is not taken.
        several = 1 if settings.heads[schema.task] == "multi-class" else len(schema.targets)
        share = settings.penalty / (len(self.task.parts.train.numbers) * several)
        share *= 2 if schema.task == "regression" else 1
        return row_cost(model, batch) + share * l2_penalty(model)


class Perceptron(RowLearner):
    """Threshold units that learn by Rosenblatt's rule."""

    @override
    def cost(self, model: nn.Module, batch: Encoded) -> Tensor:
        return perceptron_cost(model, batch)

    @override
    def losses(self, model: Any, outputs: Tensor, targets: Tensor) -> Tensor:
        """1 for a row with a mistake, else 0: the sums of a perceptron have no scale to measure a distance in."""
        mistakes, _ = perceptron_errors(outputs, targets)
        return (mistakes != 0).any(-1).to(outputs.dtype)


class RowBatches(TableBatches):
    """Rows in batches; a batch that the whole table fits into is the whole table, in its order."""

    @override
    def at(self, step: int) -> Encoded:
        if self.world == 1 and self.batch >= len(self.table.numbers):
            return self.table
        return super().at(step)


def row_outputs(model: nn.Module, rows: Encoded) -> tuple[Tensor, Tensor]:
    """What the model says of rows, and their targets, both on the model's device."""
    assert rows.targets is not None
    device = next(model.parameters()).device
    numbers, ids, targets = (torch.from_numpy(x).to(device) for x in rows)
    return model(numbers, ids), targets


def row_cost(model: nn.Module, rows: Encoded) -> Tensor:
    """The mean loss of rows, by the task of the model's head."""
    outputs, targets = row_outputs(model, rows)
    head: Any = model.head
    return head.loss(outputs, targets).mean()


@torch.no_grad()
def outputs_of(model: nn.Module, rows: Encoded) -> Tensor:
    """What the model says of any number of rows, without gradients, on the CPU."""
    device = next(model.parameters()).device
    parts = []
    for first in range(0, max(1, len(rows.numbers)), _ROWS):
        numbers, ids = (torch.from_numpy(x[first : first + _ROWS]).to(device) for x in rows[:2])
        parts.append(model(numbers, ids).cpu())
    return torch.cat(parts)


def perceptron_errors(outputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """ŷ − y for every output, and ŷ: thresholds of the sums, or a one for the largest of several classes."""
    with torch.no_grad():
        if outputs.shape[-1] > 1 and targets.ndim < outputs.ndim:
            said = nn.functional.one_hot(outputs.argmax(-1), outputs.shape[-1])
            truth = nn.functional.one_hot(targets, outputs.shape[-1])
        else:
            said, truth = (outputs >= 0).long(), targets.reshape(outputs.shape)
        return (said - truth).to(outputs.dtype), said


def perceptron_cost(model: nn.Module, rows: Encoded) -> Tensor:
    r"""The share of rows with a mistake. Its slope is not that share's, which is 0, but the perceptron's rule:

    ∂/∂W = xᵀ(ŷ − y),  so that descending is W ← W + ε xᵀ(y − ŷ)
    """
    outputs, targets = row_outputs(model, rows)
    errors, _ = perceptron_errors(outputs, targets)
    rule = (errors * outputs).sum(-1).mean()
    return (errors != 0).any(-1).to(outputs.dtype).mean() + (rule - rule.detach())
