r"""The data of `masked-graph`: one graph whose vertices and edges are split, or many graphs that are.

one graph       vertices of validation are never hidden in training, only in evaluations; their features stay seen
                as neighbours. Edges of validation and test are taken out of the graph where edges are hidden.
many graphs     whole graphs are for training, validation or test
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool
from torch import Tensor

from cutaway.atomic_files import write_json
from cutaway.blocks.graphs.compressed_rows import is_sparse_rows
from cutaway.blocks.graphs.graph import Graph
from cutaway.data.batches import Batches
from cutaway.data.fingerprints import Fingerprint
from cutaway.data.graphs.graph_data import GraphData
from cutaway.data.graphs.graph_set import GraphRows, GraphSet, read_graphs
from cutaway.data.splits import split_rows
from cutaway.overriding import override
from cutaway.tasks.graphs.masking.restoration import (
    GraphMasks,
    GraphSetMasks,
    HiddenParts,
    Restoration,
    draw_parts,
    find_kinds,
    random_pairs,
    rows_at,
)
from cutaway.tasks.graphs.outcomes import Scale
from cutaway.tasks.graphs.transfer import READING, GraphReading
from cutaway.tasks.graphs.vertex_features import FeatureScale, is_counted, with_features
from cutaway.tasks.task import Files

_EVALUATED = 1000  # graphs, at most, of an evaluation


class MaskedData(ABC):
    """What is hidden of one graph, or of many, in training, evaluations and the test."""

    data: Any
    inputs: int
    units: int
    unit: str
    restoration: Restoration
    scale: str

    @property
    def fingerprint(self) -> Fingerprint:
        return self.data.fingerprint

    @property
    def feature_names(self) -> tuple[str, ...]:
        return self.data.feature_names

    def summary(self) -> str:
        """What a person should know before training on it."""
        return self.data.summary()

    def files(self) -> Files:
        """What a run notes beside the names of features."""
        return {}

    def about(self) -> dict[str, Any]:
        """The names of the features, which of them are kinds, and their scale."""
        kinds = [kind._asdict() for kind in self.restoration.kinds]
        return {"names": list(self.feature_names), "kinds": kinds, "scale": self.scale}

    @abstractmethod
    def some_graphs(self) -> Sequence[Graph]:
        """The graphs of training."""

    @abstractmethod
    def batches(self, rank: int, world: int) -> Batches[HiddenParts]:
        """What is hidden in each step."""

    @abstractmethod
    def held_parts(self) -> HiddenParts | None:
        """What is hidden in evaluations, always the same; None without a validation part."""

    @abstractmethod
    def test_parts(self) -> HiddenParts:
        """What is hidden in the test."""

    @abstractmethod
    def known_rows(self) -> Tensor:
        """Features of training vertices, of which baselines take the mean."""


class OneMaskedGraph(MaskedData):
    """One graph."""

    data: GraphData

    def __init__(self, settings: Any) -> None:
        self.settings = settings
        self.data = settings.read_graph(settings.data, settings.vertices or None)
        graph = self.data.graph.without_absent()
        shares = settings.shares()
        if shares[0] and (settings.features == "identity" or not _varies([graph])):
            raise ValueError(
                f"hidden vertices are restored by their features, got {self.data.name} without any that vary; use "
                "--hide edges, or give a table of vertices"
            )
        if shares[1] and not graph.edges.shape[1]:
            raise ValueError(f"hidden edges need edges, got none in {self.data.name}; give a graph with some")
        kinds = () if graph.x is None else find_kinds(self.data.feature_names, [graph])
        counted = graph.x is not None and (bool(kinds) or is_counted(graph.x))
        self.scale = "as given" if counted and settings.features == "auto" else settings.features
        self.graph = with_features(graph, self.scale)
        assert self.graph.x is not None
        self.inputs = self.graph.x.shape[1]
        self.units, self.unit = self.graph.vertices, "vertices"
        self.restoration = Restoration(kinds, settings.power)
        self._vertices = split_rows(graph.vertices, settings.validation, settings.test, settings.seed)
        self._edges = split_rows(graph.edges.shape[1], settings.validation, settings.test, settings.seed)

    @override
    def some_graphs(self) -> Sequence[Graph]:
        return [self.graph]

    @override
    def files(self) -> Files:
        """How the graph was read, for those that the model is tuned to."""
        data, values = self.data, None
        if data.targets is not None and not data.classes and len(data.train):
            values = Scale.of(data.targets[data.train])
        scale = FeatureScale.of(data.graph, self.scale)
        reading = GraphReading(data.columns, scale, data.classes, data.target, values).to_dict()
        return {READING: lambda path: write_json(path, reading)}

    @override
    def batches(self, rank: int, world: int) -> Batches[HiddenParts]:
        graph, _ = self._graph_of("train")
        n, m = graph.vertices, graph.edges.shape[1]
        open_vertices = _mask(n, self._vertices[0])
        return GraphMasks(
            graph, self.settings.shares(), open_vertices, np.ones(m, bool), self.settings.seed, rank, world
        )

    @override
    def held_parts(self) -> HiddenParts | None:
        return self._parts("validation", 1) if len(self._vertices[1]) else None

    @override
    def test_parts(self) -> HiddenParts:
        if not len(self._vertices[2]):
            raise ValueError(f"a test needs vertices, got test={self.settings.test}; train with test above 0")
        return self._parts("test", 2)

    @override
    def known_rows(self) -> Tensor:
        return rows_at(self.graph, torch.from_numpy(_mask(self.graph.vertices, self._vertices[0])))

    def _graph_of(self, part: str) -> tuple[Graph, Bool[np.ndarray, "m"]]:
        """The graph with the edges that a part may see, and which of all those are: of training, no other's."""
        m = self.graph.edges.shape[1]
        if not self.settings.shares()[1]:
            return self.graph, np.ones(m, bool)
        taken = {"train": (1, 2), "validation": (2,), "test": ()}[part]
        kept = np.ones(m, bool)
        for other in taken:
            kept[self._edges[other]] = False
        if kept.all():
            return self.graph, kept
        return self.graph.without_edges(torch.from_numpy(~kept)), kept

    def _parts(self, part: str, which: int) -> HiddenParts:
        graph, kept = self._graph_of(part)
        shares = self.settings.shares()
        vertices = _mask(graph.vertices, self._vertices[which] if shares[0] else np.empty(0, np.int64))
        edges = _mask(len(kept), self._edges[which] if shares[1] else np.empty(0, np.int64))[kept]
        return HiddenParts(graph, vertices, edges, random_pairs(graph, edges, 0, which, "fixed"))


