r"""The graph isomorphism network: a sum over neighbours keeps what a mean or a maximum forgets, how many there are.

    y_j = MLP((1 + ε) x_j + Σ_{i → j} a_ij x_i)
    y_j = MLP((1 + ε) x_j + Σ_{i → j} ReLU(x_i + f_a W_e + b_e))          with edge features f (GINE)

It tells apart all graphs that the Weisfeiler–Leman test does. Xu et al. 2019, eq. 4.1; edge features: Hu et al. 2020.
Notes: N3 §7.8.5. Axis letters: docs/notation.md.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.checks import expect_positive
from cutaway.blocks.dense.affine import Linear
from cutaway.blocks.graphs.compressed_rows import is_sparse_rows
from cutaway.blocks.graphs.graph import Graph
from cutaway.blocks.graphs.graph_checks import edge_features_of, refuse_edge_features
from cutaway.blocks.graphs.messages import sum_messages, take_sources
from cutaway.blocks.graphs.neighbours import arc_weights, expect_vertices, sum_neighbours, sum_weighted
from cutaway.blocks.graphs.sparse_features import multiply_sparse
from cutaway.blocks.norms.batch import BatchNorm
from cutaway.inside.hooks import is_changed, is_read
from cutaway.inside.taps import Tap
from cutaway.overriding import override


class GINLayer(nn.Module):
    """y_j = MLP((1 + ε) x_j + Σ a_ij x_i), with MLP(s) = ReLU(norm(s W₁ + b₁)) W₂ + b₂; ``layer(x, graph)``. Xu 2019.

    ``hidden`` units, by default as many as outputs. ε starts at ``epsilon`` and is learned unless
    ``learn_epsilon=False``. ``norm`` puts a batch norm inside the MLP. With ``edge_inputs`` the features of edges speak
    too (GINE), in place of weights, of which ``graph.weights_as_features()`` makes a feature. Taps: ``messages`` (arcs,
    inputs) in the order of ``graph.arcs``, ``sums`` (what goes into the MLP) and ``output``.
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        hidden: int | None = None,
        epsilon: float = 0.0,
        learn_epsilon: bool = True,
        norm: bool = False,
        edge_inputs: int | None = None,
    ) -> None:
        super().__init__()
        hidden = outputs if hidden is None else hidden
        expect_positive(inputs=inputs, outputs=outputs, hidden=hidden)
        self.inputs, self.outputs = inputs, outputs
        ε = torch.tensor(float(epsilon))
        self.epsilon: Tensor
        if learn_epsilon:
            self.epsilon = nn.Parameter(ε)
        else:
            self.register_buffer("epsilon", ε)
        self.map_edges = Linear(edge_inputs, inputs) if edge_inputs else None
        self.up = Linear(inputs, hidden)
        self.norm = BatchNorm(hidden) if norm else None
        self.down = Linear(hidden, outputs)
        self.messages, self.sums, self.output = Tap(), Tap(), Tap()

    @override
    def forward(self, x: Float[Tensor, "n i"], graph: Graph) -> Float[Tensor, "n o"]:
        expect_vertices(x, graph, self.inputs)
        if self.map_edges is None:
            refuse_edge_features(graph, "this layer", can=True)
        edited = self.messages.edited or self.sums.edited or is_changed(self.up)
        if is_sparse_rows(x) and self.map_edges is None and not edited and type(self.up) is Linear:
            if self.messages.live or self.sums.live or is_read(self.up):
                self.up(self._sum(x.to_dense(), graph))  # beside: looking does not change the output by a bit
            u = multiply_sparse(x, self.up.weight)  # the product of the sum is the sum of the products
            h = (1 + self.epsilon) * u + sum_neighbours(u, graph)
            h = h if self.up.bias is None else h + self.up.bias
        else:
            h = self.up(self._sum(x.to_dense() if is_sparse_rows(x) else x, graph))
        y = self.down(torch.relu(h if self.norm is None else self.norm(h)))
        if self.output.live:
            y = self.output(y)
        return y

    def _sum(self, x: Tensor, graph: Graph) -> Tensor:
        """(1 + ε) x_j and the messages."""
        if self.map_edges is None:
            heard = sum_weighted(x, graph, arc_weights(graph, x.dtype), self.messages)
        else:
            messages = torch.relu(take_sources(x, graph) + self._edge_vectors(graph, self.map_edges))
            heard = sum_messages(self.messages(messages) if self.messages.live else messages, graph)
        s = (1 + self.epsilon) * x + heard
        return self.sums(s) if self.sums.live else s

    def _edge_vectors(self, graph: Graph, layer: Any) -> Tensor:
        return layer(edge_features_of(graph, layer.inputs).to(layer.weight.dtype))[graph.arc_edges]

    @override
    def extra_repr(self) -> str:
        return f"ε={float(self.epsilon):g}" if self.epsilon.device.type != "meta" else ""
