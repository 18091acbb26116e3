r"""What one reaches without a network: graphs whose edges know nothing of one another.

    Erdős–Rényi       P(edge) = edges of training / pairs of vertices of training, for every pair
    distance alone    P(s_ik = 1) = how often in training, by how far back k the other vertex is in breadth-first order
    P(n) = (count(n) + γ_n) / (N + 1)        size: as in training; all others once, γ_n = q (1 − q)^(n−1), 1/q the mean

Erdős, Rényi 1959; Gilbert 1959 (each edge by itself). Both give log p of a graph with an order of its vertices, as the
network does. To Erdős–Rényi every order is alike; what the breadth-first order alone is worth, the second rule shows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor

from cutaway.blocks.graphs.breadth_first import adjacency_rows, graph_of_rows
from cutaway.blocks.graphs.graph import Graph
from cutaway.tasks.graphs.generation.sequences import GraphSequences, draw_order


@dataclass(frozen=True, eq=False)
class RowRule:
    """Edges by themselves: ``chances`` (largest − 1,) by how far back the other vertex is, and sizes as in training."""

    chances: Float[Tensor, "m"]
    counts: Int[Tensor, "s"]  # of training graphs, by their size

    def log_probability(self, sequences: GraphSequences) -> Float[Tensor, "b"]:
        """log p of graphs with their orders."""
        rows, sizes = sequences
        n, m = rows.shape[1], len(self.chances)
        p = torch.cat([self.chances, self.chances[-1:].expand(max(0, n - 1 - m))])[: n - 1].double()
        edges = torch.zeros(len(rows), n, n - 1, dtype=torch.bool)
        edges[..., : rows.shape[2]] = rows[..., : n - 1] > 0.5
        i, k = torch.arange(n), torch.arange(n - 1)
        there = (i < sizes[:, None])[..., None] & (k < i[:, None])
        each = torch.where(edges, p.log(), (-p).log1p())
        return (each * there).sum((1, 2)) + self.log_size(sizes)

    def log_size(self, sizes: Int[Tensor, "b"]) -> Float[Tensor, "b"]:
        """log P(n)."""
        total, seen = int(self.counts.sum()), torch.arange(len(self.counts))
        q = total / float((self.counts * seen).sum())
        count = torch.where(sizes < len(self.counts), self.counts[sizes.clamp(max=len(self.counts) - 1)], 0)
        return ((count + q * (1 - q) ** (sizes.double() - 1)) / (total + 1)).log()

    def sample(self, count: int, generator: Generator) -> list[Graph]:
        """New graphs, of sizes as in training."""
        sizes = torch.multinomial(self.counts.double(), count, replacement=True, generator=generator)
        made = []
        for n in sizes.tolist():
            k = torch.arange(max(n - 1, 1))
            rows = torch.rand(n, len(k), generator=generator) < self.chances[: len(k)]
            made.append(graph_of_rows(rows & (k < torch.arange(n)[:, None])))
        return made


def erdos_renyi(graphs: Sequence[Graph]) -> RowRule:
    """The same chance for every pair of vertices."""
    edges = sum(graph.edges.shape[1] for graph in graphs)
    pairs = sum(graph.vertices * (graph.vertices - 1) // 2 for graph in graphs)
    return RowRule(torch.full((_largest(graphs),), _inside(edges, pairs)), _sizes(graphs))


def by_distance(graphs: Sequence[Graph]) -> RowRule:
    """A chance for each distance in breadth-first order, from one order of every training graph."""
    most = _largest(graphs)
    edges, pairs = np.zeros(most), np.zeros(most)
    for number, graph in enumerate(graphs):
        n = graph.vertices
        rows = adjacency_rows(graph, draw_order(graph, 0, number), most)
        edges += rows.sum(0).numpy()
        pairs += np.maximum(n - 1 - np.arange(most), 0)
    return RowRule(torch.tensor([_inside(e, p) for e, p in zip(edges, pairs)]), _sizes(graphs))


def _inside(edges: float, pairs: float) -> float:
    """A chance that is neither 0 nor 1: half an edge more, and half an edge less."""
    return (edges + 0.5) / (pairs + 1.0)


def _largest(graphs: Sequence[Graph]) -> int:
    return max(1, max(graph.vertices for graph in graphs) - 1)


def _sizes(graphs: Sequence[Graph]) -> Int[Tensor, "s"]:
    return torch.bincount(torch.tensor([graph.vertices for graph in graphs]))
