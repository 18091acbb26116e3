r"""The task `vertices`: classes or values of a graph's vertices, by an encoder that has learned to restore hidden parts
of it, or by a model of vertices that was trained on another graph with the same columns.
"""

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.overriding import override
from cutaway.recipes.graphs.graph_settings import VERTEX_OFFERS
from cutaway.recipes.settings import DATA, FIRST, setting
from cutaway.tasks.abilities.ability import Offer
from cutaway.tuning.settings import TunedRecipe

if TYPE_CHECKING:
    from torch import nn

    from cutaway.data.graphs.graph_data import GraphData
    from cutaway.data.graphs.raw_graphs import GraphColumns
    from cutaway.runs.run import Run
    from cutaway.tasks.graphs.vertices import VertexLabels
    from cutaway.tuning.bases import Base
    from cutaway.tuning.learners.vertices import TunedVertices

# Of 0.001 and 0.005 the first had the lower validation loss on Cora and on the sample of citations, for LoRA and for
# all weights; of 0.01 and 0.03 the first for a head. Those of adapters and last layers were not tried.
_RATES = {"lora": 1e-3, "adapter": 1e-3, "head_only": 1e-2, "last": 1e-3, "full": 1e-3}


@dataclass(frozen=True)
class TunedVerticesRecipe(TunedRecipe):
    """Tunes a model of a graph (`masked-graph`, gcn, gat …) to give vertices a class or value, where few are known.

    The graph is read as the base read its own, and may be another with the same columns; vertices without a class
    teach by their features and edges.
    """

    name: ClassVar[str] = "tuned-vertices"
    abilities: ClassVar[tuple[Offer, ...]] = (
        *VERTEX_OFFERS,
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
    task_kind: ClassVar[str] = "graphs/vertices"
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

    @override
    @classmethod
    def suits(cls, data: Any) -> str:
        from cutaway.data.kinds import one_graph

        return one_graph(data)

    @override
    def settled(self, task: Any = None, base: Any = None) -> "TunedRecipe":
        new = super().settled(task, base)
        more: dict[str, Any] = {} if self.rate else {"rate": _RATES[new.way]}
        more |= {} if self.evaluate_every else {"evaluate_every": max(1, new.steps // 50)}
        more |= {} if self.checkpoint_every else {"checkpoint_every": max(1, new.steps // 2)}
        more |= {} if self.warmup else {"warmup": 0}
        return dataclasses.replace(new, **more)

    def read_graph(self, source: Any, vertices: Any = None, like: "GraphColumns | None" = None) -> "GraphData":
        """A graph with labels by these settings, from a path or from memory; ``like`` are the columns of the base's."""
        from cutaway.data.graphs.graph_data import read_graph

        return read_graph(
            source,
            vertices=vertices,
            target=self.target,
            labelled=True,
            directed=self.directed,
            weight=self.weight or None,
            validation=self.validation,
            test=self.test,
            seed=self.seed,
            encoding=self.encoding,
            like=like,
        )

    @override
    def read(self, base: Any = None) -> "VertexLabels":
        from cutaway.models.graphs.layer_kinds import LAYERS
        from cutaway.tasks.graphs.vertices import VertexLabels
        from cutaway.tuning.graph_bases import expect_same_vertices, reading_of_base

        spec = base.model.spec
        if LAYERS[spec.layer].belongs_to_a_graph or spec.graph_size:
            raise ValueError(
                f"a model is tuned to graphs that it can be moved to, got {base.path}, which holds the eigenvectors of "
                "its own; tune a run of masked-graph, gcn or gat"
            )
        task = VertexLabels(self, like=reading_of_base(base, self), base_inputs=spec.inputs)
        task.graph  # noqa: B018 -- reads it, and expects the features of the base
        if task.features.kind == "identity":
            expect_same_vertices(base, task.parts)
        return task

    @override
    def task_of(self, run: "Run") -> "VertexLabels":
        from cutaway.tasks.graphs.vertices import VertexLabels
        from cutaway.tuning.graph_bases import reading_of_run

        return VertexLabels(self, run, reading_of_run(run), run.about["spec"]["inputs"])

    @override
    def headed(self, base: "Base", task: "VertexLabels") -> "nn.Module":
        classes = task.classes
        return base.model.with_purpose("vertices", "multi-class" if classes else "regression", len(classes) or 1)

    @override
    def learner_kind(self) -> "type[TunedVertices]":
        from cutaway.tuning.learners.vertices import TunedVertices

        return TunedVertices
