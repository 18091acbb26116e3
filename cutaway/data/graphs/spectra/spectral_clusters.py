r"""Spectral clustering: vertices by the first eigenvectors of the Laplacian, then k-means.

    e_v = (q_1v, …, q_Kv)           embedding of vertex v: its entries in the first K eigenvectors of L_rw
    K by the eigengap               the K ≥ 2 with the widest step 1 − λ_K/λ_K+1, where it is not given

With L_rw the eigenvectors relax the normalised cut, with the plain L the ratio cut. Components too small to be a
cluster (fewer than a tenth of n/K vertices) would each take an eigenvector of 0: they are set aside as cluster −1.
Shi, Malik 2000; von Luxburg 2007, §4, §8.3. Notes: N3 §7.4–7.5.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int

from cutaway.blocks.graphs.cuts import normalised_cut, ratio_cut
from cutaway.blocks.graphs.graph import Graph
from cutaway.data.graphs.components import connected_components
from cutaway.data.graphs.spectra.eigenpairs import Eigenpairs, Kind, eigenpairs
from cutaway.extras import need

MOST = 12  # clusters that the eigengap looks for, at most


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

    @property
    def aside(self) -> int:
        """How many vertices are in no cluster."""
        return int((self.of < 0).sum())


def spectral_embedding(graph: Graph, dimensions: int = 2, kind: Kind = "random_walk") -> Float[np.ndarray, "n d"]:
    """The first eigenvectors after the constant one as coordinates of the vertices; of a connected graph.

    >>> path = Graph(torch.tensor([[0, 1], [1, 2]]))
    >>> (spectral_embedding(path, 1, "plain").round(3) + 0).reshape(-1).tolist()
    [0.707, 0.0, -0.707]
    """
    if not 1 <= dimensions < graph.vertices:
        raise ValueError(
            f"dimensions must be from 1 to the number of vertices − 1, got {dimensions} for {graph.vertices}; lower it"
        )
    return eigenpairs(graph, dimensions + 1, kind).vectors[:, 1:]


def spectral_clusters(graph: Graph, clusters: int | None = None, kind: Kind = "random_walk", seed: int = 0) -> Clusters:
    """The vertices of an undirected graph in ``clusters`` groups; as many as the eigengap says, where not given."""
    n = graph.vertices
    if n < 2 or (clusters is not None and not 2 <= clusters <= n):
        raise ValueError(
            f"clusters must be from 2 to the number of vertices, got {clusters} for {n:,}; "
            f"{'try clusters=2' if n >= 2 else 'give a graph of two vertices or more'}"
        )
    kept = _large_enough(graph, MOST if clusters is None else clusters)
    if clusters is None and len(kept) < 3:
        kept = np.arange(n)
    if clusters is not None and len(kept) < clusters:
        kept = np.arange(n)
    whole = len(kept) == n
    part = graph if whole else graph.subgraph(torch.from_numpy(kept))
    wanted = min(MOST + 1, part.vertices) if clusters is None else min(clusters + 1, part.vertices)
    spectrum = eigenpairs(part, wanted, kind, seed=seed)
    count = eigengap(spectrum.values) if clusters is None else clusters
    rows = spectrum.vectors[:, :count]
    labels = _k_means(rows, count, seed)
    order = np.argsort(-np.bincount(labels, minlength=count), kind="stable")
    place = np.empty(count, np.int64)
    place[order] = np.arange(count)
    of = np.full(n, -1, np.int64)
    of[kept] = place[labels]
    embedding = np.zeros((n, count))
    embedding[kept] = rows
    adjacency, found = part.adjacency(torch.float64), torch.from_numpy(of[kept])
    return Clusters(
        of,
        tuple(np.bincount(of[kept], minlength=count).tolist()),
        embedding,
        replace(spectrum),
        kept,
        float(ratio_cut(adjacency, found)),
        float(normalised_cut(adjacency, found)),
        clusters is None,
    )


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
    least = max(2.0, graph.vertices / (10 * clusters))
    return np.flatnonzero(np.array(sizes)[of] >= least)


def _k_means(rows: Float[np.ndarray, "n k"], count: int, seed: int) -> Int[np.ndarray, "n"]:
    cluster = need("sklearn.cluster", "tables", "spectral clustering")
    few = len(rows) < 50_000
    kind = cluster.KMeans if few else cluster.MiniBatchKMeans
    options = {"n_init": 10} if few else {"n_init": 3, "batch_size": 10_000}
    return kind(count, random_state=seed, **options).fit_predict(np.ascontiguousarray(rows)).astype(np.int64)


__all__ = ["Clusters", "eigengap", "spectral_clusters", "spectral_embedding"]
