r"""Pooling by clusters: a coarser graph whose vertices are clusters of the old ones.

    x′_c = pool of x_v over the vertices v of cluster c          sum, mean or max
    a′_cd = Σ of a_ij over i in c, j in d, c ≠ d                  A′ = Cᵀ A C without its diagonal

C (n, clusters) has a 1 where a vertex belongs to a cluster. Defferrard et al. 2016, §2.2; Notes: N3 §7.9.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from cutaway.blocks.checks import expect_choice
from cutaway.blocks.graphs.graph import Graph
from cutaway.blocks.graphs.messages import max_messages_open, sum_messages_open


def pool_clusters(
    x: Float[Tensor, "n w"], clusters: Int[Tensor, " n"], kind: str = "mean", count: int | None = None
) -> Float[Tensor, "c w"]:
    """x′_c: the sum, mean or max of x over each cluster; 0 for a cluster without vertices.

    >>> pool_clusters(torch.tensor([[1.0], [3.0], [10.0]]), torch.tensor([0, 0, 1])).flatten()
    tensor([ 2., 10.])
    """
    expect_choice("kind", kind, ("sum", "mean", "max"))
    count = _count(clusters, len(x)) if count is None else count
    if kind == "max":
        return max_messages_open(x, clusters, count)
    s = sum_messages_open(x, clusters, count)
    if kind == "sum":
        return s
    return s / sum_messages_open(x.new_ones(len(x), 1), clusters, count).clamp(min=1)


def coarsen(graph: Graph, clusters: Int[Tensor, " n"], kind: str = "mean") -> Graph:
    """The graph of clusters: edges between two clusters become one, with the sum of their weights; those inside go.

    x and edge features are pooled as ``kind`` says. Clusters are numbered from 0, and stay inside one graph.
    """
    c = _count(clusters, graph.vertices)
    ends = clusters[graph.edges]
    ends = ends if graph.directed else ends.sort(0).values
    between = ends[0] != ends[1]
    if graph.weights is not None and not graph.weights.requires_grad:
        between = between & graph.present  # an edge of weight 0 is none
    keys, edge = torch.unique(ends[0, between] * c + ends[1, between], return_inverse=True)
    weights = torch.ones(len(edge), device=edge.device) if graph.weights is None else graph.weights[between]
    features = None
    if graph.edge_features is not None:
        features = pool_clusters(graph.edge_features[between], edge, kind, len(keys))
    return Graph(
        torch.stack([keys // c, keys % c]),
        vertices=c,
        weights=weights.new_zeros(len(keys)).index_add(0, edge, weights),
        x=None if graph.x is None else pool_clusters(graph.x.to_dense(), clusters, kind),
        edge_features=features,
        graph_features=graph.graph_features,
        membership=None if graph.membership is None else _membership(graph, clusters, c),
        directed=graph.directed,
        graphs=graph.graphs,
    )


def _count(clusters: Tensor, vertices: int) -> int:
    if clusters.shape != (vertices,):
        raise ValueError(f"clusters must have shape ({vertices},), one number per vertex, got {tuple(clusters.shape)}")
    lowest, highest = (int(clusters.min()), int(clusters.max())) if vertices else (0, -1)
    if lowest < 0 or len(clusters.unique()) <= highest:
        raise ValueError(
            f"clusters must be numbered from 0 without gaps, got {len(clusters.unique())} numbers from {lowest} to "
            f"{highest}; use torch.unique(clusters, return_inverse=True)[1]"
        )
    return highest + 1


def _membership(graph: Graph, clusters: Tensor, count: int) -> Tensor:
    assert graph.membership is not None
    member = graph.membership.new_zeros(count).index_put((clusters,), graph.membership)
    torn = (member[clusters] != graph.membership).nonzero()
    if len(torn):
        raise ValueError(
            f"a cluster must stay inside one graph, got cluster {int(clusters[torn[0]])} in two; number the clusters "
            "of each graph by themselves"
        )
    return member


def match_neighbours(graph: Graph) -> Int[Tensor, " n"]:
    """Clusters of two neighbours, or of one that found none: a graph of about half the vertices, by a greedy matching.

    Heavy edges between vertices of few edges come first: w_ij (1/d_i + 1/d_j), as in Graclus (Dhillon et al. 2007). In
    each round every vertex chooses its best free neighbour, and those that choose one another are joined.

    >>> match_neighbours(Graph(torch.tensor([[0, 1, 2], [1, 2, 3]])))
    tensor([0, 0, 1, 1])
    """
    return graph.keep("matched neighbours", lambda: _match(graph))


def _match(graph: Graph) -> Tensor:
    n, device = graph.vertices, graph.edges.device
    proper = (graph.edges[0] != graph.edges[1]) & graph.present
    i, j = graph.edges[:, proper]
    weights = torch.ones(len(i), device=device) if graph.weights is None else graph.weights[proper].detach()
    degrees = weights.new_zeros(n).index_add(0, torch.cat([i, j]), torch.cat([weights, weights]).abs())
    degrees = degrees.clamp(min=1e-12)
    value = weights.abs() * (1 / degrees[i] + 1 / degrees[j])
    rank = torch.empty(len(i), dtype=torch.int64, device=device)
    rank[torch.argsort(value, stable=True)] = torch.arange(len(i), device=device)  # different for every edge
    mate = torch.arange(n, device=device)
    while len(i):
        best = torch.full((n,), -1, device=device).scatter_reduce(0, torch.cat([i, j]), torch.cat([rank, rank]), "amax")
        agreed = (best[i] == rank) & (best[j] == rank)
        mate[i[agreed]], mate[j[agreed]] = j[agreed], i[agreed]
        free = (mate[i] == i) & (mate[j] == j)
        i, j, rank = i[free], j[free], rank[free]
    first = torch.minimum(mate, torch.arange(n, device=device))
    return torch.unique(first, return_inverse=True)[1]
