r"""Piecewise linear encoding of numbers: the line is cut at knots, and a number becomes its share of every piece.

    e_j(x) = clip((x − t_{j−1}) / (t_j − t_{j−1}), 0, 1)

The share is 0 below a piece, 1 above it, and rises in between. A weighted sum Σ_j w_j e_j(x) is the piecewise linear
function that rises by w_j over piece j. So the layer above has the kinks that it would else have to learn with
rectifiers, one unit for each (linear_regions/networks.py), and learns a step as easily as a tree does by thresholds.

Gorishniy, Rubachev, Babenko 2022, §3.1 (piecewise linear encoding). We differ in two things: the outer pieces end at
the outer knots, so that an outlier counts no more than the farthest value seen; and half of the knots are quantiles of
the *different* values, so that a column that is nearly always 0 still has knots where it is not. Notes: N0 §1.1,
N3 §2.4.8.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from cutaway.blocks.checks import expect_float, expect_width
from cutaway.inside.taps import Tap
from cutaway.overriding import override


def piecewise_encode(
    x: Float[Tensor, "*b i"], column: Int[Tensor, "o"], low: Float[Tensor, "o"], high: Float[Tensor, "o"]
) -> Float[Tensor, "*b o"]:
    r"""The share that each number has passed of each of its pieces, which lie from ``low`` to ``high``.

        e_j(x) = clip((x_{c_j} − t_{j−1}) / (t_j − t_{j−1}), 0, 1)

    ``column`` says for each piece which number of x it belongs to.

    >>> three = torch.tensor([0, 0, 0])  # pieces of the only number: 0 to 1, 1 to 3, 3 to 4
    >>> piecewise_encode(torch.tensor([[2.0]]), three, torch.tensor([0.0, 1.0, 3.0]), torch.tensor([1.0, 3.0, 4.0]))
    tensor([[1.0000, 0.5000, 0.0000]])
    """
    expect_float("x", x)
    return ((x[..., column] - low) / (high - low)).clamp(0, 1)


def choose_knots(values: Float[Tensor, "n"], pieces: int) -> Float[Tensor, "k"]:
    """Knots t_0 < … < t_k, k ≤ ``pieces``, where the values are: quantiles of all of them, and of the different ones.

    One knot for values that are all the same, which leaves no piece.

    >>> choose_knots(torch.tensor([0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 8.0]), 4)
    tensor([0., 2., 8.])
    """
    if pieces < 1:
        raise ValueError(f"pieces must be above 0, got {pieces}; try pieces=16")
    if not len(values) or not values.isfinite().all():
        raise ValueError(
            f"knots need finite values, at least one, got {int(values.isfinite().sum())} finite of {len(values)}; "
            "leave missing ones out"
        )
    ordered, different = values.sort().values, values.unique()
    if len(different) <= pieces + 1:
        return different
    half = pieces // 2
    return torch.cat([_spread(ordered, half + 1), _spread(different, pieces - half + 1)]).unique()


def _spread(ordered: Tensor, count: int) -> Tensor:
    """``count`` of the values, evenly over their order, the first and the last among them."""
    places = torch.linspace(0, len(ordered) - 1, count, dtype=torch.float64, device=ordered.device)
    return ordered[places.round().long()] if count > 1 else ordered[:1]


class PiecewiseEncoding(nn.Module):
    r"""Every number of the last axis as the shares that it has passed of its pieces, one after another.

        e_j(x) = clip((x − t_{j−1}) / (t_j − t_{j−1}), 0, 1)

    ``pieces`` counts those of each number, 0 to leave it out. The knots are no parameters: they begin evenly from 0 to
    1 and `set_knots` puts them where the data is. Tap: ``output``.
    """

    column: Tensor
    low: Tensor
    high: Tensor

    def __init__(self, pieces: Sequence[int]) -> None:
        super().__init__()
        self.pieces = tuple(pieces)
        if any(count < 0 for count in self.pieces) or not any(self.pieces):
            raise ValueError(
                f"pieces must be a count for each number, 0 or above and one at least above 0, got {self.pieces}; "
                "try 8 for each"
            )
        self.outputs = sum(self.pieces)
        self.register_buffer("column", torch.empty(self.outputs, dtype=torch.long))
        self.register_buffer("low", torch.empty(self.outputs))
        self.register_buffer("high", torch.empty(self.outputs))
        self.output = Tap()
        self.reset_parameters()

    def reset_parameters(self) -> None:
        self.column.copy_(torch.tensor([i for i, count in enumerate(self.pieces) for _ in range(count)]))
        self._place([torch.linspace(0, 1, count + 1) for count in self.pieces])

    def set_knots(self, knots: Sequence[Float[Tensor, "_"]]) -> None:
        """Sets the knots of each number: one more than its pieces, in ascending order."""
        given = tuple(max(0, len(own) - 1) for own in knots)
        if given != self.pieces:
            raise ValueError(
                f"each number must have a knot more than its pieces, {self.pieces}, got knots for {given}; "
                "build the encoding for these pieces"
            )
        if not all((own.diff() > 0).all() for own in knots):
            raise ValueError("knots must ascend, got some that do not; use choose_knots, or knots.unique()")
        self._place(knots)

    @torch.no_grad()
    def _place(self, knots: Sequence[Tensor]) -> None:
        self.low.copy_(torch.cat([own[:-1] for own in knots]))
        self.high.copy_(torch.cat([own[1:] for own in knots]))

    @override
    def forward(self, x: Float[Tensor, "*b i"]) -> Float[Tensor, "*b o"]:
        expect_width("x", x, len(self.pieces))
        y = piecewise_encode(x, self.column, self.low, self.high)
        if self.output.live:
            y = self.output(y)
        return y

    @override
    def extra_repr(self) -> str:
        return f"{len(self.pieces)} → {self.outputs}"
