r"""Graph attention: each vertex weighs its neighbours, and itself, by what it and they hold.

    z_i = x_i W                                                        by head
    e_a = LeakyReLU(s_i + t_j + u_a),  s = z·a_s,  t = z·a_t           score of an arc a = i → j; u_a of its features
    e_a = aᵀ LeakyReLU(x_i W + x_j W_t + u_a)                          GATv2: vertices may rank neighbours differently
    α_a = softmax over the arcs to j of e_a
    y_j = Σ_a α_a z_i                                                  heads side by side, or their mean

Veličković et al. 2018, eq. 1–6; GATv2: Brody, Alon, Yahav 2022. Notes: N3 §5.5, §7.8.5. Axis letters: docs/notation.md.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import leaky_relu

from cutaway.blocks.checks import expect_positive, expect_probability, near_divisors
from cutaway.blocks.dense.affine import Linear
from cutaway.blocks.depth.dropouts import fast_dropout
from cutaway.blocks.graphs.arc_attention import attend_arcs
from cutaway.blocks.graphs.arc_softmax import add_ends, softmax_arcs, softmax_arcs_open
from cutaway.blocks.graphs.arc_sums import sum_arcs
from cutaway.blocks.graphs.graph import Graph
from cutaway.blocks.graphs.graph_checks import edge_features_of, refuse_edge_features
from cutaway.blocks.graphs.messages import sum_messages_open, take_sources, take_targets
from cutaway.blocks.graphs.neighbours import expect_vertices
from cutaway.blocks.graphs.sparse_features import map_features
from cutaway.blocks.graphs.wiring import Wiring, to_arc_order, to_incoming_order, wire
from cutaway.inside.taps import Tap
from cutaway.overriding import override


def gat_open(z: Tensor, source: Tensor, target: Tensor, graph: Graph, slope: float = 0.2) -> tuple[Tensor, Tensor]:
    """The bare equation for one head: z (n, d), a_s and a_t (d,); the outputs (n, d) and weights α (arcs,)."""
    i, j = graph.arcs
    e = leaky_relu((z @ source)[i] + (z @ target)[j], slope)
    α = softmax_arcs_open(e[None], j, graph.vertices)[0]
    return sum_messages_open(α[:, None] * z[i], j, graph.vertices), α


class GATLayer(nn.Module):
    """y_j = Σ α_a z_i with α = softmax(LeakyReLU(s_i + t_j)); ``layer(x, graph)``. Veličković et al. 2018.

    ``concat``: the heads, each outputs / heads wide, stand side by side; else each is as wide as the output, which is
    their mean. ``dropout`` drops attention weights, in training. ``edge_inputs`` are the features of each edge that
    scores depend on; the weights of a graph say no more than which edges there are, unless they are features too:
    ``graph.weights_as_features()``. ``version=2`` takes the scores of GATv2. Taps: ``attention`` (arcs, heads) before
    dropout, in the order of ``layer.wired(graph).arcs``, and ``output``.
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        heads: int = 1,
        concat: bool = True,
        dropout: float = 0.0,
        negative_slope: float = 0.2,
        edge_inputs: int | None = None,
        version: int = 1,
        self_loops: bool = True,
        bias: bool = True,
    ) -> None:
        super().__init__()
        expect_positive(inputs=inputs, outputs=outputs, heads=heads)
        expect_probability(dropout=dropout)
        if version not in (1, 2):
            raise ValueError(f"version must be 1 or 2, got {version}; 2 is GATv2")
        if concat and outputs % heads:
            tries = " or ".join(f"heads={n}" for n in near_divisors(outputs, heads))
            raise ValueError(
                f"outputs must be a multiple of heads that stand side by side, got outputs={outputs}, heads={heads}; "
                f"try {tries}, or concat=False"
            )
        self.inputs, self.outputs, self.heads, self.concat = inputs, outputs, heads, concat
        self.width = outputs // heads if concat else outputs  # of a head
        self.dropout, self.negative_slope, self.version, self.self_loops = dropout, negative_slope, version, self_loops
        total = heads * self.width
        self.map = Linear(inputs, total, bias=False)
        self.map_target = Linear(inputs, total, bias=False) if version == 2 else None
        self.map_edges = Linear(edge_inputs, total, bias=False) if edge_inputs else None
        self.source = nn.Parameter(torch.empty(heads, self.width))  # a_s; the a of version 2
        self.target = nn.Parameter(torch.empty(heads, self.width)) if version == 1 else None
        self.edge = nn.Parameter(torch.empty(heads, self.width)) if edge_inputs and version == 1 else None
        self.bias = nn.Parameter(torch.empty(outputs)) if bias else None
        self.attention, self.output = Tap(), Tap()
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for name, parameter in self.named_parameters():
            nn.init.zeros_(parameter) if name == "bias" else nn.init.xavier_uniform_(parameter)

    def wired(self, graph: Graph) -> Graph:
        """The graph whose arcs carry the messages: with one self-loop a vertex, unless this layer has none."""
        return graph.with_loops(replace=True) if self.self_loops else graph

    @override
    def forward(self, x: Float[Tensor, "n i"], graph: Graph) -> Float[Tensor, "n o"]:
        expect_vertices(x, graph, self.inputs)
        if self.map_edges is None:
            refuse_edge_features(graph, "this layer", can=True)
        graph = self.wired(graph)
        if self.version == 1 and not self.attention.edited and self.map.weight.dtype.itemsize >= 4:
            y = self._in_one_pass(x, graph)
        else:
            y = self._written_out(x, graph)
        if self.output.live:
            y = self.output(y)
        return y

    def _in_one_pass(self, x: Tensor, graph: Graph) -> Tensor:
        """Scores, weights and sums of GAT at once; who reads the weights is shown those that were used."""
        z, wiring, u = map_features(self.map, x), wire(graph), self._edge_scores(graph)
        kept, bias = self._kept(wiring, z.dtype), self.bias if self.concat else None
        y, α, _ = attend_arcs(z, self.source, self.target, u, bias, kept, self.negative_slope, *wiring.way)
        if self.attention.live:
            self.attention(to_arc_order(α, graph).T)
        return y if self.concat else self._finish(y)

    def _written_out(self, x: Tensor, graph: Graph) -> Tensor:
        """Step by step, so that the weights can be changed on the way."""
        z, wiring = map_features(self.map, x), wire(graph)
        e = self._additive_scores(z, graph) if self.version == 1 else self._pair_scores(x, z, graph)
        α = softmax_arcs(e, wiring.starts, wiring.targets)
        if self.attention.live:
            shown = self.attention(to_arc_order(α, graph).T)
            α = to_incoming_order(shown.T, graph) if self.attention.edited else α
        kept = self._kept(wiring, α.dtype)
        by_head = z.view(-1, self.heads, self.width).transpose(0, 1).contiguous()  # n (h d) -> h n d
        y = sum_arcs(by_head, α if kept is None else α * kept, None, *wiring.way)
        return self._finish(y.transpose(0, 1).flatten(1))

    def _finish(self, y: Tensor) -> Tensor:
        y = y if self.concat else y.view(-1, self.heads, self.width).mean(1)
        return y if self.bias is None else y + self.bias

    def _additive_scores(self, z: Tensor, graph: Graph) -> Tensor:
        """e_a = LeakyReLU(s_i + t_j + u_a), (heads, arcs) in incoming order."""
        assert self.target is not None
        wiring, u = wire(graph), self._edge_scores(graph)
        s, t = ((z.view(-1, self.heads, self.width) * a).sum(-1).T.contiguous() for a in (self.source, self.target))
        e = add_ends(s, t, wiring.starts, wiring.sources, wiring.targets, wiring.back_starts, wiring.crossing)
        return leaky_relu(e if u is None else e + u, self.negative_slope)

    def _edge_scores(self, graph: Graph) -> Tensor | None:
        """u_a, (heads, arcs) in incoming order."""
        if self.map_edges is None:
            return None
        assert self.edge is not None
        u = (self._edge_vectors(graph) * self.edge).sum(-1).T  # (heads, edges)
        return to_incoming_order(u[:, graph.arc_edges], graph)

    def _pair_scores(self, x: Tensor, z: Tensor, graph: Graph) -> Tensor:
        """e_a = aᵀ LeakyReLU(x_i W + x_j W_t + u_a), (heads, arcs) in incoming order."""
        assert self.map_target is not None
        pairs = take_sources(z, graph) + take_targets(map_features(self.map_target, x), graph)
        pairs = pairs.view(-1, self.heads, self.width)
        if self.map_edges is not None:
            pairs = pairs + self._edge_vectors(graph)[graph.arc_edges]
        e = (leaky_relu(pairs, self.negative_slope) * self.source).sum(-1)
        return to_incoming_order(e.T, graph)

    def _kept(self, wiring: Wiring, dtype: torch.dtype) -> Tensor | None:
        """What dropout multiplies each weight with, in training."""
        if not (self.dropout and self.training):
            return None
        ones = torch.ones(self.heads, len(wiring.sources), dtype=dtype, device=wiring.sources.device)
        return fast_dropout(ones, self.dropout)

    def _edge_vectors(self, graph: Graph) -> Tensor:
        assert self.map_edges is not None
        features = edge_features_of(graph, self.map_edges.inputs)
        return self.map_edges(features.to(self.map_edges.weight.dtype)).view(-1, self.heads, self.width)

    @override
    def extra_repr(self) -> str:
        return f"heads={self.heads}" + (", GATv2" if self.version == 2 else "")
