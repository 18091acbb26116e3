r"""New graphs for a trained model, and what a run says of its targets."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cutaway.atomic_files import read_json
from cutaway.data.graphs.graph_set import GraphRows, is_graph_list, read_graphs
from cutaway.data.graphs.raw_graph_sets import GraphFeatures
from cutaway.data.tables.endings import TABLES, file_ending
from cutaway.tasks.graphs.whole_graphs import Scale

if TYPE_CHECKING:
    from cutaway.runs.run import Run


def read_new_graphs(inputs: Any, encoding: str = "utf-8", like: GraphFeatures | None = None) -> GraphRows:
    """Graphs without targets: a SMILES or several, a table with a column of them, other files, or graphs in memory.

    ``like`` are the features of training, which they are given.
    """
    if isinstance(inputs, (str, os.PathLike)):
        path = Path(inputs)
        if path.is_file() and file_ending(path) in TABLES:
            inputs = _smiles_of(path, encoding)
        elif not path.exists():
            inputs = [os.fspath(inputs)]
    if isinstance(inputs, (list, tuple)) and not inputs:
        raise ValueError("there must be a graph to predict for, got none; give a SMILES, or a file of graphs")
    if not isinstance(inputs, (str, list, tuple, os.PathLike)) and not is_graph_list(inputs):
        inputs = [inputs]  # one graph
    found = read_graphs(inputs, validation=0.0, test=0.0, encoding=encoding, like=like, labelled=False)
    width = len(found.features.vertices)
    if like is not None and width != len(like.vertices):
        raise ValueError(
            f"graphs must have the {len(like.vertices)} features of training, got {width} in {found.name}; give them "
            "in the same form"
        )
    return found.train


def graph_features(run: "Run") -> GraphFeatures | None:
    """The features that a run's graphs have; None of a run that did not note them."""
    from cutaway.recipes.graphs.gin import ABOUT

    path = run.file(ABOUT)
    about = {} if path is None else read_json(path, "classes")
    return GraphFeatures.from_dict(about["features"]) if "features" in about else None


def _smiles_of(path: Path, encoding: str) -> list[str]:
    """The column of SMILES of a table; whatever else it has is not looked at."""
    from cutaway.data.tables.table_files import load_frame

    frame = load_frame(path, encoding)
    column = next((name for name in frame.columns if "smiles" in str(name).casefold()), None)
    if column is None:
        raise ValueError(
            f"a table of molecules must have a column of SMILES, got {', '.join(map(str, frame.columns[:6]))} in "
            f"{path.name}; call the column smiles"
        )
    return frame[column].dropna().astype(str).tolist()


def graph_about(run: "Run") -> tuple[tuple[str, ...], str, Scale | None]:
    """The classes of a run's graphs (none of values), what its target is called, and the scale of values."""
    from cutaway.recipes.graphs.gin import ABOUT

    path = run.file(ABOUT)
    if path is None:
        raise ValueError(f"a run of graphs needs its {ABOUT}, got {run.path} without it; take it from a copy")
    about = read_json(path, "classes", "target")
    scale = Scale(about["mean"], about["std"]) if "mean" in about else None
    return tuple(about["classes"]), about["target"] or "value", scale


__all__ = ["graph_about", "graph_features", "read_new_graphs"]
