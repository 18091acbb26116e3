r"""Readouts make one vector of all vertices of a graph, the same whatever their order.

    sum         s_g = Σ_{v in g} x_v                          tells sizes apart
    mean        s_g = Σ x_v / |g|
    max         s_g = max x_v                                 each feature by itself
    attention   s_g = Σ α_v x_v,  α = softmax over g of x θ   weights learned
    global      a vertex that is joined to all others gathers what they hold, layer by layer: its state

A graph without vertices gives 0. A dense layer over vertices side by side would not be invariant. Li et al. 2016, §3.3;
Gilmer et al. 2017 (global vertex). Notes: N3 §7.9.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.dense.affine import Linear
from cutaway.blocks.graphs.arc_softmax import softmax_arcs_open
from cutaway.blocks.graphs.graph import Graph
from cutaway.blocks.graphs.messages import max_messages_open, sum_messages_open
from cutaway.blocks.graphs.neighbours import expect_vertices
from cutaway.inside.taps import Tap
from cutaway.overriding import override


def graph_numbers(graph: Graph) -> Tensor:
    """(n,) the graph of each vertex; 0 where there is one only."""
    if graph.membership is not None:
        return graph.membership
    return graph.keep("one_graph", lambda: torch.zeros(graph.vertices, dtype=torch.int64, device=graph.edges.device))


def readout_sum(x: Float[Tensor, "n w"], graph: Graph) -> Float[Tensor, "g w"]:
    """s_g = Σ x_v over the vertices of each graph.

    >>> pair = Graph(torch.tensor([[0], [1]]))
    >>> readout_sum(torch.tensor([[1.0], [2.0], [3.0], [4.0]]), Graph.batch([pair, pair])).flatten()
    tensor([3., 7.])
    """
    expect_vertices(x, graph)
    return sum_messages_open(x, graph_numbers(graph), graph.graphs)


def readout_mean(x: Float[Tensor, "n w"], graph: Graph) -> Float[Tensor, "g w"]:
    """s_g = Σ x_v / |g|."""
    ones = x.new_ones(graph.vertices, 1)
    return readout_sum(x, graph) / readout_sum(ones, graph).clamp(min=1)


def readout_max(x: Float[Tensor, "n w"], graph: Graph) -> Float[Tensor, "g w"]:
    """s_g = max x_v, each feature by itself."""
    expect_vertices(x, graph)
    return max_messages_open(x, graph_numbers(graph), graph.graphs)


class AttentionReadout(nn.Module):
    """s_g = Σ α_v x_v with α = softmax over the vertices of g of x θ; ``layer(x, graph)``. Li et al. 2016.

    Taps: ``weights`` (vertices,), α, and ``output``.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.map = Linear(width, 1, bias=False)  # θ; a bias would cancel in the softmax
        self.weights, self.output = Tap(), Tap()

    @override
    def forward(self, x: Float[Tensor, "n w"], graph: Graph) -> Float[Tensor, "g w"]:
        expect_vertices(x, graph, self.map.inputs)
        α = softmax_arcs_open(self.map(x).T, graph_numbers(graph), graph.graphs)[0]
        if self.weights.live:
            α = self.weights(α)
        s = readout_sum(α[:, None] * x, graph)
        if self.output.live:
            s = self.output(s)
        return s


def add_global_vertex(graph: Graph) -> Graph:
    """The graph with one more vertex for each of its graphs, joined to all of theirs; they come last, in order.

    Its features x are 0, as are those of its edges; their weights are 1. Of a directed graph the new arcs go both ways.
    """
    n, g, device = graph.vertices, graph.graphs, graph.edges.device
    number = torch.arange(n, device=device)
    spokes = torch.stack([number, n + graph_numbers(graph)])
    spokes = torch.cat([spokes, spokes.flip(0)], 1) if graph.directed else spokes

    def more(value: Tensor | None, rows: int, fill: float = 0.0) -> Tensor | None:
        if value is None:
            return None
        dense = value.to_dense()
        return torch.cat([dense, dense.new_full((rows, *dense.shape[1:]), fill)])

    return Graph(
        torch.cat([graph.edges, spokes], 1),
        vertices=n + g,
        weights=more(graph.weights, spokes.shape[1], 1.0),
        x=more(graph.x, g),
        edge_features=more(graph.edge_features, spokes.shape[1]),
        graph_features=graph.graph_features,
        membership=None if graph.membership is None else torch.cat([graph.membership, torch.arange(g, device=device)]),
        directed=graph.directed,
        graphs=g,
    )


def readout_global(x: Float[Tensor, "n w"], graph: Graph) -> Float[Tensor, "g w"]:
    """The states of the global vertices, for a graph made by `add_global_vertex`."""
    expect_vertices(x, graph)
    return x[graph.vertices - graph.graphs :]
