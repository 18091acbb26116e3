r"""Classes or values of whole graphs: batches, the cost of a step, metrics and predictions.

    classes    cost = mean over graphs of −log softmax(model(graph))_y
    values     cost = mean over graphs of (model(graph) − (y − mean) / std)²        mean, std: of the training graphs

A batch of graphs is one graph whose parts have no edge between them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from cutaway.blocks.graphs.graph import Graph
from cutaway.blocks.losses.metrics import accuracy, balanced_accuracy, macro_f1, r_squared
from cutaway.data.batches import Batches, ShuffledRows
from cutaway.data.graphs.graph_set import GraphRows
from cutaway.tasks.graphs.ranking_metrics import auc

_VERTICES = 20_000  # of graphs that are evaluated at once, about


class GraphBatches(Batches[GraphRows]):
    """Every training graph once in each epoch."""

    def __init__(self, rows: GraphRows, batch: int, seed: int = 0, rank: int = 0, world: int = 1) -> None:
        super().__init__(batch, seed, rank, world)
        self.rows = rows
        self._order = ShuffledRows(len(rows), batch, seed, rank, world)

    def at(self, step: int) -> GraphRows:
        return self.rows.take(self._order.at(step))


@dataclass(frozen=True)
class Scale:
    """Values as the network gives them: (y − mean) / std."""

    mean: float = 0.0
    std: float = 1.0

    @classmethod
    def of(cls, values: Float[Tensor, "n"]) -> "Scale":
        return cls(values.double().mean().item(), values.double().std(unbiased=False).item() or 1.0)


def outcome_cost(model: nn.Module, rows: GraphRows, scale: Scale | None = None) -> Tensor:
    """The mean loss of a batch of graphs; with a ``scale`` of values, else of classes."""
    assert rows.targets is not None
    outputs = model(batch_of(model, rows.graphs))
    return outcome_loss(outputs, rows.targets.to(outputs.device), scale)


def outcome_loss(outputs: Float[Tensor, "n o"], targets: Shaped[Tensor, "n"], scale: Scale | None = None) -> Tensor:
    """The mean of −log p(class), or of the squared deviations of values on their ``scale``."""
    if scale is None:
        return nn.functional.cross_entropy(outputs.float(), targets)
    return (outputs[:, 0].float() - (targets - scale.mean) / scale.std).square().mean()


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


def outcome_metrics(
    outputs: Float[Tensor, "n o"], targets: Shaped[Tensor, "n"], scale: Scale | None = None
) -> dict[str, float]:
    """Of classes the loss, accuracy, balanced accuracy, macro F1 (and AUC of two); of values the RMSE, MAE and R²."""
    if scale is not None:
        error = outputs[:, 0] - targets
        found = {
            "loss": (error / scale.std).square().mean().item(),
            "rmse": error.square().mean().sqrt().item(),
            "mae": error.abs().mean().item(),
        }
        return found | ({"r2": r_squared(outputs[:, 0], targets)} if len(targets.unique()) > 1 else {})
    predicted = outputs.argmax(-1)
    found = {
        "loss": nn.functional.cross_entropy(outputs, targets).item(),
        "accuracy": accuracy(predicted, targets),
        "balanced_accuracy": balanced_accuracy(predicted, targets),
        "macro_f1": macro_f1(predicted, targets),
    }
    if outputs.shape[1] == 2 and len(targets.unique()) == 2:
        found["auc"] = auc((outputs[:, 1] - outputs[:, 0]).double().numpy(), targets.numpy())
    return found


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
    "Scale",
    "batch_of",
    "graph_vectors",
    "outcome_cost",
    "outcome_loss",
    "outcome_metrics",
    "outcome_outputs",
    "predicted_graphs",
]
