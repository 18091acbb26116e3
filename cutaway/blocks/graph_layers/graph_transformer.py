r"""The graph transformer layer: attention mixes vertices, along edges or between all pairs of a graph; an MLP follows.

    x ← x + attention(norm(x));   x ← x + mlp(norm(x))

On edges it is local, as every graph layer; between all pairs it does not see the edges at all, and structural encodings
(structural_encodings.py) must tell it where a vertex stands. Dwivedi, Bresson 2021; Ying et al. 2021. Notes: N3 §5.6,
§7.10.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from cutaway.blocks.attention.dot_product import attend_twice
from cutaway.blocks.attention.multihead import MultiHeadAttention
from cutaway.blocks.checks import expect_choice, expect_probability
from cutaway.blocks.dense.mlps import MLP
from cutaway.blocks.graph_layers.edge_attention import EdgeAttention
from cutaway.blocks.graphs.graph import Graph
from cutaway.blocks.graphs.graph_checks import refuse_edge_features
from cutaway.blocks.graphs.neighbours import expect_vertices
from cutaway.blocks.norms.layer import LayerNorm
from cutaway.inside.taps import Tap
from cutaway.overriding import override

SCOPES = ("edges", "pairs")


class GraphTransformerLayer(nn.Module):
    """x ← x + attention(norm(x)), x ← x + mlp(norm(x)); ``layer(x, graph)``. Dwivedi, Bresson 2021.

    ``scope``: attention along "edges", with a self-loop at every vertex, or between all "pairs" of a graph. ``hidden``
    units of the MLP, by default 2 × width. Taps: ``before``, ``between`` and ``after`` (the residual stream), and those
    of ``attention``: ``attention.attention`` (arcs, heads) in the order of ``layer.wired(graph).arcs``, for pairs
    ``attention.weights`` (graphs, heads, vertices, vertices).
    """

    def __init__(
        self,
        width: int,
        heads: int,
        scope: str = "edges",
        hidden: int | None = None,
        edge_inputs: int | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        expect_choice("scope", scope, SCOPES)
        expect_probability(dropout=dropout)
        if edge_inputs and scope == "pairs":
            raise ValueError(
                f"features of edges are read along edges, got edge_inputs={edge_inputs} with scope='pairs'; "
                "use scope='edges', or stack layers of both kinds"
            )
        self.width, self.scope, self.dropout = width, scope, dropout
        self.norm_attention, self.norm_mlp = LayerNorm(width), LayerNorm(width)
        self.attention = (
            EdgeAttention(width, heads, edge_inputs, dropout)
            if scope == "edges"
            else MultiHeadAttention(width, heads, dropout=dropout)
        )
        if isinstance(self.attention, MultiHeadAttention):
            self.attention.kernel = attend_twice
        self.mlp = MLP(width, 2 * width if hidden is None else hidden, dropout=dropout)
        self.before, self.between, self.after = Tap(), Tap(), Tap()

    def wired(self, graph: Graph) -> Graph:
        """The graph along whose arcs it attends: with self-loops. Between all pairs, arcs do not matter."""
        return graph.with_loops() if self.scope == "edges" else graph

    @override
    def forward(self, x: Float[Tensor, "n w"], graph: Graph) -> Float[Tensor, "n w"]:
        expect_vertices(x, graph, self.width)
        if self.before.live:
            x = self.before(x)
        x = x + self._drop(self._attend(self.norm_attention(x), graph))
        if self.between.live:
            x = self.between(x)
        x = x + self._drop(self.mlp(self.norm_mlp(x)))
        if self.after.live:
            x = self.after(x)
        return x

    def _attend(self, x: Tensor, graph: Graph) -> Tensor:
        if self.scope == "edges":
            return self.attention(x, self.wired(graph))
        refuse_edge_features(graph, "attention between all pairs")
        if graph.membership is None:
            return self.attention(x[None])[0]
        padded, real = pad_graphs(x, graph)
        y = self.attention(padded, mask=real[:, None, None])  # a row per graph; nobody looks at what is not there
        return unpad_graphs(y, graph)

    def _drop(self, x: Tensor) -> Tensor:
        return nn.functional.dropout(x, self.dropout) if self.dropout and self.training else x

    @override
    def extra_repr(self) -> str:
        return f"scope={self.scope}"


def pad_graphs(x: Float[Tensor, "n w"], graph: Graph) -> tuple[Float[Tensor, "g m w"], Bool[Tensor, "g m"]]:
    """The vertices of each graph in a row of their own, filled up with zeros, and where they are real."""
    g, m, places = graph.graphs, graph.largest, vertex_places(graph)
    padded = x.new_zeros(g * m, x.shape[1]).index_copy(0, places, x)
    real = torch.zeros(g * m, dtype=torch.bool, device=x.device).index_fill(0, places, True)
    return padded.view(g, m, -1), real.view(g, m)


def unpad_graphs(padded: Float[Tensor, "g m w"], graph: Graph) -> Float[Tensor, "n w"]:
    """The vertices of all graphs in their order again."""
    return padded.flatten(0, 1).index_select(0, vertex_places(graph))


def vertex_places(graph: Graph) -> Tensor:
    """(n,) the place of each vertex in the padded rows: graph · largest + rank within its graph."""
    return graph.keep("vertex_places", lambda: _places(graph))


def _places(graph: Graph) -> Tensor:
    number = torch.arange(graph.vertices, device=graph.edges.device)
    if graph.membership is None:
        return number
    member, order = graph.membership.sort(stable=True)
    first = torch.searchsorted(member, torch.arange(graph.graphs, device=member.device))
    return torch.empty_like(order).index_copy(0, order, member * graph.largest + number - first[member])
