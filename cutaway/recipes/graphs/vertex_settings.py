r"""What recipes that give vertices classes or values share; one on top of it names its layer and that layer's settings.

    classes    cost = mean over training vertices v of −log softmax(model(graph)_v)_y
    values     cost = mean over training vertices v of (model(graph)_v − (y − mean) / std)²

The network sees the whole graph, also the features and edges of vertices whose label it must not see (transductive).
"""

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.recipes.checks import expect_at_least, expect_share
from cutaway.recipes.graphs.graph_settings import GraphRecipe, refuse_signs
from cutaway.recipes.settings import DATA, MACHINE, RESULTS, SCHEDULE, setting
from cutaway.tasks.abilities.ability import Offer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor, nn

    from cutaway.blocks.graphs.graph import Graph
    from cutaway.data.graphs.graph_data import GraphData
    from cutaway.runs.run import Run
    from cutaway.tasks.graphs.vertices import VertexTask
    from cutaway.tasks.subjects import Subject
    from cutaway.training.jobs import Job


@dataclass(frozen=True)
class VertexClassifierRecipe(GraphRecipe):
    """A model that gives every vertex of a graph one of several classes, or a value."""

    abilities: ClassVar[tuple[Offer, ...]] = (
        Offer("test"),
        Offer(
            "predict",
            takes="NAME",
            gives="the name of a vertex, a file of names, or all, in; the class and P(label) of each, or its value, "
            "out; --data and --vertices for another graph",
            everything="all",
        ),
    )

    unit: ClassVar[str] = "nats a vertex; of values, squared deviations"
    needs_labels: ClassVar[bool] = True
    layer: ClassVar[str] = ""  # that the model is made of
    decays_first_layer_only: ClassVar[bool] = False

    edge_features: Literal["auto", "ignore"] = setting("auto", DATA)
    """other columns of the list of edges: read as features, refused where the layers read none; or ignored"""
    task: Literal["auto", "classes", "values"] = setting("auto", DATA)
    """what the target holds; auto: words are classes, and so are at most 50 different whole numbers"""
    value_dropout: float = 0.0
    """share dropped where values are predicted, in place of dropout: they need their few features whole"""
    weight_decay: float = 5e-4
    """pull of the matrices towards zero"""
    patience: int = setting(0, SCHEDULE)
    """evaluations without improvement before stopping; 0 to go on"""
    best_by: Literal["figure", "loss", "error"] = setting("figure", RESULTS)
    """what says which weights are best on validation: the figure (accuracy of classes, loss of values; of equals the
    least loss), the loss alone, or of classes the error (1 − accuracy), which is the figure under another name"""
    neighbours: str = setting("", MACHINE, "COUNTS")
    """most neighbours taken into a step, for each layer, as in 10,5; "" for the whole graph at once"""
    batch: int = setting(512, MACHINE)
    """vertices in a step where neighbours are sampled; the whole graph is one step"""

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_share(self, "value_dropout")
        counts = self.neighbour_counts()
        if counts and len(counts) != self.depth:
            raise ValueError(
                f"neighbours must have a count for each layer, got {self.neighbours!r} for depth={self.depth}; try "
                f"neighbours={','.join(['10'] * self.depth)}"
            )
        if "heads" in {field.name for field in dataclasses.fields(self)}:
            expect_at_least(self, 1, "heads")

    def neighbour_counts(self) -> tuple[int, ...]:
        """The most neighbours of each step outwards; (): all."""
        if not self.neighbours:
            return ()
        parts = self.neighbours.split(",")
        if not all(part.strip().isdigit() and int(part) > 0 for part in parts):
            raise ValueError(
                f"neighbours must be counts with commas between them, got {self.neighbours!r}; try neighbours=10,5"
            )
        return tuple(int(part) for part in parts)

    def layer_name(self) -> str:
        """The kind of layer, of cutaway/models/graphs/layer_kinds.py."""
        return self.layer

    def layer_settings(self) -> dict[str, Any]:
        """The settings of the recipe that the model's spec has under the same name."""
        from cutaway.models.graphs.vertex_classifier import VertexClassifierSpec

        own = {field.name for field in dataclasses.fields(self)}
        shared = {field.name for field in dataclasses.fields(VertexClassifierSpec)} & own - {"frequencies"}
        return {name: getattr(self, name) for name in sorted(shared)}

    def eigenvectors_asked(self) -> int:
        """How many eigenvectors of the Laplacian the model is given; it then belongs to the graph."""
        return 0

    def build(self, data: "GraphData", graph: "Graph") -> "nn.Module":
        """The untrained model."""
        from cutaway.models.graphs.vertex_classifier import VertexClassifier
        from cutaway.tasks.graphs.vertices import decay_first_layer_only

        assert graph.x is not None
        vectors = self._eigenvectors(graph)
        settings = self.layer_settings()
        if not data.classes:
            settings |= {name: self.value_dropout for name in ("dropout", "attention_dropout") if name in settings}
        model = VertexClassifier(
            inputs=graph.x.shape[1],
            **self.edge_settings(graph),
            classes=len(data.classes),
            layer=self.layer_name(),
            frequencies=0 if vectors is None else vectors.shape[1],
            graph_size=0 if vectors is None else len(vectors),
            **settings,
        )
        if model.eigenvectors is not None and vectors is not None:
            model.eigenvectors.copy_(vectors)
        if self.decays_first_layer_only:
            decay_first_layer_only(model)
        return model

    def edge_settings(self, graph: "Graph") -> dict[str, Any]:
        """What the model's spec says of edges."""
        from cutaway.tasks.graphs.edge_inputs import edge_settings

        return edge_settings(self.layer_name(), [graph], self.edge_features == "ignore")

    def _eigenvectors(self, graph: "Graph") -> "Tensor | None":
        """The eigenvectors of the lowest frequencies, (vertices, count), where they are asked for."""
        if not self.eigenvectors_asked():
            return None
        from cutaway.data.graphs.spectra.eigenpairs import eigenpairs

        return eigenpairs(graph, min(self.eigenvectors_asked(), graph.vertices), kind="symmetric").tensors()[1]

    def expect_whole_graph(self, what: str) -> None:
        """Eigenvectors are those of the whole graph, and of an undirected one."""
        if self.directed:
            raise ValueError(f"{what} are of an undirected graph, got directed=True; leave it out")
        if self.neighbours:
            raise ValueError(f"{what} see the whole graph, got neighbours={self.neighbours!r}; leave it out")

    def expect_signs(self, data: "GraphData") -> None:
        """Weights below 0 are for layers that take them."""
        from cutaway.models.graphs.layer_kinds import LAYERS

        walks = getattr(self, "walks", 0)
        if LAYERS[self.layer_name()].takes_signs and not walks and not self.eigenvectors_asked():
            return
        refuse_signs(data, "walks" if walks else f"{self.name} with layers {self.layer_name()!r}")

    def read_options(self) -> dict[str, Any]:
        return super().read_options() | {"labels": self.task}

    def vertex_task(self, data: "GraphData") -> "VertexTask":
        """The graph with its features on the network's scale, and the labels of its vertices."""
        from cutaway.tasks.graphs.vertices import VertexTask

        assert data.targets is not None  # `read_graph` refuses a graph without labels
        reading = self.reading(data)
        return VertexTask(reading.features.apply(data.graph), data.targets, self.neighbour_counts(), reading.values)

    def vertices_of(self, run: "Run") -> "tuple[GraphData, VertexTask]":
        """The graph of a run and the task of its vertices, for pictures."""
        data = self.dataset(run)
        return data, self.vertex_task(data)

    def job(self, rank: int = 0, world: int = 1) -> "Job":
        import torch

        from cutaway.tasks.graphs.edge_inputs import edges_in_words, expect_readable_edges
        from cutaway.tasks.graphs.vertex_baselines import vertex_baselines
        from cutaway.training.jobs import Job

        data = self.dataset()
        self.expect_signs(data)
        if self.edge_features != "ignore":
            expect_readable_edges(self.layer_name(), [data.graph], data.edge_feature_names, data.name)
        task = self.vertex_task(data)
        torch.manual_seed(self.seed)
        model = self.build(data, task.graph)
        facts = self.graph_facts(data) | {"loss_unit": "nats a vertex" if data.classes else "squared deviations"}
        settings, names = self.edge_settings(data.graph), data.edge_feature_names
        facts["summary"] += edges_in_words(settings, self.layer_name(), [data.graph], names)
        held = data.validation
        if held is not None:
            facts["baselines"] = vertex_baselines(data, held)

        if self.best_by == "error" and not data.classes:
            raise ValueError("best_by='error' is for classes, got values to predict; leave it out")

        def evaluate(m: "nn.Module") -> dict[str, float]:
            found = {} if held is None else task.metrics(m, held)
            return found | ({"error": 1 - found["accuracy"]} if found and self.best_by == "error" else {})

        batches = task.batches(data.train, self.batch, self.seed, rank, world)
        figure = self.best_by == "figure"
        return Job(
            model=model,
            batches=batches,
            objective=task.cost,
            evaluate=evaluate,
            whole=evaluate,
            better="accuracy" if figure and data.classes else "loss" if figure else self.best_by,
            more_is_better=figure and bool(data.classes),
            units=batches.batch if task.neighbours else len(data.train),
            unit="vertices",
            files=self.graph_files(self.reading(data)),
            data=facts,
        )

    def test_metrics(self, run: "Run") -> dict[str, float]:
        from cutaway.tasks.graphs.vertex_baselines import vertex_baselines

        data = self.dataset(run)
        task, rows = self.vertex_task(data), data.open_test()
        name, better = ("accuracy", max) if data.classes else ("rmse", min)
        best = better(one["metrics"][name] for one in vertex_baselines(data, rows).values())
        return task.metrics(run.model, rows) | {f"baseline_{name}": best}

    def vertex_vectors(self, run: "Run") -> "tuple[Sequence[str], Tensor]":
        data = self.dataset(run)
        return data.names, self.vertex_task(data).vectors(run.model)

    def read_inputs(self, source: str) -> Any:
        from cutaway.tasks.graphs.vertex_names import read_names

        return read_names(source, self.encoding)

    def predict(self, run: "Run", inputs: Any) -> list[dict[str, Any]]:
        """The class of each vertex that is named (a name, several, "all") and P(label) for each label; or its value."""
        from cutaway.tasks.graphs.vertex_names import find_vertices
        from cutaway.tasks.graphs.vertices import predicted_vertices

        data = self.dataset(run)
        rows = find_vertices(inputs, data.names)
        outputs = self.vertex_task(data).outputs(run.model, rows)
        return predicted_vertices(outputs, [data.names[i] for i in rows], data.classes, data.target)

    def predict_in(self, run: "Run", inputs: Any, data: Any, vertices: Any = None) -> list[dict[str, Any]]:
        """The same for vertices of another graph, which has the same columns."""
        from cutaway.tasks.graphs.transfer import lend_eigenvectors
        from cutaway.tasks.graphs.vertex_names import find_vertices
        from cutaway.tasks.graphs.vertices import VertexTask, predicted_vertices

        found, reading, graph = self.other_graph(run, data, vertices)
        rows = find_vertices(inputs, found.names)
        task = VertexTask(graph, neighbours=self.neighbour_counts(), scale=reading.values)
        with lend_eigenvectors(run.model, graph, found.name):
            outputs = task.outputs(run.model, rows)
        return predicted_vertices(outputs, [found.names[i] for i in rows], reading.classes, reading.target)

    def subject(self, run: "Run", given: str | None = None) -> "Subject":
        """The graph; a vertex of it by its name, else one whose neighbours are worth looking at."""
        from cutaway.tasks.graphs.vertex_names import vertex_subject

        data = self.dataset(run)
        return vertex_subject(run, self.vertex_task(data), data, given)

    def smaller(self) -> str:
        return f"lower width={self.width}, or sample neighbours={','.join(['10'] * self.depth)}"
