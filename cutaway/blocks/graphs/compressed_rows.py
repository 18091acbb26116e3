r"""Compressed sparse rows (CSR): the entries of a matrix, row after row.

    row r holds the entries starts[r] … starts[r + 1] − 1

Saad 2003, Iterative methods for sparse linear systems, §3.4.
"""

import warnings
from typing import NamedTuple

import torch
from torch import Tensor

warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta state")


class Neighbours(NamedTuple):
    """The arcs of a graph, listed by the vertex at one end: ``ends[starts[v]:starts[v + 1]]`` are v's neighbours."""

    starts: Tensor  # (n + 1,)
    ends: Tensor  # (arcs,) the vertex at the other end, rising within a row
    arcs: Tensor  # (arcs,) the number of the arc

    def rows(self) -> Tensor:
        """(arcs,) the vertex whose row it is."""
        return rows_of(self.starts, self.ends.shape[0])


def list_neighbours(rows: Tensor, ends: Tensor, vertices: int) -> Neighbours:
    """Sorts arcs by row, then by the other end, then as given."""
    order = torch.argsort(rows * max(vertices, 1) + ends, stable=True)
    return Neighbours(row_starts(rows[order], vertices), ends[order], order)


def row_starts(rows: Tensor, count: int) -> Tensor:
    """Where each of ``count`` rows starts in the rising list ``rows``.

    >>> row_starts(torch.tensor([0, 0, 2]), 3)
    tensor([0, 2, 2, 3])
    """
    return torch.searchsorted(rows.contiguous(), torch.arange(count + 1, device=rows.device))


def rows_of(starts: Tensor, entries: int) -> Tensor:
    """The row of each entry.

    >>> rows_of(torch.tensor([0, 2, 2, 3]), 3)
    tensor([0, 0, 2])
    """
    rows = torch.arange(starts.shape[0] - 1, device=starts.device)
    return torch.repeat_interleave(rows, starts.diff(), output_size=entries)


def sparse_rows(starts: Tensor, columns: Tensor, values: Tensor, width: int) -> Tensor:
    """A sparse matrix of torch, ``width`` columns wide, unchecked: a row may name a column twice."""
    size = (starts.shape[0] - 1, width)
    return torch.sparse_csr_tensor(starts, columns, values, size, check_invariants=False)


def is_sparse_rows(x: Tensor) -> bool:
    """Whether a tensor is in torch's CSR layout."""
    return x.layout == torch.sparse_csr


def take_rows(x: Tensor, chosen: Tensor) -> Tensor:
    """x[chosen], for a dense tensor or one in CSR layout."""
    if not is_sparse_rows(x):
        return x[chosen]
    starts, columns, values = x.crow_indices(), x.col_indices(), x.values()
    lengths = starts.diff()[chosen]
    ahead = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
    # entry k of the result is entry (k − where its row starts here) + (where its row started there)
    shift = torch.repeat_interleave(starts[chosen] - ahead[:-1], lengths)
    entries = torch.arange(int(ahead[-1]), device=x.device) + shift
    return sparse_rows(ahead, columns[entries], values[entries], x.shape[1])


def stack_rows(parts: list[Tensor]) -> Tensor:
    """The rows of several tensors, one under the other; all of them dense, or all in CSR layout."""
    if not is_sparse_rows(parts[0]):
        return torch.cat(parts)
    lengths = torch.cat([x.crow_indices().diff() for x in parts])
    starts = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
    columns, values = (torch.cat([x.col_indices() for x in parts]), torch.cat([x.values() for x in parts]))
    return sparse_rows(starts, columns, values, parts[0].shape[1])
