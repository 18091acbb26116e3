r"""Dot-product attention along the edges of a graph: every vertex is a query to those whose arcs reach it.

    q, k, v = x W_Q, x W_K, x W_V                       by head, d wide
    e_a = q_jᵀ (k_i + u_a) / √d                         score of an arc a = i → j; u_a = f_a W_E of its features
    α_a = softmax over the arcs to j of e_a
    y_j = [Σ_a α_a (v_i + u_a)] W_O + b                 heads side by side, projected back

On a graph with all arcs it is multi-head attention. Shi et al. 2021, eq. 3–4; Vaswani et al. 2017. Notes: N3 §5.6,
§7.10. Axis letters: docs/notation.md.
"""

import math

from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.checks import expect_positive, expect_probability, near_divisors
from cutaway.blocks.dense.affine import Linear
from cutaway.blocks.depth.dropouts import fast_dropout
from cutaway.blocks.graphs.arc_softmax import softmax_arcs
from cutaway.blocks.graphs.arc_sums import dot_arcs, sum_arcs
from cutaway.blocks.graphs.graph import Graph
from cutaway.blocks.graphs.graph_checks import edge_features_of, refuse_edge_features
from cutaway.blocks.graphs.messages import sum_messages, take_targets
from cutaway.blocks.graphs.neighbours import expect_vertices
from cutaway.blocks.graphs.wiring import to_arc_order, to_incoming_order, wire
from cutaway.inside.taps import Tap
from cutaway.overriding import override


class EdgeAttention(nn.Module):
    """y_j = [Σ α_a v_i] W_O + b with α = softmax(q_jᵀ k_i / √d) over arcs to j; ``layer(x, graph)``. Shi et al. 2021.

    ``edge_inputs``: features of edges that are added to keys and values; ``graph.weights_as_features()`` makes one of
    the weights, which are not read by themselves. ``dropout`` drops attention weights, in training. Taps: ``attention``
    (arcs, heads) before dropout, in the order of ``graph.arcs``; ``head_outputs`` (vertices, width), 0 for a vertex
    that no arc reaches; ``output``.
    """

    residual_writers = ("out",)  # the child whose output is added to the residual stream
    part_names = {"qkv": ("queries", "keys", "values")}  # of `fused_parts`, for what changes one of them alone

    def __init__(self, width: int, heads: int, edge_inputs: int | None = None, dropout: float = 0.0) -> None:
        super().__init__()
        expect_positive(width=width, heads=heads)
        expect_probability(dropout=dropout)
        if width % heads:
            tries = " or ".join(f"heads={n}" for n in near_divisors(width, heads))
            raise ValueError(f"width must be a multiple of heads, got width={width}, heads={heads}; try {tries}")
        self.width, self.heads, self.head_width, self.dropout = width, heads, width // heads, dropout
        self.qkv = Linear(width, 3 * width)
        self.map_edges = Linear(edge_inputs, width, bias=False) if edge_inputs else None
        self.out = Linear(width, width)
        self.attention, self.head_outputs, self.output = Tap(), Tap(), Tap()

    @override
    def forward(self, x: Float[Tensor, "n w"], graph: Graph) -> Float[Tensor, "n w"]:
        expect_vertices(x, graph, self.width)
        if self.map_edges is None:
            refuse_edge_features(graph, "this layer", can=True)
        wiring = wire(graph)
        qkv = self.qkv(x).view(-1, 3, self.heads, self.head_width).permute(1, 2, 0, 3)
        q, k, v = qkv.contiguous()  # each (heads, vertices, d)
        e = dot_arcs(q, k, *wiring.way)
        u = self._edge_vectors(graph)
        if u is not None:
            by_arc = take_targets(q.transpose(0, 1).flatten(1), graph).view(-1, self.heads, self.head_width)
            e = e + to_incoming_order((by_arc * u).sum(-1).T, graph)
        α = softmax_arcs(e / math.sqrt(self.head_width), wiring.starts, wiring.targets)
        if self.attention.live:
            shown = self.attention(to_arc_order(α, graph).T)
            α = to_incoming_order(shown.T, graph) if self.attention.edited else α
        if self.dropout and self.training:
            α = fast_dropout(α, self.dropout)
        y = sum_arcs(v, α, None, *wiring.way).transpose(0, 1).flatten(1)
        if u is not None:
            y = y + sum_messages((to_arc_order(α, graph).T[..., None] * u).flatten(1), graph)
        if self.head_outputs.live:
            y = self.head_outputs(y)
        y = self.out(y)
        if self.output.live:
            y = self.output(y)
        return y

    def _edge_vectors(self, graph: Graph) -> Tensor | None:
        """u_a for every arc, (arcs, heads, d)."""
        if self.map_edges is None:
            return None
        features = edge_features_of(graph, self.map_edges.inputs).to(self.map_edges.weight.dtype)
        return self.map_edges(features)[graph.arc_edges].view(-1, self.heads, self.head_width)

    @property
    def fused_parts(self) -> dict[str, tuple[int, ...]]:
        """W_Q, W_K and W_V side by side in one matrix, for optimizers that treat each by itself."""
        return {"qkv": (self.width,) * 3}

    @override
    def extra_repr(self) -> str:
        return f"width={self.width}, heads={self.heads}"
