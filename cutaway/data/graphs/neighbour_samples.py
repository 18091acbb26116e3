r"""Mini-batches of a graph too large to pass through whole: some vertices, and a sample of what is around them.

    V₀ = the vertices asked for
    V_s = V_{s−1} ∪ at most k_s in-neighbours of each vertex that V_{s−1} added, drawn without replacement

A model with S layers sees S steps of neighbours, so memory is bounded by |V₀| (1 + k₁ + k₁k₂ + …), whatever the size
of the graph. Hamilton et al. 2017 (GraphSAGE). As in PyTorch Geometric's loader, all layers pass over one sampled
graph; only the first |V₀| rows of what comes out are meant.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Int, Integer

from cutaway.data.batches import Batches, ShuffledRows
from cutaway.data.seeded_draws import draw_uniform
from cutaway.overriding import override


class SampledGraph(NamedTuple):
    """``vertices`` of the whole graph, those asked for first, and ``arcs`` between their places in that list."""

    vertices: Int[np.ndarray, "n"]
    arcs: Int[np.ndarray, "2 m"]  # sources, then targets
    numbers: Int[np.ndarray, "m"]  # of these arcs in the whole graph
    asked: int  # how many vertices were asked for


class InNeighbours:
    """The in-neighbours of every vertex, side by side: those of v are sources[starts[v]:starts[v + 1]]."""

    def __init__(self, arcs: Integer[np.ndarray, "2 m"], vertices: int) -> None:
        self.arcs = np.argsort(arcs[1], kind="stable")  # their numbers, by target
        self.sources = arcs[0][self.arcs]
        self.starts = np.zeros(vertices + 1, np.int64)
        np.cumsum(np.bincount(arcs[1], minlength=vertices), out=self.starts[1:])

    def sample(
        self, vertices: Int[np.ndarray, "n"], most: int, seed: int, number: int
    ) -> tuple[Int[np.ndarray, "k"], Int[np.ndarray, "k"]]:
        """At most ``most`` in-neighbours of each vertex: for each its place in ``vertices``, and in ``sources``.

        Drawn as a function of the seed and the number. Without replacement by Floyd's algorithm (Bentley, Floyd 1987),
        for all vertices at once: the j-th draw is from the first d − k + j, or the last of them if it came before.
        """
        degrees = self.starts[vertices + 1] - self.starts[vertices]
        few, many = np.flatnonzero(degrees <= most), np.flatnonzero(degrees > most)
        places = np.repeat(few, degrees[few])
        ends = np.cumsum(degrees[few])
        offsets = np.arange(len(places)) - np.repeat(ends - degrees[few], degrees[few])
        uniform = draw_uniform(seed, "sampled", number, len(many) * most).reshape(len(many), most)
        drawn = np.empty((len(many), most), np.int64)
        for j in range(most):
            last = degrees[many] - most + j
            pick = (uniform[:, j] * (last + 1)).astype(np.int64)
            again = (drawn[:, :j] == pick[:, None]).any(1)
            drawn[:, j] = np.where(again, last, pick)
        places = np.concatenate([places, np.repeat(many, most)])
        offsets = np.concatenate([offsets, drawn.reshape(-1)])
        return places, self.starts[vertices[places]] + offsets


def sample_around(
    neighbours: InNeighbours, asked: Int[np.ndarray, "n"], counts: tuple[int, ...], seed: int, number: int
) -> SampledGraph:
    """The vertices asked for (each once) and, step by step outwards, a sample of their in-neighbours."""
    vertices, frontier, first = asked.astype(np.int64), asked.astype(np.int64), 0
    entries, targets = [], []
    for step, most in enumerate(counts):
        places, found = neighbours.sample(frontier, most, seed, number * len(counts) + step)
        new = np.setdiff1d(neighbours.sources[found], vertices)
        targets.append(first + places)
        first = len(vertices)
        vertices = np.concatenate([vertices, new])
        entries.append(found)
        frontier = new
    order = np.argsort(vertices)
    taken = np.concatenate([*entries, np.empty(0, np.int64)])
    local = order[np.searchsorted(vertices, neighbours.sources[taken], sorter=order)]
    arcs = np.stack([local, np.concatenate([*targets, np.empty(0, np.int64)])])
    return SampledGraph(vertices, arcs, neighbours.arcs[taken], len(asked))


class NeighbourBatches(Batches[SampledGraph]):
    """Shuffled batches of the ``rows`` (vertices with a target), each with a sample of its neighbourhood."""

    def __init__(
        self,
        neighbours: InNeighbours,
        rows: Int[np.ndarray, "n"],
        counts: tuple[int, ...],
        batch: int,
        seed: int = 0,
        rank: int = 0,
        world: int = 1,
    ) -> None:
        super().__init__(batch, seed, rank, world)
        self.neighbours, self.rows, self.counts = neighbours, rows, counts
        self._order = ShuffledRows(len(rows), batch, seed, rank, world)

    @override
    def at(self, step: int) -> SampledGraph:
        asked = np.unique(self.rows[self._order.at(step)])  # a row may end one epoch and begin the next
        return sample_around(self.neighbours, asked, self.counts, self.seed, step * self.world + self.rank)


__all__ = ["InNeighbours", "NeighbourBatches", "SampledGraph", "sample_around"]
