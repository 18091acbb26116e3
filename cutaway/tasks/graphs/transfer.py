r"""Another graph than the one that a run was trained on: new, or grown since; read and scaled as the run's own was.

Columns become the same numbers, on the scale of training. Where vertices have no features but a learned vector each,
only those of training are known, whatever edges they have now. A model with eigenvectors of a Laplacian is given those
of the new graph for as long as it answers: the k-th frequency of another graph means much the same only where the two
graphs are alike.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from cutaway.atomic_files import read_json
from cutaway.blocks.graphs.compressed_rows import sparse_rows
from cutaway.blocks.graphs.graph import Graph
from cutaway.data.graphs.graph_data import GraphData, read_graph
from cutaway.data.graphs.raw_graphs import GraphColumns
from cutaway.data.graphs.spectra.eigenpairs import eigenpairs
from cutaway.tasks.graphs.outcomes import Scale
from cutaway.tasks.graphs.vertex_features import FeatureScale

if TYPE_CHECKING:
    from pathlib import Path

    from cutaway.runs.run import Run

READING = "vertices.json"  # in the run folder


@dataclass(frozen=True)
class GraphReading:
    """How a run reads a graph: the columns and the scale of features, and the classes or the scale of values."""

    columns: GraphColumns
    features: FeatureScale
    classes: tuple[str, ...] = ()
    target: str = ""
    values: Scale | None = None

    def to_dict(self) -> dict[str, Any]:
        """For the run folder."""
        found = {"classes": list(self.classes), "target": self.target, "columns": self.columns.to_dict()}
        found["features"] = asdict(self.features)
        return found | ({} if self.values is None else {"values": asdict(self.values)})

    @classmethod
    def of_run(cls, run: "Run") -> "GraphReading":
        """What a run noted when it began."""
        return cls.of_file(run.file(READING), str(run.path))

    @classmethod
    def of_file(cls, path: "Path | None", place: str) -> "GraphReading":
        """What the file in a run folder, the ``place``, says."""
        noted = {} if path is None else read_json(path, "classes")
        if "features" not in noted:
            raise ValueError(
                f"another graph is read as the run's own was, got {place}, which did not note how; train it again"
            )
        return cls(
            GraphColumns.from_dict(noted["columns"]),
            FeatureScale(noted["features"]["kind"], *(tuple(noted["features"][part]) for part in ("mean", "std"))),
            tuple(noted["classes"]),
            noted["target"],
            Scale(**noted["values"]) if "values" in noted else None,
        )

    def scaled(self, data: GraphData, inputs: int, own_names: Callable[[], Sequence[str]]) -> Graph:
        """The graph with features on the scale of training, for a model that takes so many.

        A vertex that is known by a learned vector alone must be one of the run's own, which ``own_names`` gives.
        """
        if self.features.kind == "identity":
            return data.graph.with_x(own_rows(data.names, own_names(), data.name))
        width = 0 if data.graph.x is None else data.graph.x.shape[1]
        if width != inputs:
            made_of = ", ".join(column.name for column in self.columns.vertices[:5])
            raise ValueError(
                f"every vertex must have the {inputs} features of training{f' ({made_of})' * bool(made_of)}, got "
                f"{width} in {data.name}; give their table by vertices"
            )
        return self.features.apply(data.graph)


def has_values(run: "Run") -> bool:
    """Whether a run predicts values, and no classes, by what it noted when it began."""
    path = run.file(READING)
    return path is not None and "values" in read_json(path, "classes")


class OtherGraph(NamedTuple):
    """A graph as it was read, how the run reads graphs, and the graph with its features on the run's scale."""

    data: GraphData
    reading: GraphReading
    graph: Graph


def read_other_graph(
    data: Any,
    vertices: Any,
    settings: Any,
    reading: GraphReading,
    inputs: int,
    own_names: Callable[[], Sequence[str]],
    **options: Any,
) -> OtherGraph:
    """A graph and its table of vertices, by the settings and the ``reading`` of a run; what was merged is told."""
    found = read_graph(
        data,
        vertices=None if isinstance(vertices, str) and not vertices else vertices,
        directed=settings.directed,
        weight=settings.weight or None,
        encoding=settings.encoding,
        repeats=getattr(settings, "repeats", "auto"),
        like=reading.columns,
        **options,
    )
    for note in found.notes:
        warnings.warn(f"{found.name}: {note}", stacklevel=2)
    return OtherGraph(found, reading, reading.scaled(found, inputs, own_names))


def own_rows(names: Sequence[str], own: Sequence[str], source: str) -> Tensor:
    """For each name the row of the identity that stands for the same name in training: sparse (names, own names)."""
    place = {name: i for i, name in enumerate(own)}
    unknown = [name for name in names if name not in place]
    if unknown:
        raise ValueError(
            f"the model knows vertices by learned vectors alone, got {len(unknown):,} in {source} that training had "
            f"not, the first {unknown[0]!r}; train on features of vertices to answer for new ones"
        )
    columns = torch.tensor([place[name] for name in names])
    return sparse_rows(torch.arange(len(names) + 1), columns, torch.ones(len(names)), len(own))


@contextmanager
def temporary_eigenvectors(model: Any, graph: Graph, name: str) -> Iterator[None]:
    """Inside, a model that is given eigenvectors has those of this graph; after it, its own again."""
    own = model.eigenvectors
    if own is None:
        yield
        return
    count = min(own.shape[1], graph.vertices)
    found = eigenpairs(graph, count, kind="symmetric").tensors()[1].to(own)
    if count < own.shape[1]:  # a small graph has fewer: the rest say nothing
        found = torch.cat([found, found.new_zeros(graph.vertices, own.shape[1] - count)], 1)
    warnings.warn(
        f"the model was trained with eigenvectors of its own graph; those of {name} were computed anew, and answers "
        "are good where the two graphs are alike",
        stacklevel=2,
    )
    model.eigenvectors = found
    try:
        yield
    finally:
        model.eigenvectors = own
