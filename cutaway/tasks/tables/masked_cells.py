r"""Hidden cells of a table, restored from the others of their rows: batches, the cost of a step, metrics and fillings.

    cost = mean over hidden cells (i, j) of −log p_j(y_ij | the cells of row i that are left)

Of each row a share of the cells is hidden, drawn anew for every batch; a cell that is missing is always hidden, and
never asked for. Numbers are asked for by their bin.
"""

import copy
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from cutaway.atomic_files import read_json, write_json
from cutaway.blocks.losses.metrics import accuracy, r_squared
from cutaway.blocks.losses.restoration import cell_losses, mean_where
from cutaway.data.batches import Batches, ShuffledRows
from cutaway.data.seeded_draws import draw_uniform
from cutaway.data.tables.cells import Cells, CellTable, read_cells
from cutaway.data.tables.schema import Schema
from cutaway.models.cells import CellNet
from cutaway.overriding import override
from cutaway.tasks.tables.predict import SCHEMA, read_rows, schema_of
from cutaway.tasks.task import Files, Task

if TYPE_CHECKING:
    import pandas

WHOLE = "whole_numbers.json"  # in the run folder: the columns of whole numbers
_ROWS = 4096  # evaluated or filled at a time


class HiddenCellsTask(Task):
    """The rows of a table without a target, and how well their cells are restored."""

    kind: ClassVar[str] = "tables/masked_cells"
    parts: CellTable

    @override
    def read_parts(self) -> CellTable:
        settings = self.settings
        return read_cells(
            settings.data,
            leave_out=[name.strip() for name in settings.leave_out.split(",") if name.strip()],
            validation=settings.validation,
            test=settings.test,
            seed=settings.seed,
            encoding=settings.encoding,
            header=settings.header,
        )

    @cached_property
    def schema(self) -> Schema:
        return self.parts.schema if self.run is None else schema_of(self.run)

    @cached_property
    def whole(self) -> tuple[str, ...]:
        """The columns of whole numbers."""
        if self.run is None:
            return self.parts.whole
        path = self.run.file(WHOLE)
        return () if path is None else tuple(read_json(path, "columns")["columns"])

    @override
    def files(self) -> Files:
        schema, whole = self.schema, self.whole
        return {
            SCHEMA: lambda path: write_json(path, schema.to_dict()),
            WHOLE: lambda path: write_json(path, {"columns": list(whole)}),
        }

    def inputs(self, source: Any) -> "pandas.DataFrame":
        """Rows of a person, some of whose cells may be empty."""
        return read_rows(self.schema, source, self.settings.encoding)

    def rows_to_show(self) -> tuple[Cells, str]:
        """Rows that a model was not trained on, and what they are; those of training if there are no others."""
        if self.parts.validation is None:
            return self.parts.train, "rows that it was trained on"
        return self.parts.validation, "rows that it was not trained on"

    def test_metrics(self, learner: Any) -> dict[str, float]:
        rows, model = self.parts.open_test(), learner.model
        scores = column_scores(model, rows, outcome_frequencies(model, self.parts.train))
        numbers = len(model.spec.inputs)
        naive = {f"baseline_{name}": value for name, value in summary_metrics(scores, numbers, naive=True).items()}
        return hidden_metrics(model, rows, self.settings.hidden) | summary_metrics(scores, numbers) | naive


class HiddenCells(NamedTuple):
    """Rows, and which of their cells are hidden."""

    cells: Cells
    hidden: Bool[np.ndarray, "n c"]


class CellBatches(Batches[HiddenCells]):
    """Every row once in each epoch, other cells of it hidden each time."""

    def __init__(self, cells: Cells, share: float, batch: int, seed: int = 0, rank: int = 0, world: int = 1) -> None:
        super().__init__(batch, seed, rank, world)
        self.cells, self.hidden_share = cells, share
        self._order = ShuffledRows(cells.size, batch, seed)

    @override
    def at(self, step: int) -> HiddenCells:
        rows = self._order.at(step)
        hidden = draw_hidden(self.batch, self.cells.known.shape[1], self.hidden_share, self.seed, step)
        return HiddenCells(self.cells.take(self.share(rows)), self.share(hidden))


def draw_hidden(
    rows: int, columns: int, share: float, seed: int, number: int, purpose: str = "cells"
) -> Bool[np.ndarray, "n c"]:
    """Which cells of some rows are hidden: ``share`` of them, a function of the seed and the number."""
    return draw_uniform(seed, purpose, number, rows * columns).reshape(rows, columns) < share


def hidden_cost(model: nn.Module, batch: HiddenCells) -> Tensor:
    """The mean loss of the hidden cells whose value is known, in nats."""
    net: Any = model
    device = next(model.parameters()).device
    numbers, categories, known, hidden = (
        torch.from_numpy(part).to(device) for part in (*batch.cells[:3], batch.hidden)
    )
    scores = model(numbers, categories, known & ~hidden).float()
    losses = cell_losses(scores, net.outcomes(numbers, categories), net.spec.outcomes)
    return mean_where(losses, known & hidden)


