r"""Spectral clustering: vertices by the first eigenvectors of the Laplacian, then k-means.

    e_v = (q_1v, …, q_Kv)           embedding of vertex v: its entries in the first K eigenvectors of L_rw
    K by the eigengap               the K ≥ 2 with the widest step 1 − λ_K/λ_K+1, where it is not given

With L_rw the eigenvectors relax the normalised cut, with the plain L the ratio cut. Components too small to be a
cluster (fewer than a tenth of n/K vertices) would each take an eigenvector of 0: they are set aside as cluster −1.
Small parts that hang by an edge or two do the same to large sparse graphs: where a cluster is so small, clusters are
found anew by the regularised Laplacian (regularised.py) for several amounts of τ, and of them and the plain ones those
with the highest modularity are taken; `regularised` says so. The cuts cannot choose: crumbs are small cuts.
Shi, Malik 2000; von Luxburg 2007, §4, §8.3; Qin, Rohe 2013 (regularised); Newman, Girvan 2004 (modularity). Notes: N3
§7.4–7.5.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int

from cutaway.blocks.graphs.cuts import modularity, normalised_cut, ratio_cut
from cutaway.blocks.graphs.graph import Graph
from cutaway.data.checks import expect_choice
from cutaway.data.graphs.components import connected_components
from cutaway.data.graphs.spectra.eigenpairs import Eigenpairs, Kind, eigenpairs
from cutaway.data.graphs.spectra.regularised import regularised_eigenpairs, unit_rows
from cutaway.extras import need

AMOUNTS = (0.03, 0.1, 0.3, 1.0)  # of τ, in mean degrees
MOST = 12  # clusters that the eigengap looks for, at most
Regularise = Literal["auto", "always", "never"]


@dataclass(frozen=True, eq=False)
class Clusters:
    """The cluster of each vertex, numbered by size, −1 for those set aside; the spectrum and embedding behind it."""

    of: Int[np.ndarray, "n"]
    sizes: tuple[int, ...]
    embedding: Float[np.ndarray, "n k"]  # rows of vertices set aside are 0
    spectrum: Eigenpairs  # of the vertices that are clustered
    kept: Int[np.ndarray, "m"]  # which those are
    ratio_cut: float
    normalised_cut: float
    by_eigengap: bool
    regularised: float = 0.0  # τ; 0: the plain Laplacian
    crumbs: tuple[int, ...] = ()  # sizes of tiny clusters that the plain Laplacian gave, where that was the reason
    modularity: float = 0.0
    tried: tuple[tuple[float, float], ...] = ()  # (τ, modularity) of each amount that was compared

    @property
    def aside(self) -> int:
        """How many vertices are in no cluster."""
        return int((self.of < 0).sum())


def spectral_embedding(graph: Graph, dimensions: int = 2, kind: Kind = "random_walk") -> Float[np.ndarray, "n d"]:
    """The first eigenvectors after the constant one as coordinates of the vertices.

    Of a graph that is not connected the first ones, of eigenvalue 0, tell its components apart.

    >>> path = Graph(torch.tensor([[0, 1], [1, 2]]))
    >>> (spectral_embedding(path, 1, "plain").round(3) + 0).reshape(-1).tolist()
    [0.707, 0.0, -0.707]
    """
    if not 1 <= dimensions < graph.vertices:
        raise ValueError(
            f"dimensions must be from 1 to the number of vertices − 1, got {dimensions} for {graph.vertices}; lower it"
        )
    return eigenpairs(graph, dimensions + 1, kind).vectors[:, 1:]


class _Partition(NamedTuple):
    """The cluster of each row, what k-means was given, and the eigenpairs that it came from."""

    labels: Int[np.ndarray, "n"]
    rows: Float[np.ndarray, "n k"]
    spectrum: Eigenpairs


def spectral_clusters(
    graph: Graph,
    clusters: int | None = None,
    kind: Kind = "random_walk",
    seed: int = 0,
    regularise: Regularise = "auto",
) -> Clusters:
    """The vertices of an undirected graph in ``clusters`` groups; as many as the eigengap says, where not given.

    ``regularise``: "auto" where the plain Laplacian cuts off clusters of fewer than a tenth of n/K vertices, "always"
    or "never"; the amount is that with the highest modularity. It changes the normalised cut alone: the ratio cut
    (``kind="plain"``) has the same eigenvectors with it.
    """
    expect_choice("regularise", regularise, ("auto", "always", "never"))
    n = graph.vertices
    if n < 2 or (clusters is not None and not 2 <= clusters <= n):
        raise ValueError(
            f"clusters must be from 2 to the number of vertices, got {clusters} for {n:,}; "
            f"{'try clusters=2' if n >= 2 else 'give a graph of two vertices or more'}"
        )
    if not graph.arcs.shape[1]:
        raise ValueError(
            f"clusters are found by edges, got {n:,} vertices without any (an edge of weight 0 is none); give edges"
        )
    if kind == "plain" and regularise == "always":
        raise ValueError("regularising changes the normalised cut alone, got kind='plain'; use kind='random_walk'")
    kept = _large_enough(graph, MOST if clusters is None else clusters)
    if clusters is None and len(kept) < 3:
        kept = np.arange(n)
    if clusters is not None and len(kept) < clusters:
        kept = np.arange(n)
    part = graph if len(kept) == n else graph.subgraph(torch.from_numpy(kept))
    crumbs: tuple[int, ...] = ()
    if regularise != "always":
        found = _partition(part, clusters, kind, seed)
        sizes = np.bincount(found.labels)
        crumbs = tuple(sorted(sizes[sizes < _least(len(kept), len(sizes))].tolist()))
    adjacency = part.adjacency(torch.float64)
    tried: dict[float, _Partition] = {} if regularise == "always" else {0.0: found}
    if regularise == "always" or (regularise == "auto" and crumbs and kind != "plain"):
        for share in AMOUNTS:
            tried[share * _mean_degree(part)] = _partition(part, clusters, kind, seed, share * _mean_degree(part))
    scores = {t: float(modularity(adjacency, torch.from_numpy(one.labels))) for t, one in tried.items()}
    tau = max(scores, key=lambda t: scores[t])
    found = tried[tau]
    count = found.rows.shape[1]
    order = np.argsort(-np.bincount(found.labels, minlength=count), kind="stable")
    place = np.empty(count, np.int64)
    place[order] = np.arange(count)
    of = np.full(n, -1, np.int64)
    of[kept] = place[found.labels]
    embedding = np.zeros((n, count))
    embedding[kept] = found.rows
    groups = torch.from_numpy(of[kept])
    return Clusters(
        of,
        tuple(np.bincount(of[kept], minlength=count).tolist()),
        embedding,
        found.spectrum,
        kept,
        float(ratio_cut(adjacency, groups)),
        float(normalised_cut(adjacency, groups)),
        clusters is None,
        tau,
        crumbs,
        scores[tau],
        tuple(scores.items()) if len(scores) > 1 else (),
    )


def _partition(graph: Graph, clusters: int | None, kind: Kind, seed: int, tau: float = 0.0) -> _Partition:
    """Eigenvectors, as many as clusters, and k-means on their rows; with τ those of the regularised Laplacian."""
    wanted = min((MOST if clusters is None else clusters) + 1, graph.vertices)
    spectrum = regularised_eigenpairs(graph, wanted, tau, seed) if tau else eigenpairs(graph, wanted, kind, seed=seed)
    count = eigengap(spectrum.values) if clusters is None else clusters
    rows = spectrum.vectors[:, :count]
    rows = unit_rows(rows) if tau else rows
    return _Partition(_k_means(rows, count, seed), rows, spectrum)


def _mean_degree(graph: Graph) -> float:
    return float(graph.degrees(dtype=torch.float64).mean()) or 1.0


def _least(vertices: int, clusters: int) -> float:
    """The fewest vertices that make a cluster: a tenth of n/K, and two."""
    return max(2.0, vertices / (10 * clusters))


def eigengap(values: Float[np.ndarray, "k"]) -> int:
    """The number of clusters K ≥ 2 after which eigenvalues make their widest step, 1 − λ_K/λ_K+1.

    The step is taken beside the eigenvalue that it leads to: from 0.01 to 0.1 is wider than from 0.6 to 0.8.

    >>> eigengap(np.array([0.0, 0.01, 0.02, 0.5, 0.6]))
    3
    """
    if len(values) < 3:
        return min(2, len(values))
    low, high = values[1:-1], values[2:]
    return int(np.argmax(np.where(high > 0, 1 - low / np.where(high > 0, high, 1), 0))) + 2


def _large_enough(graph: Graph, clusters: int) -> Int[np.ndarray, "m"]:
    """The vertices of components that are large enough to be a cluster or more."""
    of, sizes = connected_components(graph)
    if len(sizes) == 1:
        return np.arange(graph.vertices)
    return np.flatnonzero(np.array(sizes)[of] >= _least(graph.vertices, clusters))


def _k_means(rows: Float[np.ndarray, "n k"], count: int, seed: int) -> Int[np.ndarray, "n"]:
    cluster = need("sklearn.cluster", "tables", "spectral clustering")
    few = len(rows) < 50_000
    kind = cluster.KMeans if few else cluster.MiniBatchKMeans
    options = {"n_init": 10} if few else {"n_init": 3, "batch_size": 10_000}
    return kind(count, random_state=seed, **options).fit_predict(np.ascontiguousarray(rows)).astype(np.int64)


__all__ = ["Clusters", "eigengap", "spectral_clusters", "spectral_embedding"]
