r"""`GraphRNN` draws graphs vertex by vertex, in breadth-first order, and says how likely a graph is.

    h_i = GRU(h_{i−1}, s_i W + b)                          what is known after i vertices; s_1 = 0
    P(one more vertex) = σ(h_i · w + c)
    P(s_{i+1,k} = 1) = σ(f(h_i)_k)                         edges "independent": f is a network with a hidden layer
    P(s_{i+1,k} = 1 | s_{i+1,<k}) = σ(g_k · v + d)         edges "recurrent": g, a small GRU over the row, begins at h_i
    log p(s) = Σ_i log P(one more) + Σ_i Σ_k log P(s_ik) + log(1 − P(one more after the last))

A row s_i says which of the M vertices before vertex i it joins (blocks/graphs/breadth_first.py). log p is exact, of the
graph together with the order of its vertices. You et al. 2018, "GraphRNN", eq. 4–6 (recurrent) and GraphRNN-S
(independent); they end at the first empty row, here the end is a draw of its own, so that components can follow one
another. Axis letters: docs/notation.md.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor
from torch.nn.functional import logsigmoid

from cutaway.blocks.checks import expect_choice, expect_positive, expect_probability
from cutaway.blocks.dense.affine import Dense, Linear
from cutaway.blocks.recurrence.gru import GRU
from cutaway.blocks.recurrence.states import GRUState
from cutaway.inside.taps import Tap
from cutaway.models.base import Model, choose_spec
from cutaway.models.specs.plain_data import NamedSpec
from cutaway.models.transformers.construction import drop
from cutaway.overriding import override

EDGES = ("independent", "recurrent")


@dataclass(frozen=True)
class GraphRNNSpec(NamedSpec):
    """How far back edges reach, and the two recurrent nets."""

    model: ClassVar[str] = "GraphRNN"

    bandwidth: int  # M, how many vertices back an edge may reach
    width: int = 128  # of the state over vertices
    depth: int = 1
    edges: str = "recurrent"  # independent | recurrent
    edge_width: int = 16  # of the state over the edges of a vertex
    dropout: float = 0.0  # of what is read from the state
    largest: int = 100  # vertices of a drawn graph, at most

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        sizes = dict(bandwidth=self.bandwidth, width=self.width, depth=self.depth)
        expect_positive(**sizes, edge_width=self.edge_width, largest=self.largest)
        expect_choice("edges", self.edges, EDGES)
        expect_probability(dropout=self.dropout)

    @override
    def layers_and_width(self) -> tuple[int, int]:
        return self.depth, self.width


class RowLogits(NamedTuple):
    """Before each vertex: the logit that it comes, and of its edges to the vertices before it."""

    more: Float[Tensor, "b n"]  # after vertex i, of one more
    edges: Float[Tensor, "b n m"]  # of the row of vertex i; nothing for the first


class GraphRNN(Model):
    """log p (b,) = GraphRNN(rows, sizes), of graphs that are given as their rows, padded at the end.

    Taps: ``states`` (b, n, width), ``more`` (b, n) and ``edges`` (b, n, bandwidth), logits; and those of the two
    recurrent nets. ``sample`` draws new rows.
    """

    kind: ClassVar[type[NamedSpec]] = GraphRNNSpec
    recurrent_layers: ClassVar[dict[str, str]] = {"recurrence": "tokens"}
    spec: GraphRNNSpec

    def __init__(self, spec: GraphRNNSpec | None = None, **sizes: Any) -> None:
        super().__init__(choose_spec(spec, sizes, GraphRNNSpec))
        spec = self.spec
        self.enter = Linear(spec.bandwidth, spec.width)
        self.recurrence = GRU(spec.width, spec.width, spec.depth, dropout=spec.dropout)
        self.read_more = Linear(spec.width, 1)
        if spec.edges == "recurrent":
            self.begin_row = Dense(spec.width, spec.edge_width, torch.tanh)
            self.row_recurrence = GRU(2, spec.edge_width)
            self.read_edge = Linear(spec.edge_width, 1)
        else:
            self.hidden = Dense(spec.width, spec.width, torch.relu)
            self.read_row = Linear(spec.width, spec.bandwidth)
        self.states, self.more, self.edges = Tap(), Tap(), Tap()

    @override
    def forward(self, rows: Float[Tensor, "b n m"], sizes: Int[Tensor, "b"]) -> Float[Tensor, "b"]:
        """log p of each graph of so many vertices (``sizes``), with its order; whatever stands after its rows."""
        n, m = rows.shape[1:]
        logits = self.logits(rows, sizes)
        i, k = torch.arange(n, device=rows.device), torch.arange(m, device=rows.device)
        last = i == sizes[:, None] - 1
        log_more = torch.where(last, logsigmoid(-logits.more), logsigmoid(logits.more))
        log_edges = torch.where(rows > 0.5, logsigmoid(logits.edges), logsigmoid(-logits.edges))
        real = i < sizes[:, None]
        there = real[..., None] & (k < i[:, None])  # k-th vertex before the i-th
        return (log_more * real).sum(1) + (log_edges * there).sum((1, 2))

    def logits(self, rows: Float[Tensor, "b n m"], sizes: Int[Tensor, "b"]) -> RowLogits:
        """The logits of every draw, each given all draws before it."""
        h, _ = self.recurrence(self.enter(rows), lengths=sizes)
        h = drop(h, self.spec.dropout, self.training)
        if self.states.live:
            h = self.states(h)
        more = self.read_more(h)[..., 0]
        before = torch.cat([torch.zeros_like(h[:, :1]), h[:, :-1]], 1)  # row i is drawn from h_{i−1}
        edges = self._row_logits(before, rows)
        if self.more.live:
            more = self.more(more)
        if self.edges.live:
            edges = self.edges(edges)
        return RowLogits(more, edges)

    def _row_logits(self, h: Float[Tensor, "*b w"], rows: Float[Tensor, "*b m"]) -> Float[Tensor, "*b m"]:
        if self.spec.edges == "independent":
            return self.read_row(self.hidden(h))
        first = torch.zeros_like(rows)
        first[..., 0] = 1.0
        earlier = torch.cat([torch.zeros_like(rows[..., :1]), rows[..., :-1]], -1)
        start = GRUState(self.begin_row(h)[..., None, None, :])
        g, _ = self.row_recurrence(torch.stack([earlier, first], -1), start)
        return self.read_edge(g)[..., 0]

    @torch.no_grad()
    def sample(self, count: int, generator: Generator | None = None, largest: int = 0) -> list[Bool[Tensor, "n m"]]:
        """The rows of ``count`` new graphs of at most ``largest`` vertices (by default the spec's), where they end."""
        most = largest or self.spec.largest
        row = torch.zeros(count, self.spec.bandwidth, device=self.device, dtype=self.enter.weight.dtype)
        rows, state, growing = [row.bool().cpu()], None, torch.ones(count, dtype=torch.bool)
        sizes = torch.ones(count, dtype=torch.int64)
        for i in range(1, most):
            h, state = self.recurrence.step(self.enter(row), state)
            growing &= _draw(self.read_more(h)[:, 0], generator)
            if not growing.any():
                break
            sizes += growing
            row = self._draw_row(h, min(i, self.spec.bandwidth), generator)
            rows.append(row.bool().cpu())
        whole = torch.stack(rows, 1)
        return [whole[g, :size] for g, size in enumerate(sizes.tolist())]

    def _draw_row(self, h: Float[Tensor, "b w"], there: int, generator: Generator | None) -> Float[Tensor, "b m"]:
        """Edges to the ``there`` vertices before, one after another or all at once."""
        row = h.new_zeros(len(h), self.spec.bandwidth)
        if self.spec.edges == "independent":
            row[:, :there] = _draw(self.read_row(self.hidden(h))[:, :there], generator).to(row)
            return row
        state = GRUState(self.begin_row(h)[:, None, None])
        x = h.new_tensor([0.0, 1.0]).expand(len(h), 2)  # the edge before, and whether there is none
        for k in range(there):
            g, state = self.row_recurrence.step(x, state)
            row[:, k] = _draw(self.read_edge(g)[:, 0], generator).to(row)
            x = torch.stack([row[:, k], torch.zeros_like(row[:, k])], 1)
        return row


def _draw(logits: Tensor, generator: Generator | None) -> Bool[Tensor, "..."]:
    """True with probability σ(logit), on the CPU, where draws are the same on every device."""
    return torch.rand(logits.shape, generator=generator) < logits.float().sigmoid().cpu()


__all__ = ["EDGES", "GraphRNN", "GraphRNNSpec", "RowLogits"]
