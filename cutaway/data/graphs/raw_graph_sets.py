r"""Many graphs as they were read, before labels are numbered and parts are drawn; their features are the same columns.

Tables of vertices are read together: a category has a column for each value that it has in any of the graphs. Graphs
that are read later, for predictions, are given the columns of training (`GraphFeatures`).
"""

import io
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from cutaway.blocks.graphs.graph import Graph
from cutaway.data.fingerprints import Fingerprint, fingerprint_files
from cutaway.data.graphs.raw_graphs import NO_COLUMNS, GraphColumns, RawGraph, load_arrays


class GraphFeatures(NamedTuple):
    """The features of all graphs of a set: their names, and the columns of tables that they were made of."""

    vertices: tuple[str, ...] = ()
    edges: tuple[str, ...] = ()
    columns: GraphColumns = NO_COLUMNS

    def to_dict(self) -> dict[str, Any]:
        return {"vertices": list(self.vertices), "edges": list(self.edges), "columns": self.columns.to_dict()}

    @classmethod
    def from_dict(cls, value: dict[str, Any]) -> "GraphFeatures":
        """Those of `to_dict`, also after a way through JSON."""
        return cls(tuple(value["vertices"]), tuple(value["edges"]), GraphColumns.from_dict(value["columns"]))


NO_FEATURES = GraphFeatures()


@dataclass
class RawGraphSet:
    """Graphs, their names, and the label of each; ``scaffolds`` are the skeletons of molecules."""

    name: str
    graphs: list[Graph]
    names: list[str]
    labels: np.ndarray | None
    target: str
    fingerprint: Fingerprint
    feature_names: tuple[str, ...] = ()
    edge_feature_names: tuple[str, ...] = ()
    scaffolds: list[str] | None = None
    notes: list[str] = field(default_factory=list)
    columns: GraphColumns = NO_COLUMNS

    @property
    def features(self) -> GraphFeatures:
        return GraphFeatures(self.feature_names, self.edge_feature_names, self.columns)


def join_features(
    raws: Sequence[RawGraph], known: GraphFeatures | None, notes: list[str]
) -> tuple[list[Graph], GraphFeatures]:
    """The graphs of what was read, with the same features: columns of all tables together, or those that are known.

    What was merged or left out is added to ``notes``.
    """
    from cutaway.data.graphs.graph_data import graph_tensors
    from cutaway.extras import need

    pd = need("pandas", "tables", "features of graphs")
    tables: dict[str, Any] = {}
    for part in ("vertex_table", "edge_table"):
        frames = [getattr(raw, part) for raw in raws]
        if all(frame is not None and len(frame.columns) for frame in frames):
            tables[part] = pd.concat(frames, ignore_index=True)
        elif (lacking := [frame is None or not len(frame.columns) for frame in frames]) and not all(lacking):
            what = "vertices" if part == "vertex_table" else "edges"
            first = f"{raws[lacking.index(True)].name}, graph {lacking.index(True) + 1:,}"
            notes.append(f"features of {what} are left out: {sum(lacking):,} graphs have none, the first {first}")
    columns = NO_COLUMNS if known is None else known.columns
    if known is None:
        from cutaway.data.graphs.vertex_tables import feature_numbers

        vertices, edges = (
            feature_numbers(tables[part], what)[1] if part in tables else ()
            for part, what in (("vertex_table", "vertices"), ("edge_table", "edges"))
        )
        columns = GraphColumns(vertices, edges)
    for raw in raws:  # a table that only some graphs have, or that holds nothing of use
        raw.vertex_table = raw.vertex_table if columns.vertices else None
        raw.edge_table = raw.edge_table if columns.edges else None
    told: list[list[str]] = [[] for _ in raws]
    made = [graph_tensors(raw, columns, own) for raw, own in zip(raws, told, strict=True)]
    notes += _common_notes(raws, told)
    names, edge_names = made[0][1:3] if made else ((), ())
    return [graph for graph, *_ in made], GraphFeatures(names, edge_names, columns)


def _common_notes(raws: Sequence[RawGraph], told: Sequence[Sequence[str]]) -> list[str]:
    """One note for all graphs of which the same is told but for numbers."""
    kinds: dict[str, list[str]] = {}
    for place, (raw, notes) in enumerate(zip(raws, told, strict=True)):
        for note in notes:
            kinds.setdefault(re.sub(r"[0-9,]+ edges?", "", note), []).append(
                f"graph {place + 1:,} ({raw.name}): {note}"
            )
    return [f"{all_[0]}{f'; the like in {len(all_) - 1:,} more' * (len(all_) > 1)}" for all_ in kinds.values()]


