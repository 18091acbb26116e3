r"""Graphs as sequences of rows, in breadth-first orders that are drawn anew for every batch.

A graph is learned in many orders, so that the model draws it in any of them; what is evaluated has fixed ones. Loops,
weights, and edges that are given twice have no place in a row: see `plain_graphs`.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from cutaway.blocks.graphs.breadth_first import adjacency_rows, breadth_first_order, order_bandwidth
from cutaway.blocks.graphs.graph import Graph
from cutaway.data.batches import Batches, ShuffledRows
from cutaway.data.graphs.graph_set import GraphRows
from cutaway.data.seeded_draws import draw_permutation
from cutaway.overriding import override

_TRIED = 10  # orders of a graph that the bandwidth is found by
_SOUGHT = 50  # orders among which one that fits is looked for
_TOGETHER = 64  # graphs in one pass, where no gradients are needed


class GraphSequences(NamedTuple):
    """Rows of several graphs, padded at the end, and how many vertices each has."""

    rows: Float[Tensor, "b n m"]
    sizes: Int[Tensor, "b"]


def expect_undirected(graphs: Sequence[Graph], names: Sequence[str]) -> None:
    """Rows have no place for a direction."""
    for name, graph in zip(names, graphs, strict=True):
        if graph.directed:
            raise ValueError(
                f"graphs to learn from must be undirected, got {name!r}, which is directed; make it undirected first, "
                "as networkx does: graph.to_undirected()"
            )


def plain_graphs(rows: GraphRows, largest: int) -> tuple[list[Graph], list[str]]:
    """Simple undirected graphs without features, and what was left out of them."""
    expect_undirected(rows.graphs, rows.names)
    kept = [graph for graph in rows.graphs if 1 <= graph.vertices <= largest]
    notes, more = [], sum(graph.vertices > largest for graph in rows.graphs)
    if more:
        notes.append(f"{more:,} of {len(rows):,} graphs have more than {largest} vertices (largest): left out")
    if loops := sum(graph.loops for graph in kept):
        notes.append(f"{loops:,} self-loops: left out")
    plain = []
    for graph in kept:
        low, high = graph.without_absent().without_loops().edges.sort(0).values
        once = (low * graph.vertices + high).unique()
        plain.append(Graph(torch.stack([once // graph.vertices, once % graph.vertices]), graph.vertices))
    return plain, notes


def draw_order(graph: Graph, seed: int, number: int) -> Int[Tensor, "n"]:
    """A breadth-first order from a vertex drawn at random."""
    return breadth_first_order(graph, torch.from_numpy(draw_permutation(seed, "orders", number, graph.vertices)))


def fitting_bandwidth(graphs: Sequence[Graph], seed: int = 0) -> int:
    """So many vertices back that half of the breadth-first orders of the widest graph fit; of others nearly all do."""
    widths = [[order_bandwidth(g, draw_order(g, seed, i)) for i in range(_TRIED)] for g in graphs]
    return max(1, int(max(np.median(own) for own in widths)))


def narrow_order(graph: Graph, bandwidth: int, seed: int = 0, first: int = 0) -> Int[Tensor, "n"] | None:
    """The first of some random orders in which no edge reaches further back than the bandwidth; None: there is none."""
    for number in range(first, first + _SOUGHT):
        order = draw_order(graph, seed, number)
        if order_bandwidth(graph, order) <= bandwidth:
            return order
    return None


def as_sequences(graphs: Sequence[Graph], orders: Sequence[Tensor], bandwidth: int) -> GraphSequences:
    """The rows of graphs in these orders, side by side."""
    rows = [adjacency_rows(g, order, bandwidth).float() for g, order in zip(graphs, orders, strict=True)]
    sizes = torch.tensor([g.vertices for g in graphs])
    return GraphSequences(torch.nn.utils.rnn.pad_sequence(rows, batch_first=True), sizes)


class SequenceBatches(Batches[GraphSequences]):
    """Every graph once in each epoch, each time in another breadth-first order."""

    def __init__(
        self, graphs: Sequence[Graph], bandwidth: int, batch: int, seed: int = 0, rank: int = 0, world: int = 1
    ) -> None:
        super().__init__(batch, seed, rank, world)
        self.graphs, self.bandwidth = graphs, bandwidth
        self._order = ShuffledRows(len(graphs), batch, seed, rank, world)
        fixed = [narrow_order(graph, bandwidth, seed) for graph in graphs]
        self._fixed = [order for order in fixed if order is not None]
        assert len(self._fixed) == len(graphs)  # those that fit no order are left out before

    @override
    def at(self, step: int) -> GraphSequences:
        chosen = self._order.at(step).tolist()
        first = step * self.batch + self.rank * (self.batch // self.world)
        orders = []
        for place, g in enumerate(chosen):  # an order that is too wide gives way to one that is known to fit
            order = draw_order(self.graphs[g], self.seed, _SOUGHT + first + place)
            fits = order_bandwidth(self.graphs[g], order) <= self.bandwidth
            orders.append(order if fits else self._fixed[g])
        return as_sequences([self.graphs[g] for g in chosen], orders, self.bandwidth)


def fixed_sequences(graphs: Sequence[Graph], bandwidth: int, orders: int = 4) -> list[GraphSequences]:
    """Batches for evaluation: every graph in ``orders`` orders that fit, the same each time; graphs of a size together.

    A graph that fits in no order is left out: it has probability 0.
    """
    pairs: list[tuple[Graph, Tensor]] = []
    for graph in graphs:
        found = [narrow_order(graph, bandwidth, 0, _SOUGHT * i) for i in range(orders)]
        pairs += [(graph, order) for order in found if order is not None]
    pairs.sort(key=lambda pair: pair[0].vertices)
    parts = (pairs[first : first + _TOGETHER] for first in range(0, len(pairs), _TOGETHER))
    return [as_sequences([g for g, _ in part], [order for _, order in part], bandwidth) for part in parts]
