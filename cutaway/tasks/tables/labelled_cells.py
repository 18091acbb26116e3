r"""Rows of cells with a target: the cost of a batch, metrics, and the features of a frozen body.

cost = mean over rows of the loss of the task + λ/(2n) Σ W²        W of the head, n training rows
"""

from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from cutaway.data.tables.cells import Cells
from cutaway.data.tables.schema import Schema
from cutaway.tasks.frozen_features import represent_still
from cutaway.tasks.tables.baselines import score
from cutaway.tasks.tables.masked_cells import scores_of

_ROWS = 4096  # whose features are computed at a time


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


def cell_metrics(model: nn.Module, cells: Cells, schema: Schema) -> dict[str, float]:
    """Loss and metrics of the task; for a single number also its error in its own unit."""
    assert cells.targets is not None
    head: Any = model.head
    outputs, targets = scores_of(model, cells), torch.from_numpy(cells.targets)
    found = {"loss": head.loss(outputs, targets).mean().item()} | score(head, head.predict(outputs), targets)
    if schema.task == "regression" and len(schema.targets) == 1:
        found["rmse"] = found["loss"] ** 0.5 * schema.targets[0].std
    return found


__all__ = ["CellFeatures", "cell_cost", "cell_metrics"]
