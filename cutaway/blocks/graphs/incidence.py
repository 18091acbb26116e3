r"""The oriented incidence matrix of a graph: one column an edge, which leaves one vertex and enters another.

    P_ie = √a_e where edge e leaves i,  −√a_e where it enters i,  else 0
    L = P Pᵀ,      (Pᵀf)_e = √a_e (f_i − f_j): the slope of a signal along each edge

So fᵀLf = ‖Pᵀf‖² ≥ 0: L is positive semi-definite. An edge of a vertex with itself has a zero column.
Godsil, Royle 2001, §8.3. Notes: N3 §7.1.5.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor


def oriented_incidence(
    edges: Int[Tensor, "2 m"],
    weights: Float[Tensor, "m"] | None = None,
    vertices: int | None = None,
    sparse: bool = False,
) -> Float[Tensor, "n m"]:
    """P, with √a_e at the source of each edge and −√a_e at its target; dense, or sparse CSR.

    >>> oriented_incidence(torch.tensor([[0, 1], [1, 2]]))
    tensor([[ 1.,  0.],
            [-1.,  1.],
            [ 0., -1.]])
    """
    if edges.ndim != 2 or edges.shape[0] != 2:
        raise ValueError(f"edges must have shape (2, edges), got {tuple(edges.shape)}; give sources, then targets")
    n = (int(edges.max()) + 1 if edges.numel() else 0) if vertices is None else vertices
    m = edges.shape[1]
    if not torch.compiler.is_compiling():
        _expect_values(edges, weights, n)
    if weights is None:
        roots = torch.ones(m, device=edges.device)
    else:  # where the weight is 0, the slope of the root is set to 0 too: it would be infinite
        roots = torch.where(weights > 0, torch.where(weights > 0, weights, 1).sqrt(), 0)
    columns = torch.arange(m, device=edges.device)
    if not sparse:
        p = torch.zeros(n, m, dtype=roots.dtype, device=edges.device)
        return p.index_put((edges[0], columns), roots).index_put((edges[1], columns), -roots, accumulate=True)
    places = torch.stack([edges.reshape(-1), columns.repeat(2)])
    entries = torch.cat([roots, -roots])
    return torch.sparse_coo_tensor(places, entries, (n, m), check_invariants=False).coalesce().to_sparse_csr()


def _expect_values(edges: Tensor, weights: Tensor | None, n: int) -> None:
    if edges.numel() and not 0 <= int(edges.min()) <= int(edges.max()) < n:
        raise ValueError(
            f"the ends of edges must be vertices from 0 to {n - 1}, got {int(edges.min())} to {int(edges.max())}; "
            "raise vertices or mend the edges"
        )
    if weights is not None and bool((weights < 0).any()):
        raise ValueError(
            f"an incidence matrix needs weights of 0 or more, got {float(weights.min()):.4g}; give their sizes alone"
        )


__all__ = ["oriented_incidence"]
