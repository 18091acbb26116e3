r"""What drawn graphs are judged by: how their degrees, clustering and components are spread, beside those of real ones.

    c_i = 2 · (edges among the neighbours of i) / (d_i (d_i − 1))        clustering; 0 where d_i < 2
    MMD² of the histograms of d_i, of c_i, and of the size of the component that i is in; see
    blocks/generative/mean_discrepancy.py. σ is 1 edge, 0.1, and 5 vertices.

Watts, Strogatz 1998 (clustering); You et al. 2018, §4.2 (the comparison). Novel are graphs with the shape of no
training graph, by the Weisfeiler–Lehman hash (Shervashidze et al. 2011).
"""

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float

from cutaway.blocks.generative.mean_discrepancy import histogram_mmd
from cutaway.blocks.graphs.graph import Graph
from cutaway.data.graphs.components import connected_components
from cutaway.data.graphs.graph_libraries import to_scipy

_CLUSTERING_BINS = 20
_ROUNDS = 4  # of naming vertices after their neighbours
_SCALES = {"degree": 1.0, "clustering": 0.1, "component": 5.0}  # σ
_STEPS = {"degree": 1.0, "clustering": 1 / _CLUSTERING_BINS, "component": 1.0}  # between bins


class VertexStatistics(NamedTuple):
    """Numbers for each vertex of one graph."""

    degree: Float[np.ndarray, "n"]
    clustering: Float[np.ndarray, "n"]
    component: Float[np.ndarray, "n"]  # how many vertices are in its component


def vertex_statistics(graph: Graph) -> VertexStatistics:
    """Degree, clustering and size of the component of every vertex.

    >>> vertex_statistics(Graph(torch.tensor([[0, 1, 2, 2], [1, 2, 0, 3]]))).clustering.round(2).tolist()
    [1.0, 1.0, 0.33, 0.0]
    """
    a = to_scipy(graph).astype(np.float64)
    degree = np.asarray(a.sum(1), np.float64).ravel()
    triangles = np.asarray((a @ a).multiply(a).sum(1), np.float64).ravel() / 2
    pairs = degree * (degree - 1) / 2
    of, sizes = connected_components(graph)
    return VertexStatistics(degree, triangles / np.maximum(pairs, 1), np.array(sizes, np.float64)[of])


def compare_graphs(drawn: Sequence[Graph], real: Sequence[Graph]) -> dict[str, float]:
    """The squared MMD of degrees, clustering and components between two sets of graphs."""
    one, other = ([vertex_statistics(graph) for graph in graphs] for graphs in (drawn, real))
    found = {}
    for name, step in _STEPS.items():
        bins = 1 + max(round(float(getattr(own, name).max()) / step) for own in (*one, *other))
        p, q = (_histograms([getattr(own, name) for own in graphs], step, bins) for graphs in (one, other))
        found[f"{name}_mmd"] = float(histogram_mmd(p, q, _SCALES[name], step))
    return found


def _histograms(values: Sequence[np.ndarray], step: float, bins: int) -> torch.Tensor:
    counts = [np.bincount(np.round(own / step).astype(np.int64), minlength=bins) / len(own) for own in values]
    return torch.from_numpy(np.stack(counts))


def novelty(drawn: Sequence[Graph], known: Sequence[Graph]) -> dict[str, float]:
    """The share of drawn graphs whose shape no known graph has (novel), and of those that differ (unique)."""
    shapes, others = [shape_hash(graph) for graph in drawn], {shape_hash(graph) for graph in known}
    return {
        "novel": sum(shape not in others for shape in shapes) / len(shapes),
        "unique": len(set(shapes)) / len(shapes),
    }


def shape_hash(graph: Graph) -> str:
    """Equal for graphs of one shape, whatever their vertices are called; different shapes seldom share one.

    Every vertex is named after its name and those of its neighbours, some times over.
    """
    joined: list[list[int]] = [[] for _ in range(graph.vertices)]
    for i, j in graph.edges[:, graph.present].T.tolist():
        joined[i].append(j)
        joined[j].append(i)
    names = [""] * graph.vertices
    for _ in range(_ROUNDS):
        lists = [f"{names[i]} {' '.join(sorted(names[j] for j in joined[i]))}" for i in range(graph.vertices)]
        names = [hashlib.blake2b(words.encode(), digest_size=8).hexdigest() for words in lists]
    return " ".join(sorted(names))
