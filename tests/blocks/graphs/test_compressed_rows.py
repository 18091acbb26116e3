"""Compressed rows against dense tensors."""

import torch

from cutaway.blocks.graphs.compressed_rows import list_neighbours, row_starts, rows_of, stack_rows, take_rows


def test_rows_and_starts_are_inverse():
    rows = torch.tensor([0, 0, 3, 3, 3, 5])
    assert torch.equal(rows_of(row_starts(rows, 7), 6), rows)


def test_neighbours_rise_within_a_row():
    listed = list_neighbours(torch.tensor([1, 0, 1, 1]), torch.tensor([2, 1, 0, 2]), 3)
    assert listed.starts.tolist() == [0, 1, 4, 4]
    assert listed.ends.tolist() == [1, 0, 2, 2]
    assert listed.arcs.tolist() == [1, 2, 0, 3]


def test_rows_of_sparse_tensors():
    torch.manual_seed(0)
    dense = torch.randn(7, 5) * (torch.rand(7, 5) < 0.4)
    chosen = torch.tensor([6, 0, 0, 3])
    assert torch.equal(take_rows(dense.to_sparse_csr(), chosen).to_dense(), dense[chosen])
    parts = [dense[:2], dense[2:2], dense[2:]]
    assert torch.equal(stack_rows([part.to_sparse_csr() for part in parts]).to_dense(), dense)
