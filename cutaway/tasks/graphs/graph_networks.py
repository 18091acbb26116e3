r"""The learner of the recipe `gin`: a network that reads whole graphs.

    cost = mean over graphs of −log softmax(model(graph))_y,  or of (model(graph) − (y − mean) / std)²

A batch of graphs is one graph whose parts have no edge between them.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.graphs.graph import Graph
from cutaway.data.batches import Batches, ShuffledRows
from cutaway.data.graphs.graph_set import GraphRows
from cutaway.overriding import override
from cutaway.tasks.graphs.edge_inputs import edges_in_words
from cutaway.tasks.graphs.outcomes import Scale, outcome_loss
from cutaway.tasks.graphs.whole_graphs import WholeGraphs
from cutaway.tasks.learner import Learner
from cutaway.tasks.subjects import Subject
from cutaway.training.jobs import Job

_VERTICES = 20_000  # of graphs that are evaluated at once, about
_SHOWN = 12  # graphs that a page looks at
_EMBEDDED = 512  # graphs whose vectors are written at a time


class GraphNetwork(Learner):
    """A model that gives a graph a class or a value."""

    unit = "graphs"
    task: WholeGraphs
    model: Any

    @property
    def batch(self) -> int:
        """Graphs in a batch; fewer are taken whole."""
        return min(self.settings.batch, len(self.task.parts.train))

    @override
    def batches(self, rank: int, world: int) -> Batches[Any]:
        return GraphBatches(self.task.parts.train, self.batch, self.settings.seed, rank, world)

    @override
    def cost(self, model: nn.Module, batch: Any) -> Tensor:
        return outcome_cost(model, batch, self.task.scale)

    @override
    def evaluate(self, model: nn.Module) -> dict[str, float]:
        rows = self.task.parts.validation
        if rows is None:
            return {}
        return self.task.metrics(outcome_outputs(model, rows.graphs, self.task.scale), rows)

    @override
    def facts(self) -> dict[str, Any]:
        parts, spec = self.task.parts, self.model.spec
        words = edges_in_words(spec.to_dict(), spec.layer, parts.train.graphs, parts.edge_feature_names)
        return {"summary": parts.summary() + words}

    @override
    def job(self, rank: int = 0, world: int = 1) -> Job:
        job = super().job(rank, world)
        job.units = self.batch
        return job

    def outputs(self, rows: GraphRows) -> Float[Tensor, "n o"]:
        """Logits, or values in their own unit."""
        return outcome_outputs(self.model, rows.graphs, self.task.scale)

    def embed(self, inputs: Any) -> Float[Tensor, "n w"]:
        """A vector for each graph: what the model knows of it before it answers."""
        rows = inputs if isinstance(inputs, GraphRows) else self.task.inputs(inputs)
        return graph_vectors(self.model, rows.graphs)

    def embedded_items(
        self, source: str, column: str = "", encoding: str = "utf-8"
    ) -> Iterator[tuple[list[str], GraphRows]]:
        """The graphs of a file or folder (a SMILES, or a table of them), some hundred at a time."""
        rows = self.task.inputs(source)
        for first in range(0, len(rows), _EMBEDDED):
            some = rows.take(range(first, min(first + _EMBEDDED, len(rows))))
            yield [str(name) for name in some.names], some

    @override
    def subject(self, given: str | None = None) -> Subject:
        """Graphs of a path or a SMILES; without one, some that it was not trained on."""
        if given is not None:
            rows, words = self.task.inputs(given), "your graphs"
        else:
            rows = self.task.held_out()
            words = f"graphs that it was {'not ' * (self.task.parts.validation is not None)}trained on"
        some = rows.take(range(min(_SHOWN, len(rows))))
        return Subject((batch_of(self.model, some.graphs),), words, some.names, ", ".join(some.names))


class GraphBatches(Batches[GraphRows]):
    """Every training graph once in each epoch."""

    def __init__(self, rows: GraphRows, batch: int, seed: int = 0, rank: int = 0, world: int = 1) -> None:
        super().__init__(batch, seed, rank, world)
        self.rows = rows
        self._order = ShuffledRows(len(rows), batch, seed, rank, world)

    @override
    def at(self, step: int) -> GraphRows:
        return self.rows.take(self._order.at(step))


def batch_of(model: nn.Module, graphs: Sequence[Graph]) -> Graph:
    """Some graphs as one, on the model's device; without features, every vertex has a 1."""
    whole = Graph.batch(list(graphs))
    if whole.x is None:
        whole = whole.with_x(torch.ones(whole.vertices, 1))
    return whole.to(next(model.parameters()).device)


def outcome_cost(model: nn.Module, rows: GraphRows, scale: Scale | None = None) -> Tensor:
    """The mean loss of a batch of graphs; with a ``scale`` of values, else of classes."""
    assert rows.targets is not None
    outputs = model(batch_of(model, rows.graphs))
    return outcome_loss(outputs, rows.targets.to(outputs.device), scale)


@torch.no_grad()
def outcome_outputs(model: nn.Module, graphs: Sequence[Graph], scale: Scale | None = None) -> Float[Tensor, "n o"]:
    """Logits, or values in their own unit, on the CPU; of any number of graphs."""
    outputs = _of_many(model, model, graphs)
    return outputs if scale is None else outputs * scale.std + scale.mean


@torch.no_grad()
def graph_vectors(model: Any, graphs: Sequence[Graph]) -> Float[Tensor, "n w"]:
    """The vectors that a model has of graphs before it answers, on the CPU; of any number of them."""
    return _of_many(model, model.embed, graphs)


def _of_many(model: nn.Module, compute: Callable[[Graph], Tensor], graphs: Sequence[Graph]) -> Float[Tensor, "n o"]:
    """What ``compute``, a model or a method of it, gives for graphs, some thousand vertices at a time."""
    whole = np.cumsum([graph.vertices for graph in graphs])
    ends = [*(np.flatnonzero(np.diff(whole // _VERTICES)) + 1).tolist(), len(graphs)]
    parts = [graphs[first:last] for first, last in zip([0, *ends[:-1]], ends, strict=True)]
    return torch.cat([compute(batch_of(model, part)).float().cpu() for part in parts])
