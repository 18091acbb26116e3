"""Networks on rows of tables, as small as they come."""

from typing import Any

import torch

from cutaway.models.cells import CellNet
from cutaway.models.tables import TableNet
from cutaway.registry import register


def ids() -> torch.Tensor:
    return torch.stack([torch.randint(5, (7,)), torch.randint(3, (7,))], -1)


register(
    TableNet,
    example=lambda: (
        TableNet(
            task="multi-class", outputs=3, numbers=2, cardinalities=(5, 3), pieces=(3, 0), width=11, activation="tanh"
        ),
        torch.randn(7, 2),
        ids(),
    ),
)
register(
    TableNet,
    name="TableNet (residual)",
    example=lambda: (
        TableNet(
            task="regression",
            outputs=2,
            cardinalities=(5, 3),
            width=11,
            depth=3,
            embedding=0,
            activation="silu",
            norm="layer",
            residual=True,
        ),
        torch.randn(7, 0),
        ids(),
    ),
)
register(
    TableNet,
    name="TableNet (batch norm)",
    example=lambda: (TableNet(task="binary", numbers=2, width=5, activation="gelu", norm="batch"), torch.randn(7, 2)),
)


def table_cells() -> tuple[torch.Tensor, ...]:
    """Five rows of a number, a date with one wave, and two categories, in which every column is hidden once."""
    known = ~torch.eye(5, 4, dtype=torch.bool)
    return torch.rand(5, 4), torch.tensor([[0, 1], [1, 0], [2, 0], [2, 1], [0, 0]]), known


COLUMNS: dict[str, Any] = dict(inputs=(1, 3), bins=(4, 3), cardinalities=(3, 2), pieces=(3, 0), width=7, depth=2)
register(CellNet, example=lambda: (CellNet(**COLUMNS, dropout=0.0), *table_cells()))
register(
    CellNet,
    name="CellNet (binary)",
    example=lambda: (CellNet(**COLUMNS, dropout=0.0, task="binary"), *table_cells()),
)
