r"""The Laplacian of a graph: the matrix that measures how much a signal changes along the edges.

    L     = D − A                         plain; D holds the degrees d_i = Σ_j a_ij
    L_sym = D^−½ L D^−½                   symmetric
    L_rw  = D⁻¹ L                         random walk: I − L_rw holds the steps of a walk along edges

    fᵀLf = ½ Σ_ij a_ij (f_i − f_j)²       Dirichlet energy of a signal f: 0 where it is constant on each component

A vertex without edges has a zero row in all three. Weights must not be negative: fᵀLf could be, too.
Chung 1997, ch. 1; von Luxburg 2007, §3. Notes: N3 §7.1.
"""

from typing import Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor

from cutaway.blocks.checks import expect_choice, expect_float

Kind = Literal["plain", "symmetric", "random_walk"]


def degrees(adjacency: Tensor) -> Float[Tensor, "n"]:
    """d_i = Σ_j a_ij, the weight of the edges that leave each vertex; the adjacency is dense or sparse.

    >>> degrees(torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]))
    tensor([1., 2., 1.])
    """
    _expect_square(adjacency)
    if adjacency.layout == torch.strided:
        return adjacency.sum(1)
    rows, _, values = _entries(adjacency)
    return torch.zeros(adjacency.shape[0], dtype=values.dtype, device=values.device).index_add(0, rows, values)


def laplacian(adjacency: Tensor, kind: Kind = "plain") -> Tensor:
    """L = D − A, or L_sym, or L_rw, of the same kind as the adjacency: dense, sparse CSR, CSC or COO.

    >>> laplacian(torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]))
    tensor([[ 1., -1.,  0.],
            [-1.,  2., -1.],
            [ 0., -1.,  1.]])
    """
    expect_choice("kind", kind, get_args(Kind))
    _expect_square(adjacency)
    expect_weights(adjacency)
    d = degrees(adjacency)
    d_inverse = torch.where(d > 0, 1 / torch.where(d > 0, d, 1), 0)  # no edges: a zero row, and no 1/0
    if kind == "plain":
        left = right = None
    elif kind == "symmetric":
        left = right = d_inverse.sqrt()
    else:
        left, right = d_inverse, None
    if adjacency.layout == torch.strided:
        matrix = torch.diag(d) - adjacency
        matrix = matrix if left is None else left[:, None] * matrix
        return matrix if right is None else matrix * right
    rows, columns, values = _entries(adjacency)
    every = torch.arange(len(d), device=d.device)
    i, j, entries = torch.cat([every, rows]), torch.cat([every, columns]), torch.cat([d, -values])
    entries = entries if left is None else left[i] * entries
    entries = entries if right is None else entries * right[j]
    matrix = torch.sparse_coo_tensor(torch.stack([i, j]), entries, adjacency.shape, check_invariants=False).coalesce()
    return matrix if adjacency.layout == torch.sparse_coo else matrix.to_sparse(layout=adjacency.layout)


def dirichlet_energy(signal: Float[Tensor, "n *c"], adjacency: Tensor) -> Float[Tensor, "*c"]:
    """fᵀLf = ½ Σ_ij a_ij (f_i − f_j)², of every channel: small where neighbours have like values.

    >>> path = torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> dirichlet_energy(torch.tensor([1.0, -2.0, 1.0]), path)
    tensor(18.)
    """
    expect_float("signal", signal)
    _expect_square(adjacency)
    if signal.shape[0] != adjacency.shape[0]:
        raise ValueError(
            f"signal must have a value for each of the {adjacency.shape[0]} vertices, got shape {tuple(signal.shape)}; "
            "give it shape (vertices,) or (vertices, channels)"
        )
    rows, columns, values = _entries(adjacency)
    squares = (signal[rows] - signal[columns]) ** 2
    return (values.reshape(-1, *(1 for _ in signal.shape[1:])) * squares).sum(0) / 2


def _entries(matrix: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The rows, columns and values of the entries: those stored of a sparse matrix, all of a dense one."""
    if matrix.layout == torch.strided:
        n, m = matrix.shape
        rows = torch.arange(n, device=matrix.device).repeat_interleave(m)
        return rows, torch.arange(m, device=matrix.device).repeat(n), matrix.reshape(-1)
    if matrix.layout == torch.sparse_csr:
        counts = matrix.crow_indices().diff()
        rows = torch.arange(len(counts), device=matrix.device).repeat_interleave(counts)
        return rows, matrix.col_indices().to(rows.dtype), matrix.values()
    whole = matrix.to_sparse_coo().coalesce()
    return *whole.indices(), whole.values()


def _expect_square(adjacency: Tensor) -> None:
    if adjacency.ndim != 2 or adjacency.shape[0] != adjacency.shape[1]:
        raise ValueError(
            f"adjacency must be a square matrix, got shape {tuple(adjacency.shape)}; give one row and one column a "
            "vertex, or graph.adjacency()"
        )
    expect_float("adjacency", adjacency)


def expect_weights(adjacency: Tensor) -> None:
    """The weights that a Laplacian is made of are finite and not negative; compiled code does not look."""
    if torch.compiler.is_compiling():
        return
    values = adjacency.detach() if adjacency.layout == torch.strided else _entries(adjacency)[2].detach()
    if not values.numel():
        return
    low, high = torch.aminmax(values)
    if not (torch.isfinite(low) and torch.isfinite(high)):
        raise ValueError("the weights of edges must be finite numbers, got nan or inf; mend or leave out those edges")
    if low < 0:
        raise ValueError(
            f"a Laplacian needs weights of 0 or more, got {low.item():.4g}; give how alike two vertices are, for "
            "signed edges their absolute values, or treat the sign as a label of the edge"
        )


__all__ = ["Kind", "degrees", "dirichlet_energy", "expect_weights", "laplacian"]
