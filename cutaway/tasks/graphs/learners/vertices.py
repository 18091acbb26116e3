r"""The learner of gcn, gat, spectral, grn and graph-transformer: a network that gives every vertex outputs.

    classes    cost = mean over training vertices v of −log softmax(model(graph)_v)_y
    values     cost = mean over training vertices v of (model(graph)_v − (y − mean) / std)²      mean, std: of training

Over the whole graph every step sees all training vertices (full batch). With samples, a step sees some of them and a
few neighbours of each, and so does an evaluation: memory does not grow with the graph.
"""

from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from cutaway.data.batches import Batches
from cutaway.data.graphs.neighbour_samples import NeighbourBatches, SampledGraph
from cutaway.data.graphs.spectra.eigenpairs import eigenpairs
from cutaway.models.graphs.vertex_classifier import VertexClassifier
from cutaway.overriding import override
from cutaway.tasks.graphs.edge_inputs import edge_settings, edges_in_words
from cutaway.tasks.graphs.learners.one_graph import GraphLearner, GraphPasses, device_of, in_own_unit
from cutaway.tasks.graphs.outcomes import outcome_loss
from cutaway.tasks.graphs.transfer import temporary_eigenvectors
from cutaway.tasks.graphs.vertex_names import find_vertices
from cutaway.tasks.graphs.vertices import VertexLabels, vertex_answers
from cutaway.tasks.subjects import Subject
from cutaway.training.jobs import Job


class VertexNetwork(GraphLearner):
    """A network over the graph of a task."""

    unit = "vertices"
    task: VertexLabels
    model: Any

    @classmethod
    def new(cls, settings: Any, task: VertexLabels) -> "VertexNetwork":
        """An untrained network of the layers that the settings name."""
        graph = task.graph
        assert graph.x is not None
        torch.manual_seed(settings.seed)
        count = min(settings.eigenvectors_asked(), graph.vertices)
        vectors = eigenpairs(graph, count, kind="symmetric").tensors()[1] if count else None
        sizes = settings.layer_settings()
        if not task.classes:
            sizes |= {name: settings.value_dropout for name in ("dropout", "attention_dropout") if name in sizes}
        model = VertexClassifier(
            inputs=graph.x.shape[1],
            **edge_settings(settings.layer_name(), [graph], settings.edge_features == "ignore"),
            classes=len(task.classes),
            layer=settings.layer_name(),
            frequencies=0 if vectors is None else vectors.shape[1],
            graph_size=0 if vectors is None else len(vectors),
            **sizes,
        )
        if model.eigenvectors is not None and vectors is not None:
            model.eigenvectors.copy_(vectors)
        if settings.decays_first_layer_only:
            decay_first_layer_only(model)
        return cls(settings, task, model)

    @override
    @property
    def neighbours(self) -> tuple[int, ...]:
        """The most neighbours sampled at each step outwards; (): the whole graph at once."""
        return self.settings.neighbour_counts()

    # Training.

    @override
    def batches(self, rank: int, world: int) -> Batches[Any]:
        settings, rows = self.settings, self.task.parts.train
        if not self.neighbours:
            return WholeGraph(rows, settings.seed, rank, world)
        size = min(settings.batch, len(rows) - len(rows) % world) or world
        return NeighbourBatches(self.passes.incoming, rows, self.neighbours, size, settings.seed, rank, world)

    @override
    def cost(self, model: nn.Module, batch: Int[np.ndarray, "b"] | SampledGraph) -> Tensor:
        """The mean loss of the vertices of a batch: see above."""
        if isinstance(batch, SampledGraph):
            rows = torch.from_numpy(batch.vertices[: batch.asked])
            outputs = model(self.passes.sampled(model, batch))[: batch.asked]
        else:
            rows = torch.from_numpy(batch)
            outputs = model(self.passes.whole(model))[rows.to(device_of(model))]
        return outcome_loss(outputs, self.task.targets[rows].to(outputs.device), self.task.scale)

    @override
    def evaluate(self, model: nn.Module) -> dict[str, float]:
        rows = self.task.parts.validation
        if rows is None:
            return {}
        metrics = self.task.metrics(self.outputs(rows, model), rows)
        return metrics | ({"error": 1 - metrics["accuracy"]} if self.task.figure == "error" else {})

    @override
    def facts(self) -> dict[str, Any]:
        parts, spec = self.task.parts, self.model.spec
        edges = edges_in_words(spec.to_dict(), spec.layer, [parts.graph], parts.edge_feature_names)
        return {"summary": parts.summary() + edges}

    @override
    def job(self, rank: int = 0, world: int = 1) -> Job:
        job = super().job(rank, world)
        job.units = job.batches.batch if self.neighbours else len(self.task.parts.train)
        return job

    # A run that is there.

    def outputs(self, rows: Int[np.ndarray, "v"], model: nn.Module | None = None) -> Float[Tensor, "v c"]:
        """The logits of some vertices, or their values (v, 1) in their own unit, on the CPU."""
        model = self.model if model is None else model
        return in_own_unit(self.passes.outputs(model, model, rows), self.task.scale)

    def predict_in(self, inputs: Any, data: Any, vertices: Any = None) -> list[dict[str, Any]]:
        """The class or value of vertices of another graph, which has the same columns."""
        other = self.task.other_graph(data, vertices, self.model.spec.inputs)
        rows = find_vertices(inputs, other.data.names)
        with temporary_eigenvectors(self.model, other.graph, other.data.name):
            outputs = GraphPasses(other.graph, self.neighbours).outputs(self.model, self.model, rows)
        names, reading = [other.data.names[i] for i in rows], other.reading
        return vertex_answers(in_own_unit(outputs, reading.values), names, reading.classes, reading.target)

    @override
    def subject(self, given: str | None = None) -> Subject:
        """The graph and a vertex of it: the one that is named, else a held-out one on which the model errs, or any."""
        parts, graph = self.task.parts, self.task.graph.to(device_of(self.model))
        if given is not None:
            named = int(find_vertices(given, parts.names)[0])
            return Subject((graph,), f"the graph, and its vertex {parts.names[named]}", vertices=(named,))
        chosen = self.typical_mistake(parts.train if parts.validation is None else parts.validation)
        words = f"the graph, and a vertex that it was not trained on, {parts.names[chosen]}"
        return Subject((graph,), words, vertices=(chosen,))

    def typical_mistake(self, rows: Int[np.ndarray, "v"]) -> int:
        """Of some vertices one on which the model errs and that has a few neighbours; if there is none, any such.

        Of values it errs on the tenth whose answers are farthest off.
        """
        graph, outputs = self.task.graph, self.outputs(rows)
        degrees = torch.bincount(graph.arcs[1], minlength=graph.vertices)[rows]
        few = (degrees >= 2) & (degrees <= 12)
        if self.task.scale is None:
            wrong = outputs.argmax(1) != self.task.targets[rows]
        else:
            error = (outputs[:, 0] - self.task.targets[rows]).abs()
            wrong = error >= error.quantile(0.9)
        for wanted in (few & wrong, few, degrees >= 1):
            if wanted.any():
                return int(rows[int(wanted.nonzero()[0])])
        return int(rows[0])


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

    @override
    def at(self, step: int) -> Int[np.ndarray, "n"]:
        return self.rows


def decay_first_layer_only(model: Any) -> None:
    """Declares all parameters but those of the first stage to be without weight decay: as Kipf, Welling 2017."""
    for stage in model.stages[1:]:
        for module in stage.modules():
            module.undecayed = tuple(name for name, _ in module.named_parameters(recurse=False))
