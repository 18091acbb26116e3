r"""Eigenpairs of a graph's Laplacian, the smallest first: L q = λ q, each with its residual.

    r = ‖L q − λ q‖,  ‖q‖ = 1        an eigenvalue of L lies within r of λ; converged: r ≤ λ/100
                                     of L_rw in the norm ‖v‖ = √(Σ d_i v_i²), in which it is symmetric

    λ = 0       once for every connected component, with its indicator: exact, found without any iteration
    small       dense: LAPACK
    large       Lanczos (lanczos.py), where a trial of 30 steps says that eigenvalues stand apart: few clusters, joined
                well inside
    the rest    LOBPCG on the levels of an algebraic multigrid (multigrid.py), for the tiny, crowded eigenvalues of
                grids, roads and neighbourhoods of points (1e-6 and below)

No matrix but a small one is ever made dense. Notes: N3 §7.3–7.4.
"""

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
from jaxtyping import Bool, Float

from cutaway.blocks.graphs.graph import Graph
from cutaway.data.checks import expect_choice
from cutaway.data.graphs.components import connected_components
from cutaway.data.graphs.spectra.lanczos import is_hopeless, lanczos_eigenvectors
from cutaway.data.graphs.spectra.multigrid import GUARDS, measure, multigrid_eigenvectors
from cutaway.extras import need

if TYPE_CHECKING:
    from scipy import sparse

Kind = Literal["plain", "symmetric", "random_walk"]
SMALL = 1000  # vertices up to which the matrix is made dense
_DENSE = 20_000  # vertices up to which it is made dense if very many eigenpairs are asked for
TOLERANCE = 0.01  # residual beside the eigenvalue, at most
_ZERO = 1e-10  # beside the largest eigenvalue