class MaskedGraphs(MaskedData):
    """Many graphs."""

    data: GraphSet

    def __init__(self, settings: Any) -> None:
        self.settings, self.data = settings, read_many(settings)
        first, shares = self.data.train.graphs[0], settings.shares()
        if shares[0] and not _varies(self.data.train.graphs):
            raise ValueError(
                f"hidden vertices are restored by their features, got {self.data.name} without any that vary; use "
                "--hide edges"
            )
        self.scale = "as given"
        kinds = find_kinds(self.data.feature_names, self.data.train.graphs)
        self.inputs = 1 if first.x is None else first.x.shape[1]
        self.units, self.unit = min(settings.batch, len(self.data.train)), "graphs"
        self.restoration = Restoration(kinds, settings.power)

    @override
    def some_graphs(self) -> Sequence[Graph]:
        return self.data.train.graphs

    @override
    def summary(self) -> str:
        kinds = ", ".join(kind.name for kind in self.restoration.kinds)
        return super().summary() + (f"\nhidden and restored: {kinds}" if kinds else "")

    @override
    def about(self) -> dict[str, Any]:
        return super().about() | {"features": self.data.features.to_dict()}

    @override
    def batches(self, rank: int, world: int) -> Batches[HiddenParts]:
        return GraphSetMasks(
            with_ones(self.data.train), self.settings.shares(), self.units, self.settings.seed, rank, world
        )

    @override
    def held_parts(self) -> HiddenParts | None:
        return None if self.data.validation is None else self._parts(self.data.validation, "fixed")

    @override
    def test_parts(self) -> HiddenParts:
        return self._parts(self.data.open_test(), "test")

    @override
    def known_rows(self) -> Tensor:
        graphs = with_ones(self.data.train).graphs
        return torch.cat([graph.x for graph in graphs if graph.x is not None]).float()

    def _parts(self, rows: GraphRows, purpose: str) -> HiddenParts:
        graph = Graph.batch(list(with_ones(rows.take(range(min(len(rows), _EVALUATED)))).graphs))
        return draw_parts(graph, self.settings.shares(), 0, 0, purpose)


def _varies(graphs: Sequence[Graph]) -> bool:
    """Whether vertices differ in their features."""
    parts = [graph.x for graph in graphs if graph.x is not None]
    if not parts:
        return False
    if is_sparse_rows(parts[0]):
        return True
    whole = torch.cat(parts)
    return bool((whole != whole[:1]).any())


def with_ones(rows: GraphRows) -> GraphRows:
    """The same graphs; without features, every vertex has a 1."""
    graphs = tuple(g if g.x is not None else g.with_x(torch.ones(g.vertices, 1)) for g in rows.graphs)
    return GraphRows(graphs, rows.names, rows.targets)


def _mask(count: int, rows: np.ndarray) -> Bool[np.ndarray, "n"]:
    mask = np.zeros(count, bool)
    mask[rows] = True
    return mask


def read_many(settings: Any) -> GraphSet:
    """All graphs of the settings, with a target or without."""
    return read_graphs(
        settings.data,
        target=settings.target,
        validation=settings.validation,
        test=settings.test,
        seed=settings.seed,
        encoding=settings.encoding,
        labelled=False,
    )