def one_hot_tags(
    graphs: list[Graph], tags: list[np.ndarray], known: Sequence[str] = ()
) -> tuple[list[Graph], tuple[str, ...]]:
    """The graphs with a column for every tag that a vertex of theirs has; of one tag alone, the degrees instead.

    ``known`` are the columns of other graphs, which these then have too: a tag that is none of them is 0 in all, and a
    degree above the highest counts as the highest.
    """
    values = np.unique(np.concatenate(tags)) if tags else np.empty(0, np.int64)
    if known:
        tagged = known[0].startswith("tag ")
        values = np.array([int(name.split()[1]) for name in known if name.startswith("tag ")], np.int64)
        highest = sum(name.startswith("degree ") for name in known) - 1
    else:
        tagged = len(values) > 1
        highest = max((int(graph.degrees().max()) for graph in graphs if graph.vertices), default=0)
    if tagged:
        made = [
            graph.with_x(torch.from_numpy((own[:, None] == values).astype(np.float32)))
            for graph, own in zip(graphs, tags, strict=True)
        ]
        return made, tuple(f"tag {value}" for value in values.tolist())
    return [graph.with_x(_degree_columns(graph, highest)) for graph in graphs], tuple(
        f"degree {d}" for d in range(highest + 1)
    )


def _degree_columns(graph: Graph, highest: int) -> Tensor:
    return torch.nn.functional.one_hot(graph.degrees().long().clamp(max=highest), highest + 1).float()


def write_graph_set(raw: RawGraphSet) -> bytes:
    """Graphs as an .npz of plain arrays, one after another; `read_graph_set` reads it."""
    whole = Graph.batch(raw.graphs)
    arrays: dict[str, Any] = {
        "graph_sizes": np.array([graph.vertices for graph in raw.graphs]),
        "edge_counts": np.array([graph.edges.shape[1] for graph in raw.graphs]),
        "edges": whole.edges.T.numpy(),
        "directed": np.array(whole.directed),
        "graph_names": np.array(raw.names, dtype=np.str_),
        "name": np.array(raw.name),
        "target": np.array(raw.target),
        "features": np.array(json.dumps(raw.features.to_dict())),
        "notes": np.array(raw.notes, dtype=np.str_),
    }
    for name, value in (("x", whole.x), ("weights", whole.weights), ("edge_features", whole.edge_features)):
        if value is not None:
            arrays[name] = value.to_dense().numpy()
    if raw.labels is not None:
        missing = [label is None or label != label for label in raw.labels]
        numbers = raw.labels.dtype.kind in "iuf"
        plain = raw.labels if numbers else np.array([str(label) for label in raw.labels], dtype=np.str_)
        arrays |= {"y": plain, "y_missing": np.array(missing)}
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **arrays)
    return file.getvalue()


def read_graph_set(path: Path) -> RawGraphSet:
    """The graphs that `write_graph_set` wrote."""
    arrays = load_arrays(path)
    if "graph_sizes" not in arrays:
        raise ValueError(
            f"an .npz of many graphs must have graph_sizes, got {', '.join(arrays) or 'nothing'} in {path.name}; give "
            "a folder of graphs, or a list of them in Python"
        )
    features = GraphFeatures.from_dict(json.loads(str(arrays["features"])))
    ends, edge_ends = (np.cumsum(arrays[name]) for name in ("graph_sizes", "edge_counts"))
    directed = bool(arrays.get("directed", False))
    graphs = []
    for g, (n, m) in enumerate(zip(arrays["graph_sizes"].tolist(), arrays["edge_counts"].tolist(), strict=True)):
        own, mine = slice(ends[g] - n, ends[g]), slice(edge_ends[g] - m, edge_ends[g])
        parts: dict[str, Any] = {
            name: torch.from_numpy(arrays[name][rows])
            for name, rows in (("x", own), ("weights", mine), ("edge_features", mine))
            if name in arrays
        }
        graphs.append(Graph(torch.from_numpy(arrays["edges"][mine].T - own.start), n, directed=directed, **parts))
    labels = arrays.get("y")
    if labels is not None and labels.dtype.kind not in "iuf":
        labels = np.where(arrays["y_missing"], None, labels.astype(object))
    fingerprint = fingerprint_files({path.name: path})
    names = [str(name) for name in arrays["graph_names"]]
    return RawGraphSet(
        str(arrays["name"]), graphs, names, labels, str(arrays["target"]), fingerprint, *features[:2],
        notes=[str(note) for note in arrays.get("notes", ())], columns=features.columns,
    )  # fmt: skip


__all__ = [
    "NO_FEATURES",
    "GraphFeatures",
    "RawGraphSet",
    "join_features",
    "one_hot_tags",
    "read_graph_set",
    "write_graph_set",
]
