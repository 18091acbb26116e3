r"""Scores of vertices: which ones are interesting, and in what sense.

    degree         d_i = Σ_j a_ij                               how much is joined to it
    pagerank       p = (1 − α)/n + α (Pᵀp + lost/n)             how often a walk that sometimes jumps comes by
    core           the largest k such that it survives when vertices with fewer than k neighbours are taken away
    clustering     share of the pairs of its neighbours that are joined themselves
    betweenness    share of shortest paths that go through it
    closeness      1 / mean distance to the others

Brin, Page 1998; Seidman 1983; Watts, Strogatz 1998; Freeman 1977. Degree and PageRank are computed here, the others
by networkx. Distances count edges. Notes: N3 §7.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from cutaway.blocks.graphs.graph import Graph
from cutaway.data.checks import expect_choice
from cutaway.data.graphs.graph_libraries import to_networkx, to_scipy
from cutaway.extras import need

SCORES = ("degree", "pagerank", "core", "clustering", "betweenness", "closeness")
_SAMPLED = 500  # vertices that paths start from, in larger graphs


def vertex_scores(
    graph: Graph, scores: Sequence[str] = ("degree", "pagerank", "core"), seed: int = 0
) -> dict[str, Float[np.ndarray, "n"]]:
    """Scores of every vertex, by name. Betweenness of a large graph is estimated from 500 vertices, by ``seed``."""
    found: dict[str, np.ndarray] = {}
    plain = None
    for name in scores:
        expect_choice("score", name, SCORES)
        if name == "degree":
            found[name] = graph.degrees().double().numpy()
        elif name == "pagerank":
            found[name] = pagerank(graph)
        else:
            plain = plain if plain is not None else to_networkx(graph.without_absent())
            found[name] = _by_networkx(plain, name, seed)
    return found


def pagerank(graph: Graph, damping: float = 0.85, tolerance: float = 1e-10) -> Float[np.ndarray, "n"]:
    """p = (1 − α)/n + α (Pᵀp + lost/n), P_ij = a_ij/d_i, by iteration; a walk at a dead end jumps anywhere.

    >>> import torch
    >>> pagerank(Graph(torch.tensor([[0, 1], [1, 2]]))).round(4).tolist()
    [0.2568, 0.4865, 0.2568]
    """
    if not 0 <= damping < 1:
        raise ValueError(f"damping must be from 0 to below 1, got {damping}; try damping=0.85")
    if graph.signed:
        raise ValueError("PageRank needs weights of 0 or more, got some below; give the sizes of signed weights")
    n = graph.vertices
    if not n:
        return np.empty(0)
    a = to_scipy(graph).astype(np.float64)
    d = np.asarray(a.sum(1)).reshape(-1)
    inverse = np.where(d > 0, 1 / np.where(d > 0, d, 1), 0)
    back = a.T.tocsr()
    p = np.full(n, 1 / n)
    for _ in range(1000):
        before, p = p, (1 - damping) / n + damping * (back @ (inverse * p) + p[d == 0].sum() / n)
        if np.abs(p - before).sum() < tolerance:
            break
    return p


def _by_networkx(graph: Any, name: str, seed: int) -> Float[np.ndarray, "n"]:
    nx = need("networkx", "graphs", f"the score {name}")
    if name in ("core", "clustering"):
        graph = nx.Graph(graph)
        graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    n = graph.number_of_nodes()
    if name == "core":
        values = nx.core_number(graph)
    elif name == "clustering":
        values = nx.clustering(graph)
    elif name == "closeness":
        values = nx.closeness_centrality(graph)
    else:
        values = nx.betweenness_centrality(graph, k=_SAMPLED if n > 4 * _SAMPLED else None, seed=seed)
    return np.array([values[v] for v in range(n)], np.float64)


__all__ = ["SCORES", "pagerank", "vertex_scores"]
