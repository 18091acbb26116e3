r"""What recipes for one graph share: where its edges and vertices are, how they are read, and how training goes."""

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.recipes.base import Recipe
from cutaway.recipes.checks import expect_at_least, expect_share
from cutaway.recipes.settings import DATA, FIRST, RESULTS, setting
from cutaway.tasks.abilities.ability import Offer
from cutaway.training.optimizers.names import Optimizer
from cutaway.training.optimizers.schedules import Shape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from torch import Tensor

    from cutaway.blocks.graphs.graph import Graph
    from cutaway.data.graphs.graph_data import GraphData
    from cutaway.data.graphs.raw_graphs import GraphColumns
    from cutaway.runs.run import Run
    from cutaway.tasks.graphs.transfer import GraphReading
    from cutaway.tasks.words.word_rows import WordRows


class VertexVectors:
    """A mixin of recipes whose model has a vector for every vertex of the run's graph: these are embedded, and searched
    by `cutaway nearest RUN NAME`."""

    abilities: ClassVar[tuple[Offer, ...]] = (
        Offer("embed"),
        Offer("nearest", noun="vertices"),
        Offer("look", takes="NAME"),
    )

    encoding: str

    def vertex_vectors(self, run: "Run") -> "tuple[Sequence[str], Tensor]":
        """The names of all vertices, and their vectors (vertices, width)."""
        raise ValueError(
            f"a run of {run.recipe.name!r} cannot embed vertices; `cutaway list recipes` tells what each can do"
        )

    def word_rows(self, run: "Run") -> "WordRows":
        from cutaway.tasks.words.word_rows import WordRows

        names, vectors = self.vertex_vectors(run)
        return WordRows(list(names), vectors.numpy())

    def embed(self, run: "Run", inputs: Any) -> "Tensor":
        """The vectors of vertices by their names; of a single name its vector."""
        from cutaway.tasks.graphs.vertex_names import find_vertices

        names, vectors = self.vertex_vectors(run)
        found = vectors[find_vertices(inputs, names)]
        return found[0] if isinstance(inputs, str) and len(found) == 1 else found

    def embedded_items(
        self, run: "Run", source: str, column: str = "", encoding: str = "utf-8"
    ) -> "Iterator[tuple[list[str], Any]]":
        """The vertices of a file of names, or all of them, in one piece: they are computed together."""
        from cutaway.tasks.graphs.vertex_names import ALL, read_names

        asked = read_names(source, encoding)
        if isinstance(asked, str) and asked.strip() == ALL:
            asked = list(self.vertex_vectors(run)[0])
        names = [asked] if isinstance(asked, str) else [str(name) for name in asked]
        yield names, names


