r"""The learner of the recipe `masked-graph`: an encoder of graphs restores what is hidden of them.

    cost = the loss of hidden vertices + the loss of hidden edges        (`restoration.py`)

Of one graph, every vertex has a vector by its name; of many, a graph has the mean of its vertices' vectors.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.graph_layers.readouts import readout_mean
from cutaway.blocks.graphs.graph import Graph
from cutaway.data.batches import Batches
from cutaway.data.graphs.graph_set import GraphRows
from cutaway.overriding import override
from cutaway.tasks.graphs.edge_inputs import edges_in_words
from cutaway.tasks.graphs.learners.one_graph import NamedVertices
from cutaway.tasks.graphs.masked import RestoredGraphs
from cutaway.tasks.graphs.masking.parts import with_ones
from cutaway.tasks.graphs.masking.restoration import HiddenParts
from cutaway.tasks.graphs.vertex_features import embedded_vertices
from cutaway.tasks.graphs.vertex_names import find_vertices, read_names
from cutaway.tasks.graphs.whole_graphs import read_new_graphs
from cutaway.tasks.subjects import Subject
from cutaway.training.jobs import Job

_SHOWN = 12  # graphs that a page looks at
_PIECE = 256  # graphs in a pass
_TOGETHER = 64  # vertices of one graph hidden in one pass, at most a twentieth of them


class GraphRestorer(NamedVertices):
    """An encoder of graphs, with the decoder that restores features and the scorer of pairs."""

    task: RestoredGraphs
    model: Any

    @override
    def batches(self, rank: int, world: int) -> Batches[HiddenParts]:
        return self.task.parts.batches(rank, world)

    @override
    def cost(self, model: nn.Module, batch: HiddenParts) -> Tensor:
        return self.task.parts.restoration.cost(model, batch)

    @override
    def evaluate(self, model: nn.Module) -> dict[str, float]:
        held = self.task.held
        return {} if held is None else self.task.parts.restoration.metrics(model, held)

    @override
    def facts(self) -> dict[str, Any]:
        parts, spec = self.task.parts, self.model.spec
        names = parts.data.edge_feature_names
        return {"summary": parts.summary() + edges_in_words(spec.to_dict(), spec.layer, parts.some_graphs(), names)}

    @override
    def job(self, rank: int = 0, world: int = 1) -> Job:
        job = super().job(rank, world)
        job.units, job.unit = self.task.parts.units, self.task.parts.unit
        return job

    # Hidden vertices.

    def read_inputs(self, source: str) -> Any:
        """What `cutaway predict` is given: names of vertices, or a file of them; of many graphs, graphs."""
        return source if self.task.many else read_names(source, self.settings.encoding)

    def outputs(self, rows: Any) -> Float[Tensor, "h i"]:
        """The restored features of some vertices of the graph, or of every vertex of new graphs."""
        if not self.task.many:
            return restore_each(self.model, self.task.parts.graph, rows)  # type: ignore[attr-defined]
        for graph in rows.graphs:
            self._expect_features(graph)
        return torch.cat([restore_each(self.model, graph, range(graph.vertices)) for graph in rows.graphs])

    def _expect_features(self, graph: Graph) -> None:
        inputs = self.model.spec.inputs
        width = 0 if graph.x is None else graph.x.shape[1]
        if width != inputs:
            raise ValueError(
                f"graphs must have the {inputs} features of training, got {width}; give graphs of the same kind"
            )

    # Vectors.

    @override
    def vertex_names(self) -> Sequence[str]:
        return self.task.parts.data.names

    @override
    def vertex_vectors(self) -> Float[Tensor, "n w"]:
        if self.task.many:
            raise ValueError(
                f"a run of {self.settings.name!r} cannot embed vertices by their names, as it is of many graphs; "
                "`cutaway list recipes` tells what each can do"
            )
        parts: Any = self.task.parts
        return embedded_vertices(self.model, parts.graph)

    @override
    def embed(self, inputs: Any) -> Tensor:
        """A vector for each vertex that is named (of a single name its own); of many graphs, for each new graph."""
        if self.task.many:
            rows: Any = inputs if isinstance(inputs, GraphRows) else self.task.inputs(inputs)
            return mean_vectors(self.model, rows.graphs)
        return super().embed(inputs)

    @override
    def embedded_items(self, source: str, column: str = "", encoding: str = "utf-8") -> Iterator[tuple[list[str], Any]]:
        """The vertices of a file of names, or all of them; of many graphs, those of a file: in one piece."""
        if self.task.many:
            rows = with_ones(read_new_graphs(source, encoding, self.task.features))
            yield [str(name) for name in rows.names], rows
            return
        yield from super().embedded_items(source, column, encoding)

    @override
    def subject(self, given: str | None = None) -> Subject:
        """The graph, or some graphs that it was not trained on; nothing is hidden of them."""
        parts: Any = self.task.parts
        device = next(self.model.parameters()).device
        if not self.task.many:
            vertices = () if given is None else tuple(int(i) for i in find_vertices(given, parts.data.names))
            return Subject((parts.graph.to(device),), "the graph that it was trained on", vertices=vertices)
        rows: Any
        if given is not None:
            rows, words = self.task.inputs(given), "your graphs"
        else:
            held = parts.data.validation
            rows = parts.data.train if held is None else held
            words = f"graphs that it was {'not ' * (held is not None)}trained on"
        some = with_ones(rows.take(range(min(_SHOWN, len(rows)))))
        return Subject((Graph.batch(list(some.graphs)).to(device),), words, some.names, ", ".join(some.names))


@torch.no_grad()
def restore_each(model: Any, graph: Graph, rows: Any) -> Float[Tensor, "h i"]:
    """The restored features of some vertices, few of them hidden at a time, so that neighbours are seen."""
    device = next(model.parameters()).device
    graph = graph.to(device)
    together = max(1, min(_TOGETHER, graph.vertices // 20))
    parts = []
    for first in range(0, len(rows), together):
        some = torch.as_tensor(np.asarray(rows[first : first + together]), device=device)
        hidden = torch.zeros(graph.vertices, dtype=torch.bool, device=device)
        hidden[some] = True
        parts.append(model(graph, hidden)[some].float().cpu())
    return torch.cat(parts)


@torch.no_grad()
def mean_vectors(model: Any, graphs: Sequence[Graph]) -> Float[Tensor, "n w"]:
    """The mean of the states of each graph's vertices."""
    device, parts = next(model.parameters()).device, []
    for first in range(0, len(graphs), _PIECE):
        graph = Graph.batch(list(graphs[first : first + _PIECE])).to(device)
        parts.append(readout_mean(model.encode(graph), graph).float().cpu())
    return torch.cat(parts)
