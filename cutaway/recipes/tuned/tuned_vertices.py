r"""The task `vertices`: classes of a graph's vertices, by an encoder that has learned to restore hidden parts of it."""

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from cutaway.recipes.graphs.gcn import GCNRecipe
from cutaway.recipes.settings import DATA, FIRST, setting
from cutaway.recipes.tuned.tuned_base import TunedRecipe

if TYPE_CHECKING:
    from torch import nn

    from cutaway.data.graphs.graph_data import GraphData
    from cutaway.recipes.graphs.vertex_classes import VertexTask
    from cutaway.recipes.subjects import Subject
    from cutaway.recipes.tuned.bases import Base
    from cutaway.runs.run import Run
    from cutaway.training.jobs import Job

SCALE = "scale.json"  # in the run folder: how features are scaled, as the base had them
# The head's was tried on validation vertices of Cora, the others were not.
_RATES = {"lora": 5e-3, "adapter": 5e-3, "head_only": 1e-2, "last": 5e-3, "full": 5e-3}


class LabelledGraph(NamedTuple):
    """A graph with classes of some vertices, and the task that they make."""

    data: "GraphData"
    task: "VertexTask"
    scale: str


@dataclass(frozen=True)
class TunedVerticesRecipe(TunedRecipe):
    """Tunes an encoder of a graph (`masked-graph`) to give every vertex a class, where few classes are known.

    The graph is read as the base read its own; vertices without a class teach by their features and edges.
    """

    name: ClassVar[str] = "tuned-vertices"
    task: ClassVar[str] = "vertices"
    unit: ClassVar[str] = "nats a vertex"
    input: ClassVar[str] = "NAME"
    prediction: ClassVar[str] = "the name of a vertex, a file of names, or all, in; the class and P(label) of each out"

    data: str = setting("", FIRST, "PATH")
    """a list of edges (CSV, TSV, Parquet), GraphML, Matrix Market, an .npz, or an embedded sample"""
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
    """full learning rate; 0 for one that suits the way: 0.01 for a head, 0.005 for others"""
    weight_decay: float = 0.05
    """pull of the matrices towards zero"""
    schedule: Literal["constant", "linear", "cosine", "step", "wsd"] = "constant"
    """shape of the learning rate over the steps"""

    @classmethod
    def suits(cls, data: Any) -> str:
        from cutaway.recipes.tuned.data_kinds import one_graph

        return one_graph(data)

    def settled(self) -> "TunedRecipe":
        new = super().settled()
        more: dict[str, Any] = {} if self.rate else {"rate": _RATES[new.way]}
        more |= {} if self.evaluate_every else {"evaluate_every": max(1, new.steps // 50)}
        more |= {} if self.checkpoint_every else {"checkpoint_every": max(1, new.steps // 2)}
        more |= {} if self.warmup else {"warmup": 0}
        prepared = new._prepared  # type: ignore[attr-defined]
        new = dataclasses.replace(new, **more)
        object.__setattr__(new, "_prepared", prepared)
        return new

    def reader(self, scale: str) -> GCNRecipe:
        """The recipe whose way of reading a graph with classes is taken."""
        names = ("data", "vertices", "target", "directed", "weight", "encoding", "validation", "test", "seed")
        features: Any = scale
        return GCNRecipe(**{name: getattr(self, name) for name in names}, features=features)

    def labelled(self, scale: str, run: "Run | None" = None) -> LabelledGraph:
        """The graph with its classes; that of a ``run`` must be as it was."""
        reader = self.reader(scale)
        data = reader.dataset(run)
        if not data.classes:
            raise ValueError(
                f"this task gives vertices classes, got numbers in {data.target!r} of {data.name}; name a column of "
                "classes by --target"
            )
        return LabelledGraph(data, reader.vertex_task(data), scale)

    def read(self, base: "Base") -> LabelledGraph:
        found = self.labelled(_scale(base.file(SCALE) or base.file("features.json"), base.path))
        inputs = base.model.spec.inputs
        width = 0 if found.task.graph.x is None else found.task.graph.x.shape[1]
        if width != inputs:
            raise ValueError(
                f"the graph must have the {inputs} features of its base's, got {width} in {found.data.name}; give the "
                "graph that the base has learned, or one of the same kind"
            )
        return found

    def count(self, data: LabelledGraph) -> int:
        return len(data.data.train)

    def headed(self, base: "Base", data: LabelledGraph) -> "nn.Module":
        return base.model.with_purpose("vertices", "multi-class", len(data.data.classes))

    def task_job(self, model: "nn.Module", base: "Base", data: LabelledGraph, rank: int, world: int) -> "Job":
        from cutaway.atomic_files import write_json
        from cutaway.recipes.graphs.vertex_baselines import vertex_baselines
        from cutaway.training.jobs import Job

        graph, task, scale = data
        facts = self.reader(scale).graph_facts(graph)
        held = graph.validation
        if held is not None:
            facts["baselines"] = vertex_baselines(graph, held)

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
            files={SCALE: lambda path: write_json(path, {"scale": scale})},
            data=facts,
        )

    def of_run(self, run: "Run") -> LabelledGraph:
        """The graph of a run, as it was."""
        return self.labelled(_scale(run.file(SCALE), str(run.path)), run)

    def test_metrics(self, run: "Run") -> dict[str, float]:
        from cutaway.recipes.graphs.vertex_baselines import vertex_baselines

        graph, task, _ = self.of_run(run)
        rows = graph.open_test()
        best = max(one["metrics"]["accuracy"] for one in vertex_baselines(graph, rows).values())
        return task.metrics(run.model, rows) | {"baseline_accuracy": best}

    def read_inputs(self, source: str) -> Any:
        from cutaway.recipes.graphs.vertex_names import read_names

        return read_names(source, self.encoding)

    def predict(self, run: "Run", inputs: Any) -> list[dict[str, Any]]:
        """The class of each vertex that is named (a name, several, "all"), and P(label) for every label."""
        from cutaway.recipes.graphs.vertex_classes import predicted_vertices
        from cutaway.recipes.graphs.vertex_names import find_vertices

        graph, task, _ = self.of_run(run)
        rows = find_vertices(inputs, graph.names)
        return predicted_vertices(task.outputs(run.model, rows), [graph.names[i] for i in rows], graph.classes)

    def subject(self, run: "Run", given: str | None = None) -> "Subject":
        """The graph; a vertex of it by its name, else one whose neighbours are worth looking at."""
        from cutaway.recipes.graphs.vertex_names import vertex_subject

        graph, task, _ = self.of_run(run)
        return vertex_subject(run, task, graph, given)


def _scale(path: Any, place: str) -> str:
    from cutaway.atomic_files import read_json

    if path is None:
        raise ValueError(f"an encoder of graphs needs the scale of its features, got {place} without it; take a copy")
    return str(read_json(path, "scale")["scale"])


__all__ = ["SCALE", "LabelledGraph", "TunedVerticesRecipe"]
