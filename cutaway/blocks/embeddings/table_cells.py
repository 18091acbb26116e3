r"""Vectors for the cells of a table's row: one for every column, whatever its kind.

    z_j = [x_j, pieces(x_j)] W_j + b_j          a number, a date (with the waves of its cycles), a yes or no
    z_j = E_j[c_j]                              a category
    z_j = h_j                                   a cell that is hidden or missing: a learned vector of its column

So "not known" is a value like others, and a network can learn to say what stood there. Gorishniy et al. 2021, §3.3 (a
vector for every column); Devlin et al. 2019 (a learned vector for what is hidden). Notes: N0 §1.1, N3 §2.4.8.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from cutaway.blocks.checks import expect_positive, expect_width
from cutaway.blocks.dense.affine import Linear
from cutaway.blocks.embeddings.numbers import PiecewiseEncoding
from cutaway.blocks.embeddings.tokens import Embedding
from cutaway.inside.taps import Tap
from cutaway.overriding import override

_SPREAD = 0.3  # of the first vectors of categories and hidden cells


class CellEmbedding(nn.Module):
    r"""A vector for every cell of a row: those of numbers first, then those of categories.

        z_j = [x_j, pieces(x_j)] W_j + b_j  |  E_j[c_j]  |  h_j where the cell is not known

    ``inputs`` counts the inputs of each number column (its value first, then the waves of a date), ``pieces`` the
    pieces that its value is cut into (none by default), ``cardinalities`` the ids of each category column. Tap:
    ``output``.
    """

    def __init__(
        self,
        inputs: Sequence[int],
        cardinalities: Sequence[int],
        width: int,
        pieces: Sequence[int] = (),
    ) -> None:
        super().__init__()
        self.inputs, self.cardinalities, self.width = tuple(inputs), tuple(cardinalities), width
        expect_positive(width=width, columns=len(self.inputs) + len(self.cardinalities))
        counts = tuple(pieces) or (0,) * len(self.inputs)
        if len(counts) != len(self.inputs):
            raise ValueError(
                f"pieces must be a count for each of the {len(self.inputs)} numbers, got {len(counts)} counts; "
                "leave pieces out to take numbers as they are"
            )
        self.pieces = PiecewiseEncoding(counts) if any(counts) else None
        self.numbers = nn.ModuleList(Linear(i + n, width) for i, n in zip(self.inputs, counts, strict=True))
        self.categories = nn.ModuleList(Embedding(count, width) for count in self.cardinalities)
        self.hidden = nn.Parameter(torch.empty(len(self.inputs) + len(self.cardinalities), width))
        self.output = Tap()
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for vectors in [self.hidden, *(table.weight for table in self.categories)]:
            nn.init.normal_(vectors, 0, _SPREAD)  # type: ignore[arg-type]

    @override
    def forward(
        self,
        numbers: Float[Tensor, "*b p"],
        categories: Int[Tensor, "*b q"],
        known: Bool[Tensor, "*b c"] | None = None,
    ) -> Float[Tensor, "*b c w"]:
        """``known`` is False where a cell is hidden or missing; what stands there then does not matter."""
        expect_width("numbers", numbers, sum(self.inputs))
        expect_width("categories", categories, len(self.cardinalities))
        values = numbers.split(self.inputs, -1) if self.inputs else ()
        if self.pieces is not None:
            shares = self.pieces(torch.stack([x[..., 0] for x in values], -1)).split(self.pieces.pieces, -1)
            values = tuple(torch.cat(pair, -1) for pair in zip(values, shares, strict=True))
        z = [layer(x) for layer, x in zip(self.numbers, values, strict=True)]
        z += [table(categories[..., j]) for j, table in enumerate(self.categories)]
        cells = torch.stack(z, -2)
        if known is not None:
            expect_width("known", known, cells.shape[-2])
            cells = torch.where(known[..., None], cells, self.hidden)
        if self.output.live:
            cells = self.output(cells)
        return cells

    @override
    def extra_repr(self) -> str:
        return f"{len(self.inputs)} numbers, {len(self.cardinalities)} categories → {self.width}"


__all__ = ["CellEmbedding"]
