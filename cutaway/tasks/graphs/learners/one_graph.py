r"""Learners of one graph: their network passes over it, whole or in samples, and has a vector for every vertex.

These vectors are embedded, and searched by `cutaway nearest RUN NAME`.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from cutaway.blocks.graphs.compressed_rows import take_rows
from cutaway.blocks.graphs.graph import Graph
from cutaway.data.graphs.neighbour_samples import InNeighbours, SampledGraph, sample_around
from cutaway.overriding import override
from cutaway.tasks.graphs.one_graph import OneGraph
from cutaway.tasks.graphs.outcomes import Scale
from cutaway.tasks.graphs.vertex_names import find_vertices, names_of_source
from cutaway.tasks.learner import Learner
from cutaway.tasks.words.word_rows import WordRows

_AT_ONCE = 1024  # vertices whose neighbourhoods are sampled for one pass of an evaluation


class NamedVertices(Learner):
    """A model that has a vector for every vertex of a graph, which is asked for by its name."""

    def vertex_names(self) -> Sequence[str]:
        """The names of all vertices."""
        raise ValueError(f"{type(self).__name__} must know its vertices, got none; define vertex_names")

    def vertex_vectors(self) -> Float[Tensor, "n w"]:
        """The vectors that the model has of all vertices before it answers, on the CPU."""
        raise ValueError(f"{type(self).__name__} must have vectors of vertices, got none; define vertex_vectors")

    def word_rows(self) -> WordRows:
        """The names of all vertices and their vectors, for `cutaway nearest`."""
        vectors = self.vertex_vectors()
        return WordRows(list(self.vertex_names()), vectors.numpy())

    def embed(self, inputs: Any) -> Tensor:
        """The vectors of vertices by their names; of a single name its vector."""
        vectors = self.vertex_vectors()[find_vertices(inputs, self.vertex_names())]
        return vectors[0] if isinstance(inputs, str) and len(vectors) == 1 else vectors

    def embedded_items(self, source: str, column: str = "", encoding: str = "utf-8") -> Iterator[tuple[list[str], Any]]:
        """The vertices of a file of names, or all of them, in one piece: they are computed together."""
        names = names_of_source(source, self.vertex_names(), encoding)
        yield names, names


class GraphLearner(NamedVertices):
    """A network over the graph of a task."""

    task: OneGraph
    model: Any

    @property
    def neighbours(self) -> tuple[int, ...]:
        """The most neighbours sampled at each step outwards; (): the whole graph at once."""
        return ()

    @cached_property
    def passes(self) -> "GraphPasses":
        """Passes of a network over the graph."""
        return GraphPasses(self.task.graph, self.neighbours)

    @override
    def vertex_names(self) -> Sequence[str]:
        return self.task.parts.names

    @override
    def vertex_vectors(self) -> Float[Tensor, "n w"]:
        return self.passes.outputs(self.model, self.model.embed, np.arange(self.task.graph.vertices))


class GraphPasses:
    """Passes of networks over a graph, on the device of each: whole, or over samples around some vertices.

    ``neighbours`` are the most neighbours sampled at each step outwards; (): the whole graph at once.
    """

    def __init__(self, graph: Graph, neighbours: Sequence[int] = ()) -> None:
        self.graph, self.neighbours = graph, tuple(neighbours)
        self._moved: dict[torch.device, Graph] = {}

    @cached_property
    def incoming(self) -> InNeighbours:
        """The neighbours that every vertex hears."""
        return InNeighbours(self.graph.arcs.numpy(), self.graph.vertices)

    def whole(self, model: nn.Module) -> Graph:
        """The graph on the device of a model."""
        device = device_of(model)
        if device not in self._moved:
            self._moved[device] = self.graph if device == self.graph.edges.device else self.graph.to(device)
        return self._moved[device]

    def sampled(self, model: nn.Module, sample: SampledGraph) -> Graph:
        """A sample of the graph, on the device of a model."""
        whole, arcs = self.graph, torch.from_numpy(sample.numbers)
        assert whole.x is not None
        graph = Graph(
            torch.from_numpy(sample.arcs),
            len(sample.vertices),
            weights=None if whole.arc_weights is None else whole.arc_weights[arcs],
            x=take_rows(whole.x, torch.from_numpy(sample.vertices)),
            edge_features=None if whole.edge_features is None else whole.edge_features[whole.arc_edges[arcs]],
            directed=True,
        )
        return graph.to(device_of(model))

    @torch.no_grad()
    def outputs(
        self, model: nn.Module, ask: Callable[[Graph], Tensor], rows: Int[np.ndarray, "v"]
    ) -> Float[Tensor, "v c"]:
        """Outputs of ``ask``, the model or a method of it, for some vertices, on the CPU."""
        if not self.neighbours:
            return ask(self.whole(model)).float().cpu()[torch.from_numpy(rows)]
        parts = []
        for number, first in enumerate(range(0, len(rows), _AT_ONCE)):
            some = rows[first : first + _AT_ONCE]
            sample = sample_around(self.incoming, some, self.neighbours, 0, number)
            parts.append(ask(self.sampled(model, sample))[: len(some)].float().cpu())
        return torch.cat(parts) if parts else torch.empty(0, 0)


def in_own_unit(outputs: Float[Tensor, "v c"], scale: Scale | None) -> Float[Tensor, "v c"]:
    """Values as people know them; logits of classes stay as they are."""
    return outputs if scale is None else outputs * scale.std + scale.mean


def device_of(model: nn.Module) -> torch.device:
    """Where the parameters of a model are."""
    return next(model.parameters()).device