@dataclass(frozen=True, eq=False)
class Eigenpairs:
    """Eigenvalues, rising, with eigenvectors as columns, residuals, and whether each converged."""

    values: Float[np.ndarray, "k"]
    vectors: Float[np.ndarray, "n k"]
    residuals: Float[np.ndarray, "k"]
    converged: Bool[np.ndarray, "k"]
    kind: str
    method: str
    components: int  # connected components: how often 0 is an eigenvalue

    def tensors(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Eigenvalues and eigenvectors as float32 tensors, for layers."""
        return torch.from_numpy(self.values).float(), torch.from_numpy(self.vectors).float()

    def summary(self) -> str:
        """A line an eigenpair."""
        rows = [f"{len(self.values)} smallest eigenvalues of the {self.kind} Laplacian, by {self.method}"]
        for k, (value, residual, done) in enumerate(zip(self.values, self.residuals, self.converged), 1):
            rows.append(f"λ{k} = {value:.6g}   residual {residual:.1e}{'' if done else '   NOT CONVERGED'}")
        return "\n".join(rows)


def eigenpairs(
    graph: Graph, count: int = 10, kind: Kind = "symmetric", method: str = "auto", seed: int = 0
) -> Eigenpairs:
    """The ``count`` smallest eigenvalues of a graph's Laplacian with their eigenvectors and residuals.

    ``method`` is "auto", "dense", "lanczos" or "lobpcg". An eigenpair whose residual is above a hundredth of its
    eigenvalue is marked as not converged, and a warning says so. Signs are chosen so that the largest entry of each
    eigenvector is positive.

    >>> path = Graph(torch.tensor([[0, 1], [1, 2]]))
    >>> eigenpairs(path, 3, "plain").values.round(6).tolist()
    [0.0, 1.0, 3.0]
    """
    expect_choice("kind", kind, ("plain", "symmetric", "random_walk"))
    expect_choice("method", method, ("auto", "dense", "lanczos", "lobpcg"))
    n = graph.vertices
    if not 1 <= count <= max(n, 1) or not n:
        raise ValueError(
            f"count must be from 1 to the number of vertices, got {count} for {n:,}; ask for fewer eigenpairs"
        )
    many = 5 * (count + GUARDS) > n
    if method == "auto":
        method = "dense" if n <= SMALL or (many and n <= _DENSE) else "iterative"
    if method != "dense" and many:
        way = "use method='dense'" if n <= _DENSE else "ask for fewer"
        raise ValueError(f"an iterative method finds few eigenpairs, got {count:,} of {n:,} vertices; {way}")
    a = adjacency_matrix(graph)
    degrees = np.asarray(a.sum(1)).reshape(-1)
    matrix = _laplacian(a, degrees, kind != "plain")
    del a
    known = _null_space(graph, degrees, kind != "plain", count)
    missing = count - known.shape[1]
    components = len(connected_components(graph).sizes)
    used = "components"
    if missing <= 0:
        vectors = known[:, :count]
    elif method == "dense":
        vectors, used = np.linalg.eigh(matrix.toarray())[1][:, :count], "dense"
    else:
        found, used = _iterate(matrix, known, missing, method, degrees if kind != "plain" else None, seed)
        vectors = np.concatenate([known, found], 1)
    return _measured(matrix, vectors, degrees, kind, used, components, min(known.shape[1], count))


def fiedler_vector(graph: Graph, kind: Kind = "plain") -> tuple[float, Float[np.ndarray, "n"]]:
    """λ₂ and q₂, the unit vector f ⊥ q₁ with the least fᵀLf: how well a graph can be cut in two, and how.

    A graph that is not connected is cut for nothing: λ₂ is 0, and q₂ tells the largest component (above 0) from all
    others (below 0). Of its parts, take one by `connected_components` and ``graph.subgraph``.

    >>> (fiedler_vector(Graph(torch.tensor([[0, 1], [1, 2]])))[1].round(3) + 0).tolist()
    [0.707, 0.0, -0.707]
    >>> value, vector = fiedler_vector(Graph(torch.tensor([[0, 1], [1, 2]]), vertices=4))  # a path, and one alone
    >>> value, vector.round(3).tolist()
    (0.0, [0.289, 0.289, 0.289, -0.866])
    """
    if graph.vertices < 2:
        raise ValueError(
            f"a Fiedler vector is the second eigenvector, and needs two vertices or more, got {graph.vertices}; give a "
            "larger graph"
        )
    expect_choice("kind", kind, ("plain", "symmetric", "random_walk"))
    of, sizes = connected_components(graph)
    if len(sizes) > 1:
        return 0.0, _largest_component(graph, kind, of == 0)
    pairs = eigenpairs(graph, 2, kind)
    return float(pairs.values[1]), pairs.vectors[:, 1]


def _largest_component(graph: Graph, kind: Kind, inside: Bool[np.ndarray, "n"]) -> Float[np.ndarray, "n"]:
    """The vector that L takes to 0, at right angles to the first such, with one sign inside and the other outside."""
    degrees = np.asarray(adjacency_matrix(graph).sum(1)).reshape(-1)
    first = np.ones(len(inside)) if kind == "plain" else np.sqrt(np.where(degrees > 0, degrees, 1))
    vector = first * np.where(inside, 1 / (first[inside] ** 2).sum(), -1 / (first[~inside] ** 2).sum())
    vector = vector / first if kind == "random_walk" else vector
    return vector / np.linalg.norm(vector)


def adjacency_matrix(graph: Graph) -> "sparse.csr_array":
    """The adjacency as a float64 matrix of SciPy, for an undirected graph with weights of 0 or more."""
    sparse = need("scipy.sparse", "graphs", "eigenpairs")
    if graph.directed:
        raise ValueError(
            "a Laplacian's eigenpairs are of an undirected graph, got a directed one; read it with directed=False"
        )
    n = graph.vertices
    whole = np.int32 if n < 2**31 else np.int64
    present = graph.present
    i, j = (end.astype(whole) for end in graph.edges[:, present].cpu().numpy())
    w = np.ones(len(i)) if graph.weights is None else graph.weights.detach()[present].cpu().numpy().astype(np.float64)
    if len(w) and w.min() < 0:
        raise ValueError(
            f"a Laplacian needs weights of 0 or more, got {w.min():.4g}; give how alike two vertices are, or the sizes "
            "of signed weights"
        )
    other = i != j
    rows, columns = np.concatenate([i, j[other]]), np.concatenate([j, i[other]])
    return sparse.csr_array((np.concatenate([w, w[other]]), (rows, columns)), shape=(n, n))


def _laplacian(a: "sparse.csr_array", degrees: Float[np.ndarray, "n"], normed: bool) -> "sparse.csr_array":
    """D − A, or D^−½ (D − A) D^−½."""
    sparse = need("scipy.sparse", "graphs", "eigenpairs")
    matrix = (sparse.diags_array(degrees, format="csr") - a).tocsr()
    if normed:
        roots = np.sqrt(np.where(degrees > 0, 1 / np.where(degrees > 0, degrees, 1), 0))
        matrix.data *= np.repeat(roots, np.diff(matrix.indptr))
        matrix.data *= roots[matrix.indices]
    return matrix


def _null_space(graph: Graph, degrees: Float[np.ndarray, "n"], normed: bool, most: int) -> Float[np.ndarray, "n c"]:
    """Eigenvectors of 0: for each component its indicator, times √d if normed, as unit vectors; ``most`` of them."""
    of, sizes = connected_components(graph)
    c = min(len(sizes), most)
    columns = np.zeros((len(of), c))
    inside = of < c
    weight = np.sqrt(degrees) if normed else np.ones(len(of))
    weight = np.where(degrees > 0, weight, 1)  # a vertex without edges is an eigenvector by itself
    columns[np.flatnonzero(inside), of[inside]] = weight[inside]
    return columns / np.linalg.norm(columns, axis=0)


def _iterate(
    matrix: "sparse.csr_array",
    known: Float[np.ndarray, "n c"],
    count: int,
    method: str,
    degrees: Float[np.ndarray, "n"] | None,
    seed: int,
) -> tuple[Float[np.ndarray, "n k"], str]:
    """The next eigenvectors after those known: by Lanczos, and where that does not do, by LOBPCG."""
    if method == "lanczos" or (method == "iterative" and not is_hopeless(matrix, known, seed)):
        tried = lanczos_eigenvectors(matrix, known, count, seed)
        if method == "lanczos" and tried is None:
            raise ValueError(f"Lanczos found none of {count} eigenvectors here; use method='lobpcg' or 'auto'")
        if tried is not None and (method == "lanczos" or _all_converged(matrix, tried)):
            return tried, "Lanczos"
    return multigrid_eigenvectors(matrix, known, count, degrees, seed), "LOBPCG with multigrid"


def _all_converged(matrix: "sparse.csr_array", vectors: Float[np.ndarray, "n k"]) -> bool:
    values, residuals = measure(matrix, vectors)
    return bool((residuals <= TOLERANCE * np.abs(values)).all())


def _measured(
    matrix: "sparse.csr_array",
    vectors: Float[np.ndarray, "n k"],
    degrees: Float[np.ndarray, "n"],
    kind: str,
    method: str,
    components: int,
    zeros: int,
) -> Eigenpairs:
    values, residuals = measure(matrix, vectors)
    if kind == "random_walk":  # L_rw = D⁻¹L has the eigenvectors D^−½ q, and the same residuals in the norm of D
        vectors = vectors / np.sqrt(np.where(degrees > 0, degrees, 1))[:, None]
        vectors = vectors / np.linalg.norm(vectors, axis=0)
    scale = float(matrix.diagonal().max()) if matrix.shape[0] else 1.0
    return judge(values, vectors, residuals, scale, kind, method, components, zeros)


def judge(
    values: Float[np.ndarray, "k"],
    vectors: Float[np.ndarray, "n k"],
    residuals: Float[np.ndarray, "k"],
    scale: float,
    kind: str,
    method: str,
    components: int,
    zeros: int,
) -> Eigenpairs:
    """Eigenpairs in order and with fixed signs, and which of them converged; a warning names the worst that did not.

    The first ``zeros`` are known to be 0; ``scale`` is about the largest eigenvalue.
    """
    order = np.argsort(values, kind="stable")
    vectors, values, residuals = vectors[:, order], values[order], residuals[order]
    values[:zeros] = np.where(np.abs(values[:zeros]) <= _ZERO * max(scale, 1e-300), 0.0, values[:zeros])
    signs = np.sign(vectors[np.abs(vectors).argmax(0), np.arange(vectors.shape[1])])
    converged = residuals <= np.maximum(TOLERANCE * np.abs(values), _ZERO * max(scale, 1e-300))
    if not converged.all():
        worst = int(np.argmax(np.where(converged, 0, residuals)))
        warnings.warn(
            f"{int((~converged).sum())} of {len(values)} eigenpairs did not converge: λ{worst + 1} = "
            f"{values[worst]:.3g} has a residual of {residuals[worst]:.1e}, above 1 % of it; do not rely on these, or "
            "ask for fewer",
            stacklevel=4,
        )
    return Eigenpairs(values, vectors * signs, residuals, converged, kind, method, components)


__all__ = ["Eigenpairs", "adjacency_matrix", "eigenpairs", "fiedler_vector", "judge"]
