r"""The data of `masked-graph`: one graph whose vertices and edges are split, or many graphs that are.

one graph       vertices of validation are never hidden in training, only in evaluations; their features stay seen
                as neighbours. Edges of validation and test are taken out of the graph where edges are hidden.
many graphs     whole graphs are for training, validation or test
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Bool
from torch import Tensor

from cutaway.blocks.graphs.compressed_rows import is_sparse_rows
from cutaway.blocks.graphs.graph import Graph
from cutaway.data.batches import Batches
from cutaway.data.graphs.graph_set import GraphRows, GraphSet, read_graphs
from cutaway.data.splits import split_rows
from cutaway.tasks.graphs.masked import (
    GraphMasks,
    GraphSetMasks,
    HiddenParts,
    Restoration,
    draw_parts,
    find_kinds,
    random_pairs,
    rows_at,
)
from cutaway.tasks.graphs.vertex_features import FeatureScale, is_counted, with_features

if TYPE_CHECKING:
    from cutaway.recipes.graphs.masked_graph import MaskedGraphRecipe
    from cutaway.runs.run import Run

_EVALUATED = 1000  # graphs, at most, of an evaluation


class MaskedData(ABC):
    """What both kinds of data tell a recipe."""

    data: Any
    inputs: int
    units: int
    unit: str
    restoration: Restoration
    feature_names: tuple[str, ...]
    scale: str

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """For `Job.data`."""

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

    @abstractmethod
    def files(self) -> "dict[str, Callable[[Path], None]]":
        """What else the run folder holds: how graphs are read, and the copy of those in memory."""

    def about(self) -> dict[str, Any]:
        """For the run folder: names of the features, the kinds among them, and their scale."""
        kinds = [kind._asdict() for kind in self.restoration.kinds]
        return {"names": list(self.feature_names), "kinds": kinds, "scale": self.scale}


class OneMaskedGraph(MaskedData):
    """One graph."""

    def __init__(self, recipe: "MaskedGraphRecipe", run: "Run | None" = None) -> None:
        self.recipe, self.data = recipe, recipe.dataset(run)
        graph = self.data.graph.without_absent()
        shares = recipe.shares()
        if shares[0] and (recipe.features == "identity" or not _varies([graph])):
            raise ValueError(
                f"hidden vertices are restored by their features, got {self.data.name} without any that vary; use "
                "--hide edges, or give a table of vertices"
            )
        if shares[1] and not graph.edges.shape[1]:
            raise ValueError(f"hidden edges need edges, got none in {self.data.name}; give a graph with some")
        kinds = () if graph.x is None else find_kinds(self.data.feature_names, [graph])
        counted = graph.x is not None and (bool(kinds) or is_counted(graph.x))
        self.scale = "as given" if counted and recipe.features == "auto" else recipe.features
        self.graph = with_features(graph, self.scale)
        assert self.graph.x is not None
        self.feature_names = self.data.feature_names
        self.inputs = self.graph.x.shape[1]
        self.units, self.unit = self.graph.vertices, "vertices"
        self.restoration = Restoration(kinds, recipe.power)
        self._vertices = split_rows(graph.vertices, recipe.validation, recipe.test, recipe.seed)
        self._edges = split_rows(graph.edges.shape[1], recipe.validation, recipe.test, recipe.seed)

    def some_graphs(self) -> Sequence[Graph]:
        return [self.graph]

    def facts(self) -> dict[str, Any]:
        return self.recipe.graph_facts(self.data)

    def files(self) -> "dict[str, Callable[[Path], None]]":
        reading = replace(self.recipe.reading(self.data), features=FeatureScale.of(self.data.graph, self.scale))
        return self.recipe.graph_files(reading)

    def batches(self, rank: int, world: int) -> Batches[HiddenParts]:
        graph, _ = self._graph_of("train")
        n, m = graph.vertices, graph.edges.shape[1]
        open_vertices = _mask(n, self._vertices[0])
        return GraphMasks(graph, self.recipe.shares(), open_vertices, np.ones(m, bool), self.recipe.seed, rank, world)

    def held_parts(self) -> HiddenParts | None:
        return self._parts("validation", 1) if len(self._vertices[1]) else None

    def test_parts(self) -> HiddenParts:
        if not len(self._vertices[2]):
            raise ValueError(f"a test needs vertices, got test={self.recipe.test}; train with test above 0")
        return self._parts("test", 2)

    def known_rows(self) -> Tensor:
        return rows_at(self.graph, torch.from_numpy(_mask(self.graph.vertices, self._vertices[0])))

    def _graph_of(self, part: str) -> tuple[Graph, Bool[np.ndarray, "m"]]:
        """The graph with the edges that a part may see, and which of all those are: of training, no other's."""
        m = self.graph.edges.shape[1]
        if not self.recipe.shares()[1]:
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
        shares = self.recipe.shares()
        vertices = _mask(graph.vertices, self._vertices[which] if shares[0] else np.empty(0, np.int64))
        edges = _mask(len(kept), self._edges[which] if shares[1] else np.empty(0, np.int64))[kept]
        return HiddenParts(graph, vertices, edges, random_pairs(graph, edges, 0, which, "fixed"))


