r"""The graph convolution of Kipf and Welling: each vertex takes a weighted sum over itself and its neighbours.

    Â = D^{−1/2} (A + I) D^{−1/2}        D: degrees of A + I
    Y = Âᵀ X W + b                       y_j = Σ_{i → j} x_i W / √(d_i d_j) + b

Kipf, Welling 2017, eq. 2. Of a directed graph the degrees count what arrives. Notes: N3 §7.8. Axis letters:
docs/notation.md.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.dense.affine import Linear
from cutaway.blocks.graphs.graph import Graph
from cutaway.blocks.graphs.graph_checks import expect_unsigned, refuse_edge_features
from cutaway.blocks.graphs.neighbours import ArcWeights, arc_weights, expect_vertices, order_weights
from cutaway.blocks.graphs.sparse_features import map_and_sum
from cutaway.inside.taps import Tap
from cutaway.overriding import override


def gcn_open(x: Tensor, adjacency: Tensor, weight: Tensor) -> Tensor:
    """The bare equation for a dense adjacency: x (n, i), A (n, n), W (i, o)."""
    A = adjacency + torch.eye(len(adjacency), dtype=x.dtype, device=x.device)
    d = A.sum(0)  # what arrives at each vertex
    return (A / (d[:, None] * d).sqrt()).T @ (x @ weight)


def symmetric_norm(graph: Graph, dtype: torch.dtype) -> ArcWeights:
    """a_ij / √(d_i d_j) for every arc i → j, d the weights that arrive; 0 where nothing does. Worked out once."""
    expect_unsigned(graph, "a symmetric norm divides by the root of a degree")
    if graph.weights is not None and graph.weights.requires_grad:
        return _norm(graph, dtype)
    return graph.keep(("symmetric_norm", dtype), lambda: _norm(graph, dtype))


def _norm(graph: Graph, dtype: torch.dtype) -> ArcWeights:
    d = graph.degrees("in", dtype)
    s = torch.where(d > 0, d, 1.0).rsqrt() * (d > 0)
    i, j = graph.arcs
    a = graph.arc_weights
    return order_weights(s[i] * s[j] if a is None else s[i] * a.to(dtype) * s[j], graph, dtype)


class GCNLayer(nn.Module):
    """Y = Âᵀ X W + b with Â = D^{−1/2} (A + I) D^{−1/2}; ``layer(x, graph)``. Kipf, Welling 2017.

    ``self_loops=False`` leaves the I out, ``norm=False`` both roots of D. x may be dense or sparse (CSR). Features of
    edges are refused: it reads weights alone. Taps: ``messages`` (arcs, outputs), in the order of
    ``layer.wired(graph).arcs``, and ``output``.
    """

    def __init__(
        self, inputs: int, outputs: int, bias: bool = True, self_loops: bool = True, norm: bool = True
    ) -> None:
        super().__init__()
        self.inputs, self.outputs, self.self_loops, self.norm = inputs, outputs, self_loops, norm
        self.map = Linear(inputs, outputs, bias=False)
        self.bias = nn.Parameter(torch.zeros(outputs)) if bias else None
        self.messages, self.output = Tap(), Tap()
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.xavier_uniform_(self.map.weight)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def wired(self, graph: Graph) -> Graph:
        """The graph whose arcs carry the messages: with self-loops, unless this layer has none."""
        return graph.with_loops() if self.self_loops else graph

    @override
    def forward(self, x: Float[Tensor, "n i"], graph: Graph) -> Float[Tensor, "n o"]:
        expect_vertices(x, graph, self.inputs)
        refuse_edge_features(graph, "a GCN layer")
        graph = self.wired(graph)
        a = symmetric_norm(graph, self.map.weight.dtype) if self.norm else arc_weights(graph, self.map.weight.dtype)
        y = map_and_sum(self.map, x, graph, a, self.messages, self.bias)
        if self.output.live:
            y = self.output(y)
        return y

    @override
    def extra_repr(self) -> str:
        return "" if self.self_loops else "no self-loops"
