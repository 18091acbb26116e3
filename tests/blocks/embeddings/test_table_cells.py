"""Vectors of cells: against the equation written out, and what a hidden cell cannot tell."""

import pytest
import torch

from cutaway.blocks.embeddings.table_cells import CellEmbedding

NUMBERS = torch.rand(5, 4, generator=torch.Generator().manual_seed(1))
IDS = torch.tensor([[0, 1], [1, 0], [2, 0], [2, 1], [0, 0]])
KNOWN = ~torch.eye(5, 4, dtype=torch.bool)


def test_as_written_out():
    block = CellEmbedding((1, 3), (3, 2), 6, pieces=(4, 0))
    x, date = NUMBERS[:, :1], NUMBERS[:, 1:]
    shares = block.pieces(torch.stack([NUMBERS[:, 0], NUMBERS[:, 1]], 1))
    want = torch.stack(
        [
            torch.cat([x, shares], 1) @ block.numbers[0].weight + block.numbers[0].bias,
            date @ block.numbers[1].weight + block.numbers[1].bias,
            block.categories[0].weight[IDS[:, 0]],
            block.categories[1].weight[IDS[:, 1]],
        ],
        1,
    )
    torch.testing.assert_close(block(NUMBERS, IDS), want)
    want = torch.where(KNOWN[..., None], want, block.hidden)
    torch.testing.assert_close(block(NUMBERS, IDS, KNOWN), want)


def test_what_stands_in_a_hidden_cell_does_not_matter():
    block = CellEmbedding((1, 3), (3, 2), 6)
    others = torch.where(KNOWN[:, :1], NUMBERS[:, :1], 7.0), torch.where(KNOWN[:, 1:2], NUMBERS[:, 1:], -3.0)
    ids = torch.where(KNOWN[:, 2:], IDS, 1)
    assert torch.equal(block(torch.cat(others, 1), ids, KNOWN), block(NUMBERS, IDS, KNOWN))


def test_numbers_alone_and_categories_alone():
    assert CellEmbedding((1, 1), (), 3)(torch.rand(2, 2), torch.zeros(2, 0, dtype=torch.long)).shape == (2, 2, 3)
    assert CellEmbedding((), (4,), 3)(torch.rand(2, 0), torch.tensor([[3], [0]])).shape == (2, 1, 3)


def test_bad_columns():
    with pytest.raises(ValueError, match="columns must be above 0, got 0"):
        CellEmbedding((), (), 3)
    with pytest.raises(ValueError, match="pieces must be a count for each of the 2 numbers, got 1 counts"):
        CellEmbedding((1, 1), (), 3, pieces=(4,))