class MaskedGraphs(MaskedData):
    """Many graphs."""

    def __init__(self, recipe: "MaskedGraphRecipe", run: "Run | None" = None) -> None:
        self.recipe = recipe
        self.data = self._read()
        if run is not None:
            run.expect_same_data(self.data.fingerprint)
        first, shares = self.data.train.graphs[0], recipe.shares()
        if shares[0] and not _varies(self.data.train.graphs):
            raise ValueError(
                f"hidden vertices are restored by their features, got {self.data.name} without any that vary; use "
                "--hide edges"
            )
        self.scale, self.feature_names = "as given", self.data.feature_names
        kinds = find_kinds(self.data.feature_names, self.data.train.graphs)
        self.inputs = 1 if first.x is None else first.x.shape[1]
        self.units, self.unit = min(recipe.batch, len(self.data.train)), "graphs"
        self.restoration = Restoration(kinds, recipe.power)

    def _read(self) -> GraphSet:
        """All graphs, with a target or without."""
        recipe = self.recipe
        parts: dict[str, Any] = {"validation": recipe.validation, "test": recipe.test, "seed": recipe.seed}
        return read_graphs(recipe.data, **parts, target=recipe.target, encoding=recipe.encoding, labelled=False)

    def some_graphs(self) -> Sequence[Graph]:
        return self.data.train.graphs

    def facts(self) -> dict[str, Any]:
        kinds = ", ".join(kind.name for kind in self.restoration.kinds)
        summary = self.data.summary() + (f"\nhidden and restored: {kinds}" if kinds else "")
        return {"summary": summary, "fingerprint": self.data.fingerprint.to_dict(), "source": self.recipe.data}

    def files(self) -> "dict[str, Callable[[Path], None]]":
        return {}

    def about(self) -> dict[str, Any]:
        return super().about() | {"features": self.data.features.to_dict()}

    def batches(self, rank: int, world: int) -> Batches[HiddenParts]:
        return GraphSetMasks(
            with_ones(self.data.train), self.recipe.shares(), self.units, self.recipe.seed, rank, world
        )

    def held_parts(self) -> HiddenParts | None:
        return None if self.data.validation is None else self._parts(self.data.validation, "fixed")

    def test_parts(self) -> HiddenParts:
        return self._parts(self.data.open_test(), "test")

    def known_rows(self) -> Tensor:
        graphs = with_ones(self.data.train).graphs
        return torch.cat([graph.x for graph in graphs if graph.x is not None]).float()

    def _parts(self, rows: GraphRows, purpose: str) -> HiddenParts:
        graph = Graph.batch(list(with_ones(rows.take(range(min(len(rows), _EVALUATED)))).graphs))
        return draw_parts(graph, self.recipe.shares(), 0, 0, purpose)


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
    found = np.zeros(count, bool)
    found[rows] = True
    return found


__all__ = ["MaskedData", "MaskedGraphs", "OneMaskedGraph", "with_ones"]
