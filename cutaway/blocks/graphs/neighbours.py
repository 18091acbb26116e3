r"""What the neighbours of each vertex say together: the sum, mean or largest of their messages.

    sum     y_j = Σ_{i → j} a_ij x_i
    mean    y_j = Σ_{i → j} a_ij x_i / |{i → j}|
    max     y_j = max_{i → j} a_ij x_i            each feature by itself

A vertex that no arc reaches gives 0. The sum is a product with a sparse matrix, Aᵀ x; the ``_open`` functions write
every message out, and agree. Gilmer et al. 2017; Xu et al. 2019. Notes: N3 §7.8.5.
"""

from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from cutaway.blocks.checks import expect_float, expect_width
from cutaway.blocks.graphs.arc_sums import sum_arcs
from cutaway.blocks.graphs.graph import Graph
from cutaway.blocks.graphs.graph_checks import edge_features_of, expect_rows
from cutaway.blocks.graphs.messages import max_messages, max_messages_open, sum_messages, sum_messages_open
from cutaway.blocks.graphs.wiring import to_incoming_order, wire
from cutaway.inside.taps import Tap


class ArcWeights(NamedTuple):
    """A weight per arc, in the order of `Graph.arcs`, by target, and by source (None: worked out when needed)."""

    arcs: Tensor
    incoming: Tensor
    back: Tensor | None


class EdgeMessages(NamedTuple):
    """What the features of edges say: on each arc (arcs, w), and their sums over the arcs to each vertex (n, w)."""

    arcs: Tensor
    heard: Tensor


def edge_messages(layer: Any, graph: Graph, weights: ArcWeights) -> EdgeMessages:
    """w_a f_a W_e for the features f of a graph's edges; ``layer``: W_e, without a bias."""
    features = edge_features_of(graph, layer.inputs).to(layer.weight.dtype)
    messages = weights.arcs[:, None] * layer(features).index_select(0, graph.arc_edges)
    return EdgeMessages(messages, sum_messages(messages, graph))


def arc_weights(graph: Graph, dtype: torch.dtype) -> ArcWeights:
    """The weights a_ij of a graph's arcs."""
    if graph.weights is not None and graph.weights.requires_grad:
        return order_weights(graph.arc_weights, graph, dtype)
    return graph.keep(("arc_weights", dtype), lambda: order_weights(graph.arc_weights, graph, dtype))


def order_weights(weights: Tensor | None, graph: Graph, dtype: torch.dtype) -> ArcWeights:
    """Weights (arcs,) of a graph's arcs, None for 1, put into each order."""
    if weights is None:
        ones = torch.ones(graph.arcs.shape[1], dtype=dtype, device=graph.edges.device)
        return ArcWeights(ones, ones, ones)
    weights = weights.to(dtype)
    if weights.requires_grad:
        return ArcWeights(weights, to_incoming_order(weights, graph), None)
    back = weights.index_select(0, graph.outgoing.arcs)
    return ArcWeights(weights, to_incoming_order(weights, graph), back)


def sum_neighbours_open(x: Float[Tensor, "n w"], graph: Graph) -> Float[Tensor, "n w"]:
    """The bare equation: y_j = Σ a_ij x_i."""
    (i, j), a = graph.arcs, arc_weights(graph, x.dtype).arcs
    return sum_messages_open(a[:, None] * x[i], j, graph.vertices)


def sum_neighbours(x: Float[Tensor, "n w"], graph: Graph) -> Float[Tensor, "n w"]:
    """y_j = Σ a_ij x_i.

    >>> path = Graph(torch.tensor([[0, 1], [1, 2]]))
    >>> sum_neighbours(torch.tensor([[1.0], [10.0], [100.0]]), path).flatten()
    tensor([ 10., 101.,  10.])
    """
    expect_vertices(x, graph)
    return sum_weighted(x, graph, arc_weights(graph, x.dtype))


def sum_weighted(
    x: Tensor,
    graph: Graph,
    weights: ArcWeights,
    tap: Tap | None = None,
    bias: Tensor | None = None,
    edges: EdgeMessages | None = None,
) -> Tensor:
    """y_j = Σ w_a x_i + b with weights of one's own; a ``tap`` sees, and may change, the messages w_a x_i (arcs, w).

    ``edges`` are what the features of edges add to the messages.
    """
    if tap is not None and tap.live:
        i, j = graph.arcs
        messages = weights.arcs[:, None] * x[i]
        messages = messages if edges is None else messages + edges.arcs
        if tap.edited:
            y = sum_messages_open(tap(messages), j, graph.vertices)
            return y if bias is None else y + bias
        tap(messages)
    back = None if weights.back is None else weights.back[None]
    y = sum_arcs(x[None], weights.incoming[None], back, *wire(graph).way, bias)[0]
    return y if edges is None else y + edges.heard


def mean_neighbours_open(x: Float[Tensor, "n w"], graph: Graph) -> Float[Tensor, "n w"]:
    """The bare equation: y_j = Σ a_ij x_i / |{i → j}|."""
    ones = x.new_ones(graph.arcs.shape[1], 1)
    return sum_neighbours_open(x, graph) / sum_messages_open(ones, graph.arcs[1], graph.vertices).clamp(min=1)


def mean_neighbours(x: Float[Tensor, "n w"], graph: Graph) -> Float[Tensor, "n w"]:
    """y_j = Σ a_ij x_i / |{i → j}|; 0 for a vertex without neighbours.

    >>> path = Graph(torch.tensor([[0, 1], [1, 2]]), vertices=4)
    >>> mean_neighbours(torch.tensor([[1.0], [10.0], [100.0], [1000.0]]), path).flatten()
    tensor([10.0000, 50.5000, 10.0000,  0.0000])
    """
    return sum_neighbours(x, graph) / arc_counts(graph)[:, None].to(x.dtype)


def arc_counts(graph: Graph) -> Tensor:
    """(n,) how many arcs reach each vertex, at least 1: what a mean divides by."""
    return graph.keep("arc_counts", lambda: graph.incoming.starts.diff().clamp(min=1))


def max_neighbours_open(x: Float[Tensor, "n w"], graph: Graph) -> Float[Tensor, "n w"]:
    """The bare equation: y_j = max a_ij x_i."""
    (i, j), a = graph.arcs, arc_weights(graph, x.dtype).arcs
    return max_messages_open(a[:, None] * x[i], j, graph.vertices)


def max_neighbours(x: Float[Tensor, "n w"], graph: Graph) -> Float[Tensor, "n w"]:
    """y_j = max a_ij x_i, each feature by itself; 0 for a vertex without neighbours.

    >>> path = Graph(torch.tensor([[0, 1], [1, 2]]))
    >>> max_neighbours(torch.tensor([[1.0], [10.0], [100.0]]), path).flatten()
    tensor([ 10., 100.,  10.])
    """
    expect_vertices(x, graph)
    i, a = graph.arcs[0], arc_weights(graph, x.dtype).arcs
    return max_messages(x.index_select(0, i) * a[:, None], graph)


def expect_vertices(x: Tensor, graph: Graph, width: int | None = None) -> None:
    """A layer needs one row of floats per vertex, as wide as it was built for."""
    expect_float("x", x)
    expect_rows("x", x, graph.vertices, "vertex")
    if width is not None:
        expect_width("x", x, width)
