r"""Tasks on one graph: it is read with its labels and parts, and its features are put on the scale of a network.

    task.parts      the graph as it was read, the names of its vertices, their labels
    task.graph      the same graph with the features that a network is given
    task.reading    what a run notes (`transfer.py`), so that another graph can be read as this one

A task that starts from a base reads its graph as the base read its own.
"""

from functools import cached_property
from typing import Any

from cutaway.atomic_files import write_json
from cutaway.blocks.graphs.graph import Graph
from cutaway.data.graphs.graph_data import GraphData
from cutaway.overriding import override
from cutaway.tasks.graphs.outcomes import Scale
from cutaway.tasks.graphs.transfer import READING, GraphReading, OtherGraph, read_other_graph
from cutaway.tasks.graphs.vertex_features import FeatureScale
from cutaway.tasks.task import Files, Task


class OneGraph(Task):
    """A graph by some settings. ``like`` is how a base reads graphs, whose model takes ``base_inputs`` features."""

    parts: GraphData

    def __init__(self, settings: Any, run: Any = None, like: GraphReading | None = None, base_inputs: int = 0) -> None:
        super().__init__(settings, run)
        self.like, self.base_inputs = like, base_inputs

    @override
    def read_parts(self) -> GraphData:
        settings = self.settings
        columns = None if self.like is None else self.like.columns
        return settings.read_graph(settings.data, settings.vertices or None, columns)

    @cached_property
    def features(self) -> FeatureScale:
        """The scale of the features of vertices."""
        return FeatureScale.of(self.parts.graph, self.settings.features) if self.like is None else self.like.features

    @cached_property
    def graph(self) -> Graph:
        """The graph with the features that a network is given."""
        if self.like is None:
            return self.features.apply(self.parts.graph)
        return self.like.scaled(self.parts, self.base_inputs, lambda: self.parts.names)

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes that are asked for; () of values."""
        return self.parts.classes

    @property
    def target(self) -> str:
        """What the data calls the labels that are asked for."""
        return self.parts.target

    @cached_property
    def scale(self) -> Scale | None:
        """The scale of values, that of the training vertices; None of classes."""
        targets, train = self.parts.targets, self.parts.train
        return None if targets is None or self.parts.classes or not len(train) else Scale.of(targets[train])

    @cached_property
    def reading(self) -> GraphReading:
        """How this graph was read, for a run to read others as this one."""
        columns = self.parts.columns if self.like is None else self.like.columns
        return GraphReading(columns, self.features, self.classes, self.target, self.scale)

    @override
    def files(self) -> Files:
        noted = self.reading.to_dict()
        return {READING: lambda path: write_json(path, noted)}

    def other_graph(self, data: Any, vertices: Any, inputs: int) -> OtherGraph:
        """Another graph than the run's own, for a model that takes so many ``inputs``, as the run reads graphs."""
        reading = GraphReading.of_run(self.run)
        options = self.options_of_others(reading)
        return read_other_graph(data, vertices, self.settings, reading, inputs, lambda: self.parts.names, **options)

    def options_of_others(self, reading: GraphReading) -> dict[str, Any]:
        """What `read_graph` is given for another graph, besides the settings of all tasks on one graph."""
        return {}
