r"""Checks of a graph's tensors. Each error states the rule, what came, and what to do instead."""

from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from cutaway.blocks.graphs.graph import Graph


def expect_edges(edges: Tensor) -> None:
    """Edges are two rows of whole vertex numbers: sources, then targets."""
    if not isinstance(edges, Tensor):
        raise ValueError(f"edges must be a tensor of shape (2, edges), got {type(edges).__name__}; use torch.tensor")
    if edges.is_floating_point() or edges.is_complex() or edges.dtype == torch.bool:
        raise ValueError(
            f"edges must hold whole vertex numbers, got {edges.dtype}; convert them with edges.long(), "
            "and pass weights as weights="
        )
    if edges.ndim != 2 or edges.shape[0] != 2:
        hint = "transpose it: edges.T" if edges.ndim == 2 and edges.shape[1] == 2 else "give sources, then targets"
        raise ValueError(f"edges must have shape (2, edges), got {tuple(edges.shape)}; {hint}")


def expect_known_vertices(edges: Tensor, vertices: int) -> None:
    """Every edge joins two vertices that are there."""
    missing = ((edges < 0) | (edges >= vertices)).any(0)
    if missing.any():
        e = int(missing.nonzero()[0])
        i, j = edges[:, e].tolist()
        raise ValueError(
            f"an edge must join vertices 0 to {vertices - 1} (vertices={vertices}), got edge {e}: {i} → {j}; "
            "raise vertices=, or number the vertices from 0"
        )


def expect_rows(name: str, x: Tensor, rows: int, what: str) -> None:
    """A table of features has one row for each of what it describes."""
    if x.ndim != 2 or x.shape[0] != rows:
        raise ValueError(f"{name} must have shape ({rows}, features), one row per {what}, got {tuple(x.shape)}")


def expect_weights(weights: Tensor, edges: int) -> None:
    """There is one finite weight per edge."""
    if weights.shape != (edges,):
        raise ValueError(f"weights must have shape ({edges},), one per edge, got {tuple(weights.shape)}")
    if not weights.is_floating_point():
        raise ValueError(f"weights must be a float tensor, got {weights.dtype}; convert it with weights.float()")
    finite = weights.detach().isfinite()
    if not finite.all():
        e = int((~finite).nonzero()[0])
        raise ValueError(
            f"weights must be finite, got {weights[e].item()} at edge {e}; leave such edges out, or give them a weight"
        )


def expect_membership(membership: Tensor, edges: Tensor, vertices: int, graphs: int) -> None:
    """Every vertex belongs to one of the graphs, and no edge joins two of them."""
    if membership.dtype != torch.int64 or membership.shape != (vertices,):
        raise ValueError(
            f"membership must be an int64 tensor of shape ({vertices},), the graph of every vertex, "
            f"got {membership.dtype} of shape {tuple(membership.shape)}"
        )
    if vertices and not 0 <= int(membership.min()) <= int(membership.max()) < graphs:
        raise ValueError(
            f"membership must name graphs 0 to {graphs - 1} (graphs={graphs}), "
            f"got {int(membership.min())} to {int(membership.max())}"
        )
    torn = (membership[edges[0]] != membership[edges[1]]).nonzero()
    if len(torn):
        i, j = edges[:, int(torn[0])].tolist()
        raise ValueError(
            f"an edge must stay inside one graph, got {i} → {j} from graph {int(membership[i])} to "
            f"{int(membership[j])}; without membership they are one graph"
        )


def expect_unsigned(graph: "Graph", why: str) -> None:
    """Degrees, norms and Laplacians need weights of 0 or more."""
    if graph.signed:
        assert graph.weights is not None
        e = int((graph.weights < 0).nonzero()[0])
        raise ValueError(
            f"weights must be 0 or more, since {why}, got {float(graph.weights[e]):g} at edge {e}; use weights.abs(), "
            "or a layer for signed edges: message passing with the sign as an edge feature"
        )


def refuse_edge_features(graph: "Graph", what: str, can: bool = False) -> None:
    """Stops at features of edges, which ``what`` does not read; one that ``can`` reads them if it is built so.

    They would be left out without a word.
    """
    if graph.edge_features is None or not graph.edge_features.shape[1]:
        return
    width = graph.edge_features.shape[1]
    way = f"build it with edge_inputs={width}" if can else "take one that reads them, as GATLayer or GINLayer"
    raise ValueError(
        f"{what} {'was built for edges without features' if can else 'reads no features of edges'}, got a graph with "
        f"{width} of every edge; {way}, or leave them out: graph.without_edge_features()"
    )


def refuse_weights(graph: "Graph", what: str, how: str = "build it with edge_inputs and weight_scale") -> None:
    """Stops at weights of edges, which ``what`` does not read by themselves: they would be ignored without a word."""
    if graph.weights is not None:
        raise ValueError(
            f"{what} does not multiply messages by weights of edges, got a graph with weights; {how} to have them as a "
            "feature of edges, or leave them out: graph.but(weights=None)"
        )


def edge_features_of(graph: "Graph", width: int) -> Tensor:
    """The features of a graph's edges, for a layer that reads so many."""
    if graph.edge_features is None:
        raise ValueError(
            f"this layer reads {width} features of every edge (edge_inputs={width}), got a graph without "
            "edge_features; give it some, or build the layer without edge_inputs"
        )
    if graph.edge_features.shape[1] != width:
        raise ValueError(
            f"this layer reads {width} features of every edge (edge_inputs={width}), got a graph with "
            f"{graph.edge_features.shape[1]}; build the layer with edge_inputs={graph.edge_features.shape[1]}"
        )
    return graph.edge_features


def expect_undirected(graph: "Graph", what: str) -> None:
    """A symmetric Laplacian belongs to an undirected graph."""
    if graph.directed:
        raise ValueError(
            f"{what} needs an undirected graph, whose Laplacian is symmetric, got directed=True; "
            "build the graph with directed=False"
        )
