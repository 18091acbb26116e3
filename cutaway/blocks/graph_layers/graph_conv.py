r"""The graph convolution of the notes: a vertex's own features by one matrix, those of its neighbours by another.

    y_j = σ(θ₁ᵀ x̄_j + Σ_{i → j} a_ij θ₂ᵀ x_i)          x̄ = (1, x): θ₁ holds the bias

With the mean in place of the sum it is GraphSAGE's. Morris et al. 2019; Hamilton, Ying, Leskovec 2017. Notes: N4; N3
§7.8.5. Axis letters: docs/notation.md.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.checks import expect_choice
from cutaway.blocks.dense.affine import Linear
from cutaway.blocks.graph_layers.message_passing import AGGREGATES, gather_messages
from cutaway.blocks.graphs.graph import Graph
from cutaway.blocks.graphs.graph_checks import refuse_edge_features
from cutaway.blocks.graphs.messages import take_sources
from cutaway.blocks.graphs.neighbours import arc_counts, arc_weights, expect_vertices
from cutaway.blocks.graphs.sparse_features import map_and_sum, map_features
from cutaway.inside.taps import Tap
from cutaway.overriding import override


def graph_conv_open(x: Tensor, adjacency: Tensor, own: Tensor, others: Tensor) -> Tensor:
    """The bare equation for a dense adjacency: x (n, i), A (n, n), θ₁ (1 + i, o) with the bias first, θ₂ (i, o)."""
    with_one = torch.cat([x.new_ones(len(x), 1), x], 1)
    return torch.relu(with_one @ own + adjacency.T @ (x @ others))


class GraphConvLayer(nn.Module):
    """y_j = σ(θ₁ᵀ x̄_j + Σ a_ij θ₂ᵀ x_i), the notes' layer; ``layer(x, graph)``. Morris et al. 2019.

    ``aggregate="mean"`` is GraphSAGE's; "max" takes the largest of the messages a_ij θ₂ᵀ x_i. ``activation``: σ, or
    None. Features of edges are refused: it reads weights alone. Taps: ``messages`` (arcs, outputs) in the order of
    ``graph.arcs``, ``sums`` (before σ) and ``output``.
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        activation: Callable[[Tensor], Tensor] | None = torch.relu,
        aggregate: str = "sum",
    ) -> None:
        super().__init__()
        expect_choice("aggregate", aggregate, AGGREGATES)
        self.inputs, self.outputs, self.aggregate, self.activation = inputs, outputs, aggregate, activation
        self.own = Linear(inputs, outputs)  # θ₁
        self.others = Linear(inputs, outputs, bias=False)  # θ₂
        self.messages, self.sums, self.output = Tap(), Tap(), Tap()

    @override
    def forward(self, x: Float[Tensor, "n i"], graph: Graph) -> Float[Tensor, "n o"]:
        expect_vertices(x, graph, self.inputs)
        refuse_edge_features(graph, "a graph convolution")
        s = map_features(self.own, x) + self._heard(x, graph)
        if self.sums.live:
            s = self.sums(s)
        y = s if self.activation is None else self.activation(s)
        if self.output.live:
            y = self.output(y)
        return y

    def _heard(self, x: Tensor, graph: Graph) -> Tensor:
        a = arc_weights(graph, self.others.weight.dtype)
        if self.aggregate == "max":
            m = a.arcs[:, None] * take_sources(map_features(self.others, x), graph)
            return gather_messages(self.messages(m) if self.messages.live else m, graph, "max")
        s = map_and_sum(self.others, x, graph, a, self.messages)
        return s if self.aggregate == "sum" else s / arc_counts(graph)[:, None].to(s.dtype)

    @override
    def extra_repr(self) -> str:
        return f"aggregate={self.aggregate}"
