r"""Several graphs as one: side by side, with no edge between them.

    A = diag(A₁, A₂, …)        block-diagonal

so that a layer treats many small graphs in one pass, each as if it were alone. Notes: N3 §7.4.1.
"""

from collections.abc import Sequence
from itertools import accumulate

import torch
from torch import Tensor

from cutaway.blocks.graphs.compressed_rows import row_starts, stack_rows, take_rows
from cutaway.blocks.graphs.graph import Graph


def batch_graphs(graphs: Sequence[Graph]) -> Graph:
    """One graph that holds all; vertices and edges come in the order of the graphs.

    >>> pair = Graph(torch.tensor([[0], [1]]))
    >>> Graph.batch([pair, pair]).edges
    tensor([[0, 2],
            [1, 3]])
    """
    if not graphs:
        raise ValueError("a batch must hold at least one graph, got none; skip empty batches")
    first = graphs[0]
    mixed = [k for k, graph in enumerate(graphs) if graph.directed != first.directed]
    if mixed:
        raise ValueError(
            f"the graphs of a batch must all be directed or all undirected, got directed={first.directed} at 0 "
            f"and directed={not first.directed} at {mixed[0]}"
        )
    shifts = list(accumulate((graph.vertices for graph in graphs), initial=0))
    numbers = list(accumulate((graph.graphs for graph in graphs), initial=0))
    edges = torch.cat([graph.edges + shift for graph, shift in zip(graphs, shifts)], 1)
    members = [_membership(graph) + number for graph, number in zip(graphs, numbers)]
    return Graph(
        edges,
        vertices=shifts[-1],
        weights=_stack_weights(graphs),
        x=_stack("x", [graph.x for graph in graphs]),
        edge_features=_stack("edge_features", [graph.edge_features for graph in graphs]),
        graph_features=_stack("graph_features", [graph.graph_features for graph in graphs]),
        membership=torch.cat(members),
        directed=first.directed,
        graphs=numbers[-1],
    )


def _membership(graph: Graph) -> Tensor:
    if graph.membership is not None:
        return graph.membership
    return torch.zeros(graph.vertices, dtype=torch.int64, device=graph.edges.device)


def _stack_weights(graphs: Sequence[Graph]) -> Tensor | None:
    given = next((graph.weights for graph in graphs if graph.weights is not None), None)
    if given is None:
        return None
    return torch.cat([given.new_ones(g.edges.shape[1]) if g.weights is None else g.weights for g in graphs])


def _stack(name: str, parts: list[Tensor | None]) -> Tensor | None:
    given = [part for part in parts if part is not None]
    if not given:
        return None
    if len(given) < len(parts):
        with_it, without = (next(k for k, part in enumerate(parts) if (part is None) == absent) for absent in (0, 1))
        raise ValueError(
            f"the graphs of a batch must all have {name} or none, got {name} at {with_it} and none at {without}"
        )
    other = next((k for k, part in enumerate(given) if part.shape[1] != given[0].shape[1]), None)
    if other is not None:
        raise ValueError(
            f"the graphs of a batch must have equally many {name}, got {given[0].shape[1]} at 0 "
            f"and {given[other].shape[1]} at {other}"
        )
    layout = next((k for k, part in enumerate(given) if part.layout != given[0].layout), None)
    if layout is not None:
        raise ValueError(f"{name} of a batch must all be dense or all sparse, got both, at 0 and at {layout}")
    return stack_rows(given)


def split_graph(graph: Graph) -> list[Graph]:
    """The graphs inside, each with vertices numbered from 0, in the order that they have in the whole."""
    membership = _membership(graph)
    member, order = membership.sort(stable=True)
    starts = row_starts(member, graph.graphs).tolist()
    position = torch.empty_like(order).index_put((order,), torch.arange(len(order), device=order.device))
    owner, edge_order = membership[graph.edges[0]].sort(stable=True)
    edge_starts = row_starts(owner, graph.graphs).tolist()
    parts = []
    for k in range(graph.graphs):
        vertices = order[starts[k] : starts[k + 1]]
        chosen = edge_order[edge_starts[k] : edge_starts[k + 1]]
        parts.append(
            Graph(
                position[graph.edges[:, chosen]] - starts[k],
                vertices=len(vertices),
                weights=None if graph.weights is None else graph.weights[chosen],
                x=None if graph.x is None else take_rows(graph.x, vertices),
                edge_features=None if graph.edge_features is None else graph.edge_features[chosen],
                graph_features=None if graph.graph_features is None else graph.graph_features[k : k + 1],
                directed=graph.directed,
            )
        )
    return parts
