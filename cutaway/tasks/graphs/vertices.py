r"""Classes or values of vertices: the cost of a step, metrics and predictions, over the whole graph or samples of it.

    classes    cost = mean over training vertices v of −log softmax(model(graph)_v)_y
    values     cost = mean over training vertices v of (model(graph)_v − (y − mean) / std)²      mean, std: of training

Over the whole graph every step sees all training vertices (full batch). With samples, a step sees some of them and a
few neighbours of each, and so does an evaluation: memory does not grow with the graph.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from cutaway.blocks.graphs.compressed_rows import take_rows
from cutaway.blocks.graphs.graph import Graph
from cutaway.blocks.losses.metrics import accuracy, macro_f1
from cutaway.data.batches import Batches
from cutaway.data.graphs.neighbour_samples import InNeighbours, NeighbourBatches, SampledGraph, sample_around
from cutaway.tasks.graphs.outcomes import Scale, outcome_loss, outcome_metrics

_AT_ONCE = 1024  # vertices whose neighbourhoods are sampled for one pass of an evaluation


class WholeGraph(Batches[Int[np.ndarray, "n"]]):
    """Every batch is all training vertices."""

    def __init__(self, rows: Int[np.ndarray, "n"], seed: int = 0, rank: int = 0, world: int = 1) -> None:
        if world > 1:
            raise ValueError(
                f"a step over the whole graph is taken by one process, got {world}; set batch (vertices in a step) "
                "and neighbours, or train in one process"
            )
        super().__init__(1, seed, rank, world)
        self.rows = rows

    def at(self, step: int) -> Int[np.ndarray, "n"]:
        return self.rows


class VertexTask:
    """A graph whose vertices have ``targets`` (n,): classes, −1 where unknown, or, with a ``scale``, values.

    ``neighbours`` are the most neighbours sampled at each step outwards; (): the whole graph at once.
    """

    def __init__(
        self,
        graph: Graph,
        targets: Shaped[Tensor, "n"] | None = None,
        neighbours: Sequence[int] = (),
        scale: Scale | None = None,
    ) -> None:
        self.graph, self.scale = graph, scale
        self.targets = torch.full((graph.vertices,), -1) if targets is None else targets
        self.neighbours = tuple(neighbours)
        self._moved: dict[torch.device, tuple[Graph, Tensor]] = {}
        self._incoming: InNeighbours | None = None

    def batches(self, rows: Int[np.ndarray, "n"], batch: int, seed: int, rank: int, world: int) -> Batches[Any]:
        """The training vertices, all at once or in samples."""
        if not self.neighbours:
            return WholeGraph(rows, seed, rank, world)
        size = min(batch, len(rows) - len(rows) % world) or world
        return NeighbourBatches(self.incoming, rows, self.neighbours, size, seed, rank, world)

    @property
    def incoming(self) -> InNeighbours:
        if self._incoming is None:
            self._incoming = InNeighbours(self.graph.arcs.numpy(), self.graph.vertices)
        return self._incoming

    def cost(self, model: nn.Module, batch: Int[np.ndarray, "n"] | SampledGraph) -> Tensor:
        """The mean loss of the vertices of a batch: see above."""
        if isinstance(batch, SampledGraph):
            asked = torch.from_numpy(batch.vertices[: batch.asked])
            outputs = model(self._sampled(model, batch))[: batch.asked]
            return outcome_loss(outputs, self.targets[asked].to(outputs.device), self.scale)
        graph, targets = self._on(_device(model))
        rows = torch.from_numpy(batch).to(targets.device)
        return outcome_loss(model(graph)[rows], targets[rows], self.scale)

    @torch.no_grad()
    def outputs(self, model: nn.Module, rows: Int[np.ndarray, "n"] | None = None) -> Float[Tensor, "n c"]:
        """The logits of some vertices (by default of all), or their values (n, 1) in their own unit, on the CPU."""
        rows = np.arange(self.graph.vertices) if rows is None else rows
        found = self._asked(model, model, rows)
        return found if self.scale is None else found * self.scale.std + self.scale.mean

    @torch.no_grad()
    def vectors(self, model: Any) -> Float[Tensor, "n w"]:
        """The vectors that a model has of all vertices before it answers, on the CPU."""
        return self._asked(model, model.embed, np.arange(self.graph.vertices))

    def _asked(
        self, model: nn.Module, ask: Callable[[Graph], Tensor], rows: Int[np.ndarray, "n"]
    ) -> Float[Tensor, "n c"]:
        """What ``ask``, a model or a method of it, gives for some vertices."""
        if not self.neighbours:
            return ask(self._on(_device(model))[0]).float().cpu()[torch.from_numpy(rows)]
        parts = []
        for number, first in enumerate(range(0, len(rows), _AT_ONCE)):
            asked = rows[first : first + _AT_ONCE]
            sampled = sample_around(self.incoming, asked, self.neighbours, 0, number)
            parts.append(ask(self._sampled(model, sampled))[: len(asked)].float().cpu())
        return torch.cat(parts) if parts else torch.empty(0, 0)

    def metrics(self, model: nn.Module, rows: Int[np.ndarray, "n"]) -> dict[str, float]:
        """Over vertices whose label is known: loss, accuracy and macro F1; of values loss, RMSE, MAE and R²."""
        outputs, targets = self.outputs(model, rows), self.targets[torch.from_numpy(rows)]
        if self.scale is not None:
            return outcome_metrics(outputs, targets, self.scale)
        predicted = outputs.argmax(-1)
        return {
            "loss": nn.functional.cross_entropy(outputs, targets).item(),
            "accuracy": accuracy(predicted, targets),
            "macro_f1": macro_f1(predicted, targets),
        }

    def _on(self, device: torch.device) -> tuple[Graph, Tensor]:
        if device not in self._moved:
            same = device == self.graph.edges.device
            self._moved[device] = (self.graph if same else self.graph.to(device), self.targets.to(device))
        return self._moved[device]

    def _sampled(self, model: nn.Module, sampled: SampledGraph) -> Graph:
        assert self.graph.x is not None
        vertices = torch.from_numpy(sampled.vertices)
        x = take_rows(self.graph.x, vertices)
        arcs, whole = torch.from_numpy(sampled.numbers), self.graph
        graph = Graph(
            torch.from_numpy(sampled.arcs),
            len(vertices),
            weights=None if whole.arc_weights is None else whole.arc_weights[arcs],
            x=x,
            edge_features=None if whole.edge_features is None else whole.edge_features[whole.arc_edges[arcs]],
            directed=True,
        )
        return graph.to(_device(model))


def decay_first_layer_only(model: Any) -> None:
    """Declares all parameters but those of the first stage to be without weight decay: as Kipf, Welling 2017."""
    for stage in model.stages[1:]:
        for module in stage.modules():
            module.undecayed = tuple(name for name, _ in module.named_parameters(recurse=False))


def _device(model: nn.Module) -> torch.device:
    return next(model.parameters()).device


def predicted_vertices(
    outputs: Float[Tensor, "n c"], names: Sequence[str], labels: Sequence[str], target: str = ""
) -> list[dict[str, Any]]:
    """For each vertex its name, and its class with P(label) for every label, or its value under ``target``."""
    if not labels:
        values = outputs[:, 0].tolist()
        return [{"vertex": str(name), target or "value": value} for name, value in zip(names, values, strict=True)]
    p = outputs.double().softmax(-1).numpy()
    return [
        {"vertex": str(name), "class": labels[int(row.argmax())]}
        | {f"P({label})": float(value) for label, value in zip(labels, row, strict=True)}
        for name, row in zip(names, p, strict=True)
    ]


__all__ = ["VertexTask", "WholeGraph", "decay_first_layer_only", "predicted_vertices"]
