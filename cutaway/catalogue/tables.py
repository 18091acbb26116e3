"""Networks for tables, and numbers in pieces; one entry for each design that takes another way through the code."""

import torch

from cutaway.blocks.piecewise_inputs import PiecewiseEncoding, piecewise_encode
from cutaway.models.tablenet import TableNet
from cutaway.registry import register


def encoding() -> PiecewiseEncoding:
    block = PiecewiseEncoding((3, 0, 4))
    knots = [torch.tensor([-2.0, -0.5, 0.1, 2.0]), torch.empty(0), torch.tensor([-1.0, -0.9, 0.0, 0.5, 3.0])]
    block.set_knots([own.to(torch.get_default_dtype()) for own in knots])
    return block


def pieces(scale: float = 1.0) -> tuple[object, ...]:
    knots = (torch.tensor(t).to(torch.get_default_dtype()) for t in ([-1.0, 0.3, -2.0, 0.0], [0.3, 1.7, 0.0, 3.0]))
    return piecewise_encode, scale * torch.randn(2, 5, 3), torch.tensor([0, 0, 2, 2]), *knots


def ids() -> torch.Tensor:
    return torch.stack([torch.randint(5, (7,)), torch.randint(3, (7,))], -1)


register(piecewise_encode, example=pieces, extreme=lambda: pieces(1e4))
register(PiecewiseEncoding, example=lambda: (encoding(), torch.randn(2, 5, 3)))
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