@torch.no_grad()
def scores_of(model: nn.Module, cells: Cells, hidden: Bool[np.ndarray, "n c"] | None = None) -> Float[Tensor, "n o"]:
    """The scores of all outcomes of any number of rows, with some cells hidden, on the CPU."""
    device = next(model.parameters()).device
    parts = []
    for first in range(0, max(1, cells.size), _ROWS):
        some = cells.take(slice(first, first + _ROWS))
        known = some.known if hidden is None else some.known & ~hidden[first : first + _ROWS]
        parts.append(model(*(torch.from_numpy(x).to(device) for x in (some.numbers, some.categories, known))).float())
    return torch.cat(parts).cpu()


def hidden_metrics(model: nn.Module, cells: Cells, share: float) -> dict[str, float]:
    """The loss with a share of the cells hidden, always the same ones: to compare evaluations."""
    net: Any = model
    hidden = draw_hidden(cells.size, cells.known.shape[1], share, 0, 0, "fixed")
    losses = cell_losses(scores_of(model, cells, hidden), true_outcomes(net, cells), net.spec.outcomes)
    return {"loss": mean_where(losses, torch.from_numpy(hidden & cells.known)).item()}


def true_outcomes(model: CellNet, cells: Cells) -> Tensor:
    """What each cell is, as `CellNet.outcomes` tells it."""
    device = model.device
    numbers, categories = (torch.from_numpy(part).to(device) for part in cells[:2])
    return model.outcomes(numbers, categories).cpu()


class ColumnScore(NamedTuple):
    """How well the cells of a column are restored when they alone are hidden, beside the naive answer.

    ``quality`` is the accuracy of a category, R² of a number. The naive answer knows how frequent each outcome is in
    training, and says the most frequent category, or the mean.
    """

    loss: float
    quality: float
    naive_loss: float
    naive_quality: float
    known: int  # cells that it is measured on

    @property
    def told(self) -> float:
        """The share of the naive loss that the other columns of a row take away: 0 for nothing, 1 for all."""
        return 1 - self.loss / self.naive_loss if self.naive_loss else 0.0


def column_scores(model: CellNet, cells: Cells, frequencies: Sequence[Tensor]) -> list[ColumnScore | None]:
    """The score of every column, one hidden at a time; None where no cell is known.

    ``frequencies`` are those of the outcomes in training: see `outcome_frequencies`.
    """
    found: list[ColumnScore | None] = []
    truth, bins = true_outcomes(model, cells), copy.deepcopy(model.bins).cpu()
    values = None if not model.spec.inputs else torch.from_numpy(cells.numbers)[:, _first_inputs(model.spec.inputs)]
    for j, frequency in enumerate(frequencies):
        rows = np.flatnonzero(cells.known[:, j])
        if not len(rows):
            found.append(None)
            continue
        some, here = cells.take(rows), torch.from_numpy(rows)
        scores = column_outcomes(model, some, j)
        y = truth[here, j]
        loss = nn.functional.cross_entropy(scores, y).item()
        naive = -(frequency.clamp(min=1e-12).log()[y]).mean().item()
        if j < len(model.spec.inputs):
            assert values is not None
            x = values[here, j].double()
            guess = bins.expected(scores.double().softmax(-1), j)
            mean = bins.expected(frequency.double(), j)
            quality = (r_squared(guess, x), r_squared(mean.expand_as(x), x)) if len(x.unique()) > 1 else (0.0, 0.0)
        else:
            quality = (accuracy(scores.argmax(-1), y), accuracy(frequency.argmax().expand_as(y), y))
        found.append(ColumnScore(loss, quality[0], naive, quality[1], len(rows)))
    return found


def column_outcomes(model: CellNet, cells: Cells, column: int, also: Sequence[int] = ()) -> Float[Tensor, "n o"]:
    """The scores of one column's outcomes with its cells hidden, and those of the columns ``also``."""
    hidden = np.zeros_like(cells.known)
    hidden[:, [column, *also]] = True
    return scores_of(model, cells, hidden).split(list(model.spec.outcomes), -1)[column]


def outcome_frequencies(model: CellNet, cells: Cells) -> list[Tensor]:
    """How frequent each outcome of each column is, with half a row added to each."""
    truth = true_outcomes(model, cells)
    found = []
    for j, count in enumerate(model.spec.outcomes):
        known = torch.from_numpy(cells.known[:, j])
        counts = torch.bincount(truth[known, j], minlength=count).double() + 0.5
        found.append(counts / counts.sum())
    return found


def summary_metrics(scores: Sequence[ColumnScore | None], numbers: int, naive: bool = False) -> dict[str, float]:
    """The mean R² of the numbers, which are first, and accuracy of categories; or those of the naive answers."""
    kinds = {"r2": scores[:numbers], "accuracy": scores[numbers:]}
    means = {
        metric: [one.naive_quality if naive else one.quality for one in own if one is not None]
        for metric, own in kinds.items()
    }
    return {metric: float(np.mean(own)) for metric, own in means.items() if own}


def naive_loss(model: CellNet, cells: Cells, frequencies: Sequence[Tensor], share: float) -> float:
    """The loss of the frequencies of training on the cells that `hidden_metrics` hides."""
    hidden = torch.from_numpy(draw_hidden(cells.size, cells.known.shape[1], share, 0, 0, "fixed") & cells.known)
    scores = torch.cat([own.log() for own in frequencies]).expand(cells.size, -1)
    return mean_where(cell_losses(scores, true_outcomes(model, cells), model.spec.outcomes), hidden).item()


def _first_inputs(inputs: Sequence[int]) -> list[int]:
    """The place of each number column's value among all inputs."""
    return [sum(inputs[:j]) for j in range(len(inputs))]
