r"""Classes or values of whole graphs: batches, the cost of a step, metrics and predictions.

    classes    cost = mean over graphs of −log softmax(model(graph))_y
    values     cost = mean over graphs of (model(graph) − (y − mean) / std)²        mean, std: of the training graphs

A batch of graphs is one graph whose parts have no edge between them.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.graphs.graph import Graph
from cutaway.data.batches import Batches, ShuffledRows
from cutaway.data.graphs.graph_set import GraphRows
from cutaway.tasks.graphs.outcomes import Scale, outcome_loss

_VERTICES = 20_000  # of graphs that are evaluated at once, about


class GraphBatches(Batches[GraphRows]):
    """Every training graph once in each epoch."""

    def __init__(self, rows: GraphRows, batch: int, seed: int = 0, rank: int = 0, world: int = 1) -> None:
        super().__init__(batch, seed, rank, world)
        self.rows = rows
        self._order = ShuffledRows(len(rows), batch, seed, rank, world)

    def at(self, step: int) -> GraphRows:
        return self.rows.take(self._order.at(step))


def outcome_cost(model: nn.Module, rows: GraphRows, scale: Scale | None = None) -> Tensor:
    """The mean loss of a batch of graphs; with a ``scale`` of values, else of classes."""
    assert rows.targets is not None
    outputs = model(batch_of(model, rows.graphs))
    return outcome_loss(outputs, rows.targets.to(outputs.device), scale)


@torch.no_grad()
def outcome_outputs(model: nn.Module, graphs: Sequence[Graph], scale: Scale | None = None) -> Float[Tensor, "n o"]:
    """Logits, or values in their own unit, on the CPU; of any number of graphs."""
    found = _of_many(model, model, graphs)
    return found if scale is None else found * scale.std + scale.mean


@torch.no_grad()
def graph_vectors(model: Any, graphs: Sequence[Graph]) -> Float[Tensor, "n w"]:
    """The vectors that a model has of graphs before it answers, on the CPU; of any number of them."""
    return _of_many(model, model.embed, graphs)


def _of_many(model: nn.Module, ask: Callable[[Graph], Tensor], graphs: Sequence[Graph]) -> Float[Tensor, "n o"]:
    """What ``ask``, a model or a method of it, gives for graphs, some thousand vertices at a time."""
    whole = np.cumsum([graph.vertices for graph in graphs])
    ends = [*(np.flatnonzero(np.diff(whole // _VERTICES)) + 1).tolist(), len(graphs)]
    parts = [graphs[first:last] for first, last in zip([0, *ends[:-1]], ends, strict=True)]
    return torch.cat([ask(batch_of(model, part)).float().cpu() for part in parts])


def batch_of(model: nn.Module, graphs: Sequence[Graph]) -> Graph:
    """Some graphs as one, on the model's device; without features, every vertex has a 1."""
    whole = Graph.batch(list(graphs))
    if whole.x is None:
        whole = whole.with_x(torch.ones(whole.vertices, 1))
    return whole.to(next(model.parameters()).device)


def predicted_graphs(
    outputs: Float[Tensor, "n o"], names: Sequence[str], labels: Sequence[str], target: str
) -> list[dict[str, Any]]:
    """For each graph its name, and its class with P(label) for every label, or its value."""
    if not labels:
        return [{"graph": name, target: value} for name, value in zip(names, outputs[:, 0].tolist(), strict=True)]
    p = outputs.double().softmax(-1).numpy()
    return [
        {"graph": str(name), "class": labels[int(row.argmax())]}
        | {f"P({label})": float(value) for label, value in zip(labels, row, strict=True)}
        for name, row in zip(names, p, strict=True)
    ]


__all__ = [
    "GraphBatches",
    "batch_of",
    "graph_vectors",
    "outcome_cost",
    "outcome_outputs",
    "predicted_graphs",
]