@dataclass(frozen=True)
class GraphRecipe(VertexVectors, Recipe):
    """A model of one graph."""

    memory: ClassVar[str] = "cutaway.data.stored:keep_graph"
    needs_labels: ClassVar[bool] = False  # whether a graph without classes is refused

    data: str = "citations"
    """a list of edges (CSV, TSV, Parquet), GraphML, JSON, Pajek, Matrix Market, an .npz, or an embedded sample"""
    vertices: str = setting("", DATA, "PATH")
    """a table of the vertices beside the edges: their id, features, and the target"""
    target: str = setting("", DATA)
    """the column of classes in the table of vertices (default: one called label or class)"""
    directed: bool = setting(False, DATA)
    """messages go from the first vertex of an edge to the second alone"""
    weight: str = setting("", DATA)
    """the column of weights in the list of edges (default: one called weight)"""
    repeats: Literal["auto", "add", "first", "last", "keep"] = setting("auto", DATA)
    """an edge that comes again; auto: kept once, its weights add up, and refused if features or labels contradict; add:
    each counts; first, last: that one is taken; keep: edges of their own"""
    header: bool | None = setting(None, DATA)
    """whether the first row of a list of edges holds the names of its columns (default: by its looks)"""
    features: Literal["auto", "rows", "columns", "as given", "identity"] = setting("auto", DATA)
    """scale of the features: each row sums to 1 (words), each column has spread 1 (measurements), as given, or none of
    them but a learned vector for every vertex (identity); auto: by what they look like"""
    validation: float = setting(0.2, DATA)
    """share to evaluate on; 0 for none; data with a split of its own keeps it"""
    test: float = setting(0.2, DATA)
    """share for `cutaway test`; 0 for none"""
    encoding: str = setting("utf-8", DATA)
    """encoding of the files"""

    width: int = setting(16, FIRST)
    """numbers that a vertex is described by between layers"""
    depth: int = setting(2, FIRST)
    """layers: how many edges away a vertex can see"""
    dropout: float = setting(0.5, FIRST)
    """share of what goes into each layer that is dropped in training"""

    steps: int = 200
    """optimizer steps, at most"""
    optimizer: Optimizer = "adam"
    """rule that turns gradients into steps"""
    rate: float = 0.01
    """full learning rate"""
    schedule: Shape = "constant"
    """shape of the learning rate over the steps"""
    beta: float = 0.999
    """how long Adam remembers squared gradients"""
    clip: float = 0.0
    """longest gradient allowed; 0 for any"""
    evaluate_every: int = setting(1, RESULTS)
    """steps between evaluations"""
    checkpoint_every: int = setting(100, RESULTS)
    """steps between checkpoints"""

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_share(self, "validation", "test", "dropout")
        expect_at_least(self, 1, *(name for name in ("width", "depth") if name not in self.open_settings))
        if self.patience and not self.validation:
            raise ValueError(
                f"patience needs something to evaluate on, got patience={self.patience} with validation=0; "
                "set patience=0 too"
            )

    def dataset(self, run: "Run | None" = None, like: "GraphColumns | None" = None) -> "GraphData":
        """The graph with its classes and parts; that of a ``run`` must be as it was.

        ``like`` are the columns of another graph, which its features are then made of.
        """
        found = self.read_graph(self.data, self.vertices or None, like)
        if run is not None:
            run.expect_same_data(found.fingerprint)
        return found

    def read_graph(self, source: Any, vertices: Any = None, like: "GraphColumns | None" = None) -> "GraphData":
        """A graph by these settings, from a path or from memory."""
        from cutaway.data.graphs.graph_data import read_graph

        return read_graph(
            source,
            vertices=vertices,
            directed=self.directed,
            weight=self.weight or None,
            validation=self.validation,
            test=self.test,
            seed=self.seed,
            encoding=self.encoding,
            header=self.header,
            repeats=self.repeats,
            like=like,
            **self.read_options(),
        )

    def other_graph(self, run: "Run", data: Any, vertices: Any) -> "tuple[GraphData, GraphReading, Graph]":
        """Another graph than the run's own, how the run reads graphs, and the graph with features on its scale."""
        from cutaway.data.graphs.graph_data import read_graph
        from cutaway.tasks.graphs.transfer import GraphReading

        reading = GraphReading.of_run(run)
        model: Any = run.model
        found = read_graph(
            data,
            vertices=None if isinstance(vertices, str) and not vertices else vertices,
            directed=self.directed,
            weight=self.weight or None,
            encoding=self.encoding,
            repeats=self.repeats,
            like=reading.columns,
            **self.other_options(reading),
        )
        for note in found.notes:
            warnings.warn(f"{found.name}: {note}", stacklevel=2)
        return found, reading, reading.scaled(found, model.spec.inputs, lambda: self.dataset(run).names)

    def other_options(self, reading: "GraphReading") -> dict[str, Any]:
        """What `read_graph` is to be told of another graph."""
        return {}

    def reading(self, data: "GraphData") -> "GraphReading":
        """What the run notes to read other graphs as this one."""
        from cutaway.tasks.graphs.transfer import GraphReading
        from cutaway.tasks.graphs.vertex_features import FeatureScale
        from cutaway.tasks.graphs.whole_graphs import Scale

        known = data.targets is not None and not data.classes and len(data.train)
        values = Scale.of(data.targets[data.train]) if known and data.targets is not None else None
        return GraphReading(data.columns, FeatureScale.of(data.graph, self.features), data.classes, data.target, values)

    def read_options(self) -> dict[str, Any]:
        """What else `read_graph` is to be told: by default, the column of the vertices' classes."""
        return {"target": self.target, "labelled": self.needs_labels}

    def graph_facts(self, data: "GraphData") -> dict[str, Any]:
        """What config.json says of the graph: for `Job.data`."""
        return {"summary": data.summary(), "fingerprint": data.fingerprint.to_dict(), "source": self.data}

    def graph_files(self, reading: "GraphReading") -> "dict[str, Callable[[Path], None]]":
        """How graphs are read: for `Job.files`."""
        from cutaway.atomic_files import write_json
        from cutaway.tasks.graphs.transfer import READING

        noted = reading.to_dict()
        return {READING: lambda path: write_json(path, noted)}

    def smaller(self) -> str:
        return f"lower width={self.width} or depth={self.depth}"


def refuse_signs(data: "GraphData", what: str) -> None:
    """Stops at weights below 0, for ``what`` cannot take them."""
    weights = data.graph.weights
    if weights is None or not len(weights) or float(weights.min()) >= 0:
        return
    low = int(weights.argmin())
    a, b = (data.names[int(v)] for v in data.graph.edges[:, low])
    raise ValueError(
        f"{what} need weights of 0 or more, since they divide by their sums, got {float(weights[low]):g} for {a} – "
        f"{b} in {data.name}; write the sizes of the weights, or name another column by weight"
    )
