r"""The gated graph network: all vertices take T steps of one GRU, whose input is what the neighbours say.

    h⁰ = (x, 0)                                       features, filled up with zeros
    m_j = Σ_{a = i → j} a_ij (h_iᵗ⁻¹ W + f_a W_e)      ✎ messages read the neighbour's state, and features f of the edge
    h_jᵗ = GRU(m_j, h_jᵗ⁻¹)                            t = 1 … T, with the same weights at every step

Li et al. 2016, eq. 1–6, where W depends on the kind of an edge; features take its place. Notes: N3 §7.7, f(x_v, x^e,
x_u, h_v), where messages read the state of the vertex itself. Axis letters: docs/notation.md.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.checks import expect_positive
from cutaway.blocks.dense.affine import Linear
from cutaway.blocks.graphs.compressed_rows import is_sparse_rows
from cutaway.blocks.graphs.graph import Graph
from cutaway.blocks.graphs.graph_checks import refuse_edge_features
from cutaway.blocks.graphs.neighbours import arc_weights, edge_messages, expect_vertices, sum_weighted
from cutaway.blocks.recurrence.equations import gru_step
from cutaway.inside.taps import Tap
from cutaway.overriding import override


class GatedGraphLayer(nn.Module):
    """T gated steps, h_jᵗ = GRU(Σ a_ij h_iᵗ⁻¹ W, h_jᵗ⁻¹); ``layer(x, graph)``. Li et al. 2016.

    ``width`` of the states, at least as many as inputs. With ``edge_inputs`` messages read the features of edges. Taps,
    called once a step: ``messages`` (arcs, width) in the order of ``graph.arcs``, ``state`` (vertices, width); and
    ``output``.
    """

    def __init__(self, inputs: int, width: int, steps: int = 3, edge_inputs: int | None = None) -> None:
        super().__init__()
        expect_positive(inputs=inputs, width=width, steps=steps)
        if width < inputs:
            raise ValueError(
                f"states must hold the inputs, got width={width}, inputs={inputs}; try width={inputs}, or map the "
                "inputs to fewer first"
            )
        self.inputs, self.width, self.steps = inputs, width, steps
        self.map = Linear(width, width, bias=False)  # W
        self.map_edges = Linear(edge_inputs, width, bias=False) if edge_inputs else None  # W_e
        self.map_input, self.map_hidden = Linear(width, 3 * width), Linear(width, 3 * width)  # of the GRU
        self.messages, self.state, self.output = Tap(), Tap(), Tap()
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -1 / math.sqrt(self.width), 1 / math.sqrt(self.width))

    @override
    def forward(self, x: Float[Tensor, "n i"], graph: Graph) -> Float[Tensor, "n w"]:
        expect_vertices(x, graph, self.inputs)
        if self.map_edges is None:
            refuse_edge_features(graph, "this layer", can=True)
        x = x.to_dense() if is_sparse_rows(x) else x
        h = torch.nn.functional.pad(x, (0, self.width - self.inputs))
        a = arc_weights(graph, h.dtype)
        f = None if self.map_edges is None else edge_messages(self.map_edges, graph, a)
        for _ in range(self.steps):
            m = sum_weighted(self.map(h), graph, a, self.messages, edges=f)
            h = gru_step(self.map_input(m), self.map_hidden(h), h)["hidden"]
            if self.state.live:
                h = self.state(h)
        if self.output.live:
            h = self.output(h)
        return h

    @override
    def extra_repr(self) -> str:
        return f"{self.inputs} → {self.width}, steps={self.steps}"
