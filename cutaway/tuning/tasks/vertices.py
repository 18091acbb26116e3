r"""The task `vertices`: classes or values of a graph's vertices, by an encoder that has learned to restore hidden parts
of it, or by a model of vertices that was trained on another graph with the same columns.
"""

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from cutaway.recipes.graphs.gcn import GCNRecipe
from cutaway.recipes.graphs.graph_settings import VertexVectors
from cutaway.recipes.settings import DATA, FIRST, setting
from cutaway.tasks.abilities.ability import Offer
from cutaway.tuning.settings import TunedRecipe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor, nn

    from cutaway.data.graphs.graph_data import GraphData
    from cutaway.runs.run import Run
    from cutaway.tasks.graphs.transfer import GraphReading
    from cutaway.tasks.graphs.vertices import VertexTask
    from cutaway.tasks.subjects import Subject
    from cutaway.training.jobs import Job
    from cutaway.tuning.bases import Base
    from cutaway.tuning.comparison import Answers

# Of 0.001 and 0.005 the first had the lower validation loss on Cora and on the sample of citations, for LoRA and for
# all weights; of 0.01 and 0.03 the first for a head. Those of adapters and last layers were not tried.
_RATES = {"lora": 1e-3, "adapter": 1e-3, "head_only": 1e-2, "last": 1e-3, "full": 1e-3}


class LabelledGraph(NamedTuple):
    """A graph with classes or values of some vertices, the task that they make, and how such graphs are read."""

    data: "GraphData"
    task: "VertexTask"
    reading: "GraphReading"


