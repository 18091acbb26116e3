r"""How the graphs of a base were read, so that those that it is tuned to are read in the same way."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from cutaway.atomic_files import read_json
from cutaway.data.graphs.graph_data import GraphData
from cutaway.data.graphs.raw_graph_sets import GraphFeatures
from cutaway.data.graphs.raw_graphs import NO_COLUMNS
from cutaway.recipes.index import find_recipe
from cutaway.tasks.graphs.masked import ABOUT
from cutaway.tasks.graphs.one_graph import OneGraph
from cutaway.tasks.graphs.transfer import READING, GraphReading
from cutaway.tasks.graphs.vertex_features import FeatureScale
from cutaway.tasks.graphs.whole_graphs import ABOUT as GRAPHS

if TYPE_CHECKING:
    from cutaway.runs.run import Run
    from cutaway.tuning.bases import Base

SCALE = "scale.json"  # in folders of runs tuned before they noted how graphs are read


def reading_of_base(base: "Base", settings: Any) -> GraphReading:
    """How a base reads one graph; ``settings`` are those by which the graph to tune to is read."""
    found = base.file(READING)
    if found is not None:
        return GraphReading.of_file(found, base.path)
    return _by_scale(base.file(SCALE) or base.file(ABOUT), base.path, settings)


def reading_of_run(run: "Run") -> GraphReading:
    """How a tuned run reads one graph."""
    found = run.file(READING)
    if found is not None:
        return GraphReading.of_file(found, str(run.path))
    return _by_scale(run.file(SCALE), str(run.path), run.recipe)


def _by_scale(path: Path | None, place: str, settings: Any) -> GraphReading:
    """The reading of a run that noted the kind of its scale alone: the scale is found from the graph itself."""
    if path is None:
        raise ValueError(f"a model of graphs needs the scale of its features, got {place} without it; take a copy")
    kind = str(read_json(path, "scale")["scale"])
    return GraphReading(NO_COLUMNS, FeatureScale.of(OneGraph(settings).parts.graph, kind))


def expect_same_vertices(base: "Base", data: GraphData) -> None:
    """A base that knows vertices by learned vectors alone is tuned to the graph that it has learned."""
    own = OneGraph(find_recipe(base.about["recipe"])(**base.about["config"])).parts.names
    if tuple(own) != tuple(data.names):
        raise ValueError(
            f"the base knows vertices by learned vectors alone, got {data.name}, whose vertices are not those of "
            f"{base.path}; give features of vertices, or the graph that the base has learned"
        )


def features_of_base(base: "Base") -> GraphFeatures | None:
    """The features that the graphs of a base have; None of one that did not note them."""
    for name in (GRAPHS, ABOUT):
        path = base.file(name)
        about = {} if path is None else read_json(path)
        if "features" in about:
            return GraphFeatures.from_dict(about["features"])
    return None


__all__ = ["SCALE", "expect_same_vertices", "features_of_base", "reading_of_base", "reading_of_run"]
