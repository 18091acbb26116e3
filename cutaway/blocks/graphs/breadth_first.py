r"""A graph as a sequence: vertices in breadth-first order π, each with a row that says which earlier ones it joins.

    s_ik = 1 if π_i joins π_{i−1−k}, else 0        k = 0 … min(i, M) − 1: the vertex before, the one before that, …

All edges of an undirected graph stand in these rows if none reaches further back than the bandwidth M. Breadth-first
orders keep it small: what a vertex joins was found with it, or by a vertex that came shortly before. A vertex with an
empty row begins a new component. You et al. 2018, "GraphRNN", §2.3.1 and §2.3.4.
"""

from collections import deque

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from cutaway.blocks.graphs.graph import Graph


def breadth_first_order(graph: Graph, priority: Int[Tensor, "n"] | None = None) -> Int[Tensor, "n"]:
    """The vertices as a breadth-first search finds them; ``priority`` says who comes first where several could.

    >>> path = Graph(torch.tensor([[0, 1, 2], [1, 2, 3]]))
    >>> breadth_first_order(path, torch.tensor([1, 0, 2, 3]))
    tensor([1, 0, 2, 3])
    """
    n = graph.vertices
    rank = list(range(n)) if priority is None else torch.argsort(priority).tolist()
    joined: list[list[int]] = [[] for _ in range(n)]
    for i, j in _edges(graph).T.tolist():
        joined[i].append(j)
        joined[j].append(i)
    seen, order = [False] * n, []
    for start in range(n) if priority is None else priority.tolist():
        queue = deque([] if seen[start] else [start])
        seen[start] = True
        while queue:
            i = queue.popleft()
            order.append(i)
            for j in sorted(set(joined[i]), key=rank.__getitem__):
                if not seen[j]:
                    seen[j] = True
                    queue.append(j)
    return torch.tensor(order, dtype=torch.int64)


def order_bandwidth(graph: Graph, order: Int[Tensor, "n"]) -> int:
    """How far back an edge reaches at most, in this order; 0 without edges."""
    edges = _edges(graph)
    if not edges.shape[1]:
        return 0
    place = torch.empty_like(order)
    place[order] = torch.arange(len(order))
    i, j = place[edges]
    return int((i - j).abs().max())


def adjacency_rows(graph: Graph, order: Int[Tensor, "n"], bandwidth: int) -> Bool[Tensor, "n m"]:
    """s: row i says which of the ``bandwidth`` vertices before it the i-th vertex joins. Self-loops are left out.

    >>> triangle = Graph(torch.tensor([[0, 1, 2], [1, 2, 0]]))
    >>> adjacency_rows(triangle, torch.tensor([0, 1, 2]), 2).int()
    tensor([[0, 0],
            [1, 0],
            [1, 1]], dtype=torch.int32)
    """
    widest = order_bandwidth(graph, order)
    if widest > bandwidth:
        raise ValueError(
            f"edges must reach at most {bandwidth} vertices back (bandwidth), got one that reaches {widest} back; "
            "raise the bandwidth, or use another order"
        )
    place = torch.empty_like(order)
    place[order] = torch.arange(len(order))
    later, earlier = place[_edges(graph)].sort(0, descending=True).values
    rows = torch.zeros(len(order), bandwidth, dtype=torch.bool)
    own = later > earlier
    rows[later[own], (later - earlier - 1)[own]] = True
    return rows


def _edges(graph: Graph) -> Int[Tensor, "2 m"]:
    """The edges that are there: those of weight 0 are not."""
    return graph.edges[:, graph.present]


def graph_of_rows(rows: Bool[Tensor, "n m"]) -> Graph:
    """The graph whose vertices, in their order, have these rows: the way back from `adjacency_rows`."""
    i, k = rows.nonzero().T
    return Graph(torch.stack([i - 1 - k, i]), len(rows))


__all__ = ["adjacency_rows", "breadth_first_order", "graph_of_rows", "order_bandwidth"]
