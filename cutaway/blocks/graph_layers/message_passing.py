r"""Message passing: every layer of a graph network says what a message is, how messages meet, and what becomes of them.

    m_a = a_ij · message(x_i, x_j, f_a)          on each arc a = i → j, f_a its features
    s_j = ⊕_{a to j} m_a                         ⊕: sum, mean or max; 0 where nothing arrives
    y_j = update(x_j, s_j)

Gilmer et al. 2017, eq. 1–2. Notes: N3 §7.8.5. Axis letters: docs/notation.md.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.checks import expect_choice, expect_positive
from cutaway.blocks.dense.affine import Dense, Linear
from cutaway.blocks.graphs.compressed_rows import is_sparse_rows
from cutaway.blocks.graphs.graph import Graph
from cutaway.blocks.graphs.graph_checks import edge_features_of, refuse_edge_features
from cutaway.blocks.graphs.messages import max_messages, sum_messages, take_sources, take_targets
from cutaway.blocks.graphs.neighbours import arc_counts, expect_vertices
from cutaway.inside.taps import Tap
from cutaway.overriding import override

Message = Callable[[Tensor, Tensor, Tensor | None], Tensor]
Update = Callable[[Tensor, Tensor], Tensor]
AGGREGATES = ("sum", "mean", "max")


def gather_messages(messages: Float[Tensor, "a w"], graph: Graph, aggregate: str = "sum") -> Float[Tensor, "n w"]:
    """⊕ m_a over the arcs to each vertex; messages in the order of ``graph.arcs``.

    >>> path = Graph(torch.tensor([[0, 1], [1, 2]]))  # arcs 0 → 1, 1 → 2, 1 → 0, 2 → 1
    >>> gather_messages(torch.tensor([[1.0], [2.0], [3.0], [5.0]]), path, "mean").flatten()
    tensor([3., 3., 2.])
    """
    expect_choice("aggregate", aggregate, AGGREGATES)
    if aggregate == "max":
        return max_messages(messages, graph)
    s = sum_messages(messages, graph)
    return s if aggregate == "sum" else s / arc_counts(graph)[:, None].to(s.dtype)


class ConcatMessage(nn.Module):
    """message(x_i, x_j, f_a) = ReLU([x_i  x_j  f_a] W + b): the usual one. Gilmer et al. 2017."""

    def __init__(self, inputs: int, width: int, edge_inputs: int | None = None) -> None:
        super().__init__()
        self.edge_inputs = edge_inputs
        self.dense = Dense(2 * inputs + (edge_inputs or 0), width)

    @override
    def forward(self, source: Tensor, target: Tensor, edge: Tensor | None) -> Tensor:
        parts = [source, target] if edge is None else [source, target, edge]
        return self.dense(torch.cat(parts, -1))


class ConcatUpdate(nn.Module):
    """update(x_j, s_j) = [x_j  s_j] W + b: the usual one. Gilmer et al. 2017."""

    def __init__(self, inputs: int, width: int, outputs: int) -> None:
        super().__init__()
        self.map = Linear(inputs + width, outputs)

    @override
    def forward(self, x: Tensor, heard: Tensor) -> Tensor:
        return self.map(torch.cat([x, heard], -1))


class MessagePassing(nn.Module):
    """y_j = update(x_j, ⊕ m_a) with m_a = a_ij message(x_i, x_j, f_a); ``layer(x, graph)``. Gilmer et al. 2017.

    By default a message is ReLU([x_i x_j f_a] W + b), ``width`` wide (default: outputs), and the update a linear map of
    [x_j s_j]; give modules of your own as ``message`` and ``update``. With ``edge_inputs`` messages read the features
    of edges. Taps: ``messages`` (arcs, width) in the order of ``graph.arcs``, ``heard`` (s), ``output``.
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        width: int | None = None,
        aggregate: str = "sum",
        edge_inputs: int | None = None,
        message: Message | None = None,
        update: Update | None = None,
    ) -> None:
        super().__init__()
        width = outputs if width is None else width
        expect_positive(inputs=inputs, outputs=outputs, width=width)
        expect_choice("aggregate", aggregate, AGGREGATES)
        self.inputs, self.outputs, self.aggregate = inputs, outputs, aggregate
        self.edge_inputs = edge_inputs or None
        self.message: Message = ConcatMessage(inputs, width, edge_inputs) if message is None else message
        self.update: Update = ConcatUpdate(inputs, width, outputs) if update is None else update
        self.messages, self.heard, self.output = Tap(), Tap(), Tap()

    @override
    def forward(self, x: Float[Tensor, "n i"], graph: Graph) -> Float[Tensor, "n o"]:
        expect_vertices(x, graph, self.inputs)
        x = x.to_dense() if is_sparse_rows(x) else x
        f = None
        if self.edge_inputs is None:
            refuse_edge_features(graph, "this layer", can=True)
        else:
            f = edge_features_of(graph, self.edge_inputs).to(x.dtype)[graph.arc_edges]
        m = self.message(take_sources(x, graph), take_targets(x, graph), f)
        if graph.weights is not None:
            m = m * graph.weights.to(m.dtype)[graph.arc_edges, None]
        if self.messages.live:
            m = self.messages(m)
        s = gather_messages(m, graph, self.aggregate)
        if self.heard.live:
            s = self.heard(s)
        y = self.update(x, s)
        if self.output.live:
            y = self.output(y)
        return y

    @override
    def extra_repr(self) -> str:
        return f"aggregate={self.aggregate}"