@dataclass(frozen=True)
class TunedVerticesRecipe(VertexVectors, TunedRecipe):
    """Tunes a model of a graph (`masked-graph`, gcn, gat …) to give vertices a class or value, where few are known.

    The graph is read as the base read its own, and may be another with the same columns; vertices without a class
    teach by their features and edges.
    """

    name: ClassVar[str] = "tuned-vertices"
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
    task: ClassVar[str] = "vertices"
    quality: ClassVar[str] = (
        "Cora with 3 labels a class: LoRA 75.8 ± 1.7 % of the public test vertices, a head 70.4 (gcn from scratch "
        "53.3, label propagation 53.2). `python benchmarks/run.py few_label_graphs` measures it."
    )
    unit: ClassVar[str] = "nats a vertex; of values, squared deviations"
    memory: ClassVar[str] = "cutaway.data.stored:keep_graph"

    data: str = setting("", FIRST, "PATH")
    """a list of edges (CSV, TSV, Parquet), GraphML, JSON, Pajek, Matrix Market, an .npz, or an embedded sample"""
    vertices: str = setting("", DATA, "PATH")
    """a table of the vertices beside the edges: their id, features, and the target"""
    target: str = setting("", FIRST, "COLUMN")
    """the column of classes in the table of vertices (default: one called label or class)"""
    directed: bool = setting(False, DATA)
    """messages go from the first vertex of an edge to the second alone"""
    weight: str = setting("", DATA)
    """the column of weights in the list of edges (default: one called weight)"""
    encoding: str = setting("utf-8", DATA)
    """encoding of the files"""
    validation: float = setting(0.2, DATA)
    """share of the labelled vertices to evaluate on; 0 for none; data with a split of its own keeps it"""
    test: float = setting(0.2, DATA)
    """share of them for `cutaway test`; 0 for none"""

    steps: int = setting(100, FIRST)
    """optimizer steps; each sees the whole graph"""
    rate: float = setting(0.0, FIRST)
    """full learning rate; 0 for one that suits the way: 0.01 for a head, 0.001 for others"""
    weight_decay: float = 0.05
    """pull of the matrices towards zero"""
    schedule: Literal["constant", "linear", "cosine", "step", "wsd"] = "constant"
    """shape of the learning rate over the steps"""

    @classmethod
    def suits(cls, data: Any) -> str:
        from cutaway.data.kinds import one_graph

        return one_graph(data)

    def settled(self, task: Any = None, base: Any = None) -> "TunedRecipe":
        new = super().settled(task, base)
        more: dict[str, Any] = {} if self.rate else {"rate": _RATES[new.way]}
        more |= {} if self.evaluate_every else {"evaluate_every": max(1, new.steps // 50)}
        more |= {} if self.checkpoint_every else {"checkpoint_every": max(1, new.steps // 2)}
        more |= {} if self.warmup else {"warmup": 0}
        return dataclasses.replace(new, **more)

    def reader(self) -> GCNRecipe:
        """The recipe whose way of reading a graph with classes is taken."""
        names = ("data", "vertices", "target", "directed", "weight", "encoding", "validation", "test", "seed")
        return GCNRecipe(**{name: getattr(self, name) for name in names})

    def read_graph(self, source: Any, vertices: Any = None) -> "GraphData":
        """A graph with classes by these settings, from a path or from memory."""
        return self.reader().read_graph(source, vertices)

    def labelled(self, known: "GraphReading", inputs: int, run: "Run | None" = None) -> LabelledGraph:
        """The graph with its labels, read as a base read its own; that of a ``run`` must be as it was."""
        from cutaway.tasks.graphs.vertices import VertexTask

        reader = self.reader()
        data = reader.dataset(run, known.columns)
        graph = known.scaled(data, inputs, lambda: data.names)
        reading = dataclasses.replace(reader.reading(data), columns=known.columns, features=known.features)
        return LabelledGraph(data, VertexTask(graph, data.targets, (), reading.values), reading)

    def read(self, base: "Base") -> LabelledGraph:
        from cutaway.models.graphs.layer_kinds import LAYERS
        from cutaway.tuning.graph_bases import expect_same_vertices, reading_of_base

        spec = base.model.spec
        if LAYERS[spec.layer].belongs_to_a_graph or spec.graph_size:
            raise ValueError(
                f"a model is tuned to graphs that it can be moved to, got {base.path}, which holds the eigenvectors of "
                "its own; tune a run of masked-graph, gcn or gat"
            )
        reading = reading_of_base(base, self.reader)
        found = self.labelled(reading, spec.inputs)
        if reading.features.kind == "identity":
            expect_same_vertices(base, found.data)
        return found

    def count(self, data: LabelledGraph) -> int:
        return len(data.data.train)

    def headed(self, base: "Base", data: LabelledGraph) -> "nn.Module":
        classes = data.data.classes
        return base.model.with_purpose("vertices", "multi-class" if classes else "regression", len(classes) or 1)

    def task_job(self, model: "nn.Module", base: "Base", data: LabelledGraph, rank: int, world: int) -> "Job":
        from cutaway.tasks.graphs.edge_inputs import edges_in_words
        from cutaway.tasks.graphs.vertex_baselines import vertex_baselines
        from cutaway.training.jobs import Job
        from cutaway.tuning.graph_features import FrozenVertexTask

        graph, task, reading = data
        reader, held = self.reader(), graph.validation
        facts = reader.graph_facts(graph) | {"loss_unit": "nats a vertex" if graph.classes else "squared deviations"}
        spec: Any = model.spec
        facts["summary"] += edges_in_words(spec.to_dict(), spec.layer, [graph.graph], graph.edge_feature_names)
        if held is not None:
            facts["baselines"] = vertex_baselines(graph, held)
        if self.head_only and hasattr(model, "every_encoding"):
            task = FrozenVertexTask(task, model)

        def evaluate(m: "nn.Module") -> dict[str, float]:
            return {} if held is None else task.metrics(m, held)

        return Job(
            model=model,
            batches=task.batches(graph.train, self.batch, self.seed, rank, world),
            objective=task.cost,
            evaluate=evaluate,
            whole=evaluate,
            units=len(graph.train),
            unit="vertices",
            files=reader.graph_files(reading),
            data=facts,
            better="accuracy" if graph.classes else "loss",
            more_is_better=bool(graph.classes),
        )

    def of_run(self, run: "Run") -> LabelledGraph:
        """The graph of a run, as it was."""
        from cutaway.tuning.graph_bases import reading_of_run

        model: Any = run.model
        return self.labelled(reading_of_run(run, self.reader), model.spec.inputs, run)

    def vertices_of(self, run: "Run") -> "tuple[GraphData, VertexTask]":
        """The graph of a run and the task of its vertices, for pictures."""
        found = self.of_run(run)
        return found.data, found.task

    def test_metrics(self, run: "Run") -> dict[str, float]:
        from cutaway.tasks.graphs.vertex_baselines import vertex_baselines

        graph, task, _ = self.of_run(run)
        rows = graph.open_test()
        name, better = ("accuracy", max) if graph.classes else ("rmse", min)
        best = better(one["metrics"][name] for one in vertex_baselines(graph, rows).values())
        return task.metrics(run.model, rows) | {f"baseline_{name}": best}

    def vertex_vectors(self, run: "Run") -> "tuple[Sequence[str], Tensor]":
        graph, task, _ = self.of_run(run)
        return graph.names, task.vectors(run.model)

    def read_inputs(self, source: str) -> Any:
        from cutaway.tasks.graphs.vertex_names import read_names

        return read_names(source, self.encoding)

    def predict(self, run: "Run", inputs: Any) -> list[dict[str, Any]]:
        """The class of each vertex that is named (a name, several, "all") and P(label) for each label; or its value."""
        from cutaway.tasks.graphs.vertex_names import find_vertices
        from cutaway.tasks.graphs.vertices import predicted_vertices

        graph, task, _ = self.of_run(run)
        rows = find_vertices(inputs, graph.names)
        names = [graph.names[i] for i in rows]
        return predicted_vertices(task.outputs(run.model, rows), names, graph.classes, graph.target)

    def predict_in(self, run: "Run", inputs: Any, data: Any, vertices: Any = None) -> list[dict[str, Any]]:
        """The same for vertices of another graph, which has the same columns."""
        return self.reader().predict_in(run, inputs, data, vertices)

    def answers_before_and_after(self, run: "Run", base: Any) -> "Answers | None":
        from cutaway.tuning.graph_comparison import vertex_answers

        graph, task, _ = self.of_run(run)
        return vertex_answers(base, run.model, graph, task)

    def subject(self, run: "Run", given: str | None = None) -> "Subject":
        """The graph; a vertex of it by its name, else one whose neighbours are worth looking at."""
        from cutaway.tasks.graphs.vertex_names import vertex_subject

        graph, task, _ = self.of_run(run)
        return vertex_subject(run, task, graph, given)


__all__ = ["LabelledGraph", "TunedVerticesRecipe"]
