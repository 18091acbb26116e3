r"""The regularised Laplacian: a weak edge between every two vertices keeps crumbs of a graph from being cut off.

    A_τ = A + (τ/n) 11ᵀ                 τ: by default the mean degree
    D_τ = D + τ
    L_τ = I − D_τ^−½ A_τ D_τ^−½         its eigenvectors, each row brought to length 1, go into k-means

In a large sparse graph hundreds of small parts hang by an edge or two; each is a smaller normalised cut than any cut
through the middle, and takes an eigenvector. With τ, to cut off m vertices costs τ m (n − m)/n more: nothing is cheap
any longer because it is small. A_τ is never formed: a product with it is one with A and a sum.
As large as the mean degree, τ gives half of a vertex's weight to all others alike, and in a graph of three or four
edges a vertex drowns them; spectral_clusters.py tries smaller ones too.
Amini et al. 2013; Qin, Rohe 2013 (τ, rows of length 1); Zhang, Rohe 2018 (why crumbs are cut off).
"""

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from cutaway.blocks.graphs.graph import Graph
from cutaway.data.graphs.components import connected_components
from cutaway.data.graphs.spectra.eigenpairs import SMALL, Eigenpairs, adjacency_matrix, judge
from cutaway.data.seeded_draws import draw_uniform
from cutaway.extras import need

if TYPE_CHECKING:
    from scipy import sparse

_RESTARTS = 60


class RegularisedLaplacian:
    """L_τ of an adjacency, as something that multiplies: ``L @ x``."""

    def __init__(self, adjacency: "sparse.csr_array", tau: float) -> None:
        self.adjacency, self.tau = adjacency, tau
        self.roots = 1 / np.sqrt(np.asarray(adjacency.sum(1)).reshape(-1) + tau)  # D_τ^−½

    def __matmul__(self, x: Float[np.ndarray, "n *k"]) -> Float[np.ndarray, "n *k"]:
        roots = self.roots if x.ndim == 1 else self.roots[:, None]
        y = roots * x
        return x - roots * (self.adjacency @ y + self.tau / len(x) * y.sum(0))


def regularised_eigenpairs(graph: Graph, count: int = 10, tau: float | None = None, seed: int = 0) -> Eigenpairs:
    """The ``count`` smallest eigenpairs of L_τ; 0 comes once, whatever the components of the graph.

    >>> import torch
    >>> apart = Graph(torch.tensor([[0, 2], [1, 3]]))  # two edges that do not meet, d = 1, τ = 1
    >>> (regularised_eigenpairs(apart, 2).values + 0).round(6).tolist()
    [0.0, 0.5]
    """
    a = adjacency_matrix(graph)
    n = a.shape[0]
    if not 1 <= count <= n:
        raise ValueError(f"count must be from 1 to the number of vertices, got {count} for {n:,}; ask for fewer")
    tau = float(a.sum() / n) if tau is None else tau
    if not tau > 0:
        raise ValueError(f"tau must be above 0, got {tau:g}; the mean degree of a graph with edges is a good one")
    matrix = RegularisedLaplacian(a, tau)
    if n <= SMALL or 2 * count + 10 >= n:
        vectors, method = np.linalg.eigh(matrix @ np.eye(n))[1][:, :count], "dense"
    else:
        vectors, method = _lanczos(matrix, n, count, seed), "Lanczos"
    images = matrix @ vectors
    values = (vectors * images).sum(0)
    residuals = np.linalg.norm(images - vectors * values, axis=0)
    components = len(connected_components(graph).sizes)
    return judge(values, vectors, residuals, 2.0, "regularised", method, components, zeros=1)


def _lanczos(matrix: RegularisedLaplacian, n: int, count: int, seed: int) -> Float[np.ndarray, "n k"]:
    linalg = need("scipy.sparse.linalg", "graphs", "eigenpairs")
    first = 1 / matrix.roots / np.linalg.norm(1 / matrix.roots)  # D_τ^½ 1: the eigenvector of 0
    if count == 1:
        return first[:, None]

    def product(x: np.ndarray) -> np.ndarray:
        x = x.reshape(-1)
        return 2 * x - matrix @ x - 4 * first * (first @ x)

    operator = linalg.LinearOperator((n, n), matvec=product, dtype=np.float64)
    options = {"v0": draw_uniform(seed, "lanczos", 0, n) - 0.5, "ncv": min(n - 1, max(2 * count + 10, 30))}
    try:
        found = linalg.eigsh(operator, k=count - 1, which="LA", tol=1e-4, maxiter=_RESTARTS, **options)[1]
    except linalg.ArpackNoConvergence as stopped:
        found = stopped.eigenvectors
        if found is None or found.shape[1] < count - 1:
            raise ValueError(
                f"the regularised Laplacian's {count} first eigenvectors are too near each other to be found among "
                f"{n:,} vertices; ask for fewer clusters, or regularise='never'"
            ) from None
    return np.concatenate([first[:, None], found], 1)


def unit_rows(vectors: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "n k"]:
    """Each row at length 1: vertices of few edges have short rows, and would all gather about 0."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1)


__all__ = ["RegularisedLaplacian", "regularised_eigenpairs", "unit_rows"]
