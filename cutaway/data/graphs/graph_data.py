r"""A graph to learn from: its tensors, the names of its vertices, what is to be predicted, and the parts.

All vertices and edges are seen in training; the labels of validation and test vertices are not (transductive). Features
are numbers as they come: see vertex_tables.py. What was merged or left out is counted in the notes: see raw_graphs.py.
"""

import io
import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from cutaway.blocks.graphs.compressed_rows import sparse_rows
from cutaway.blocks.graphs.graph import Graph
from cutaway.data.checks import expect_choice
from cutaway.data.fingerprints import Fingerprint
from cutaway.data.graphs.graph_sources import open_graph
from cutaway.data.graphs.raw_graphs import (
    NO_COLUMNS,
    REPEATS,
    GraphColumns,
    RawGraph,
    SettledEdges,
    expect_agreement,
    settle_edges,
)
from cutaway.data.graphs.vertex_labels import read_labels
from cutaway.data.graphs.vertex_tables import (
    feature_labels,
    feature_numbers,
    find_target,
    known_feature_numbers,
)
from cutaway.data.splits import Splits, expect_shares, split_rows
from cutaway.data.tables.columns import plain_text
from cutaway.data.tables.schema import Column
from cutaway.extras import need
from cutaway.overriding import override

KIND = "graph"  # of the samples
UNKNOWN = -1  # the class of a vertex without a label


@dataclass(frozen=True, eq=False, repr=False)
class GraphData:
    """A graph with names and labels. ``targets`` (n,) are classes, −1 where unknown, or numbers, NaN where unknown.

    ``train``, ``validation`` and what `open_test` gives are numbers of vertices that have a label. ``edge_targets`` are
    classes of edges, as ``edge_classes`` names them, or values where it names none.
    """

    name: str
    graph: Graph
    names: tuple[str, ...]
    targets: Tensor | None
    classes: tuple[str, ...]
    target: str
    feature_names: tuple[str, ...]
    edge_feature_names: tuple[str, ...]
    edge_targets: Tensor | None
    edge_classes: tuple[str, ...]
    splits: Splits[Int[np.ndarray, "k"]]
    counts: dict[str, int]
    fingerprint: Fingerprint
    notes: tuple[str, ...] = ()
    loops: int = 0  # self-loops that were left out
    repeats: int = 0  # edges that were merged into another
    columns: GraphColumns = NO_COLUMNS  # that the features were made of
    edge_target: str = ""  # what the labels of edges are called

    @property
    def train(self) -> Int[np.ndarray, "k"]:
        return self.splits.train

    @property
    def validation(self) -> Int[np.ndarray, "k"] | None:
        return self.splits.validation

    def open_test(self) -> Int[np.ndarray, "k"]:
        """The test vertices: see `Splits.open_test`."""
        return self.splits.open_test()

    @override
    def __repr__(self) -> str:
        labels = f", {len(self.classes)} classes" if self.classes else ", labels" * (self.targets is not None)
        return f"GraphData({self.name!r}, {self.graph!r}{labels})"

    def label_of(self, vertex: int) -> str | float | None:
        """The label of a vertex as a person writes it; None where unknown."""
        if self.targets is None:
            return None
        value = self.targets[vertex].item()
        if not self.classes:
            return None if np.isnan(value) else float(value)
        return None if value < 0 else self.classes[int(value)]

    def mask(self, part: str) -> Bool[Tensor, "n"] | None:
        """Which vertices are in train, validation or test, for other libraries; None if there is no such part."""
        rows = {"train": self.train, "validation": self.validation}.get(part)
        if part == "test":
            rows = self.splits.open_test() if self.splits.has_test else None
        if rows is None or not len(rows):
            return None
        return torch.zeros(self.graph.vertices, dtype=torch.bool).index_fill(0, torch.from_numpy(rows), True)

    def summary(self) -> str:
        """What a person should know before training on it."""
        g = self.graph
        kind = "directed" if g.directed else "undirected"
        weighted = ", with weights" * (g.weights is not None)
        lines = [f"{self.name}: {g.vertices:,} vertices, {g.edges.shape[1]:,} {kind} edges{weighted}"]
        features = 0 if g.x is None else g.x.shape[1]
        lines.append(f"features: {features:,} of vertices" if features else "no features of vertices")
        if g.edge_features is not None:
            lines[-1] += f", {g.edge_features.shape[1]:,} of edges"
        if self.classes and self.targets is not None:
            counts = torch.bincount(self.targets[self.targets >= 0], minlength=len(self.classes)).tolist()
            shown = ", ".join(f"{c} {n:,}" for c, n in list(zip(self.classes, counts))[:10])
            lines.append(f"{len(self.classes):,} classes ({self.target}): {shown}{', …' * (len(self.classes) > 10)}")
        elif self.targets is not None:
            lines.append(f"numbers to predict: {self.target}")
        if self.targets is not None:
            parts = ", ".join(f"{part} {count:,}" for part, count in self.counts.items() if count)
            lines.append(f"labelled vertices for {parts}")
        notes = [f"{self.name}: {note}" for note in self.notes]
        return "\n".join([*lines, *notes, f"digest: sha256 {self.fingerprint.digest}"])


def read_graph(
    source: Any,
    *,
    vertices: Any = None,
    target: str = "",
    directed: bool | None = None,
    weight: str | None = None,
    columns: Sequence[str] = (),
    edge_target: str = "",
    bipartite: bool = False,
    self_loops: bool = False,
    labelled: bool = False,
    labels: str = "auto",
    validation: float = 0.2,
    test: float = 0.2,
    seed: int = 0,
    encoding: str = "utf-8",
    header: bool | None = None,
    like: GraphColumns | None = None,
    edge_classes: Sequence[str] = (),
    repeats: str = "auto",
) -> GraphData:
    """A graph for training: a sample's name, a file, a table of edges, networkx, SciPy, PyG, or an array of pairs.

    ``vertices`` is a table with a row a vertex (a path or DataFrame; its names, features, and the target), a list of
    names, or a number. ``target`` is its column of labels; without it one with a usual name. ``columns`` name the two
    ends in a table of edges, ``weight`` its weights ("": none) and ``edge_target`` labels of edges, as friend and foe;
    with ``bipartite`` equal names in the two columns are different vertices. ``self_loops`` keeps them. With
    ``labelled``, a graph without labels is refused; ``labels`` are "classes", "values", or "auto", by their looks.
    Parts that the data brings are kept; else labelled vertices are drawn by ``seed``, each class in its share. ``like``
    are the columns of another graph (`GraphData.columns`): those of this one then become the same numbers, and its
    labels are read only if it must be ``labelled``; ``edge_classes`` are then the names of the classes of edges.

    Without ``directed`` a graph is what its source says: networkx's `DiGraph` and a `Data` object with an edge that has
    no way back are directed, lists of edges and matrices are not. An edge that comes again is kept once, and its
    weights add up if there are weights; repeats with other features or labels are refused. ``repeats`` chooses another
    rule, the same for every source: "add", "first", "last" or "keep" (see raw_graphs.py).
    """
    expect_shares(validation, test)
    expect_choice("repeats", repeats, REPEATS)
    raw = open_graph(source, vertices, weight or (None if weight is None else ""), columns, bipartite, encoding, header)
    if directed is None and raw.directed and raw.one_way:
        raw.notes.append(f"edges have a direction ({raw.one_way}): kept as a directed graph")
    directed = bool(raw.directed) if directed is None else directed
    edges = settle_edges(raw, directed, self_loops, repeats)
    notes = [*raw.notes, *edges.notes]
    reads_labels = like is None or labelled
    label = _take_target(raw, target) if reads_labels else ""
    if label and not target and not labelled and raw.vertex_table is not None:
        notes.append(
            f"column {label!r} of the vertices is taken as their class, not as a feature; rename it if it is one"
        )
    if label and not target and not labelled and raw.vertex_table is not None and len(_different(raw.labels)) < 2:
        notes[-1] = f"column {label!r} of the vertices has one value: left out"
        label, raw.labels = "", None
    classes, targets = read_labels(raw, label, notes, labels) if reads_labels else ((), None)
    if labelled and targets is None and raw.no_labels:
        raise ValueError(raw.no_labels)
    if raw.no_labels and reads_labels:
        notes.append(f"no labels: {raw.no_labels}")
    if labelled and targets is None:
        have = [] if raw.vertex_table is None else list(raw.vertex_table.columns)
        rest = f"{raw.name} without any; give a table of vertices that has them (vertices=…, --vertices)"
        if have:
            columns = ", ".join(have[:5])
            rest = f"{raw.vertex_source or raw.name} with the columns {columns}; name theirs (target=…, --target)"
        raise ValueError(f"a model of vertices needs labels to learn from, got {rest}")
    kinds, edge_targets = _edge_labels(raw, edge_target, edges, labels, tuple(edge_classes), repeats)
    graph, feature_names, edge_feature_names, made_of = _tensors(raw, edges, directed, notes, like, repeats)
    notes += _shape_notes(graph) if reads_labels else []
    train, held, last = _parts(raw, targets, bool(classes), validation, test, seed, notes)
    return GraphData(
        raw.name,
        graph,
        tuple(raw.names),
        targets,
        classes,
        label,
        feature_names,
        edge_feature_names,
        edge_targets,
        kinds,
        Splits(raw.name, train, held if len(held) else None, (lambda: last) if len(last) else None),
        {"training": len(train), "validation": len(held), "test": len(last)},
        raw.fingerprint,
        tuple(dict.fromkeys(notes)),
        0 if self_loops else edges.loops,
        edges.repeats,
        made_of,
        raw.edge_target,
    )


def as_graph(
    source: Any,
    directed: bool | None = None,
    vertices: Any = None,
    weight: str | None = None,
    repeats: str = "auto",
) -> Graph:
    """The graph of any source that `read_graph` takes, with all its self-loops: tensors alone, for blocks and models.

    ``directed`` and ``repeats`` are as in `read_graph`: an edge that comes again is kept once, and its weights add up
    if there are weights; a warning tells how many there were.

    >>> import networkx
    >>> as_graph(networkx.path_graph(3))
    Graph(vertices=3, edges=2, directed=False)
    """
    if isinstance(source, Graph):
        return source
    expect_choice("repeats", repeats, REPEATS)
    raw = open_graph(source, vertices, weight, (), False, "utf-8", None)
    _take_target(raw, "")
    directed = bool(raw.directed) if directed is None else directed
    edges = settle_edges(raw, directed, True, repeats)
    for note in (*raw.notes, *edges.notes):
        if "self-loop" not in note and not note.startswith("weights: "):
            warnings.warn(f"{raw.name}: {note}", stacklevel=2)
    return _tensors(raw, edges, directed, [], repeats=repeats)[0]


def write_graph(data: GraphData) -> bytes:
    """A graph with its names, targets and parts as an .npz, which `read_graph` reads to the same."""
    graph = data.graph
    arrays: dict[str, Any] = {
        "edges": graph.edges.T.numpy(),
        "names": np.array(data.names, dtype=np.str_),
    }
    if graph.x is not None and graph.x.layout == torch.sparse_csr:
        arrays |= {"x_indptr": graph.x.crow_indices().numpy(), "x_indices": graph.x.col_indices().numpy()}
        arrays |= {"x_data": graph.x.values().numpy(), "x_shape": np.array(graph.x.shape)}
    elif graph.x is not None:
        arrays["x"] = graph.x.numpy()
    for name, value in (("weights", graph.weights), ("edge_features", graph.edge_features)):
        if value is not None:
            arrays[name] = value.numpy()
    if data.targets is not None:
        labels = np.array(["", *data.classes], dtype=np.str_)
        arrays["target"] = np.array(data.target)
        arrays["y"] = labels[data.targets.numpy() + 1] if data.classes else data.targets.numpy()
    if data.edge_targets is not None:
        kinds = np.array(data.edge_classes, dtype=np.str_)
        arrays["edge_y"] = kinds[data.edge_targets.numpy()] if data.edge_classes else data.edge_targets.numpy()
        arrays["edge_target"] = np.array(data.edge_target)
    arrays["columns"] = np.array(json.dumps(data.columns.to_dict()))
    arrays["notes"] = np.array(data.notes, dtype=np.str_)  # of what was merged or left out before
    for part, rows in (("train", data.train), ("validation", data.validation)):
        if rows is not None and len(rows):
            arrays[part] = rows
    if data.splits.has_test:
        arrays["test"] = data.open_test()  # numbers of vertices alone: nothing is learned from them
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **arrays)
    return file.getvalue()


def graph_tensors(
    raw: RawGraph, like: GraphColumns, notes: list[str]
) -> tuple[Graph, tuple[str, ...], tuple[str, ...], GraphColumns]:
    """The graph of what was read, with all its self-loops, its features made of known columns, and their names."""
    edges = settle_edges(raw, False, True)
    notes += [note for note in (*raw.notes, *edges.notes) if "self-loop" not in note]
    return _tensors(raw, edges, False, [], like)


def _different(labels: "np.ndarray | None") -> set[Any]:
    """The different labels that are there."""
    return set() if labels is None else {str(label) for label in labels if label is not None and label == label}


def _take_target(raw: RawGraph, target: str) -> str:
    """Moves the labels out of the table of vertices, where they would be features."""
    if raw.vertex_table is None:
        if target and target != raw.target:
            raise ValueError(
                f"target must be a column of the table of vertices, got {target!r} where {raw.name} has no such table; "
                "give one by vertices"
            )
        return raw.target
    if target and target == raw.target:
        return raw.target
    column = find_target(raw.vertex_table, target, raw.vertex_source or raw.name) if target or not raw.target else ""
    if column:
        raw.labels, raw.target = raw.vertex_table[column].to_numpy(), column
        raw.label_source = raw.label_source or raw.vertex_source
        raw.vertex_table = raw.vertex_table.drop(columns=[column])
    return raw.target


def _edge_labels(
    raw: RawGraph,
    column: str,
    edges: SettledEdges,
    kind: str,
    known: tuple[str, ...] = (),
    repeats: str = "auto",
) -> tuple[tuple[str, ...], Tensor | None]:
    """Classes or values of edges, taken out of their table; signed weights are classes of their own."""
    if not column and raw.edge_labels is None:
        return (), None
    pd = need("pandas", "tables", "labels of edges")
    if raw.edge_labels is not None and column in ("", raw.edge_target):
        column, values = raw.edge_target, pd.Series(raw.edge_labels)
    elif raw.edge_table is not None and column in raw.edge_table:
        values = raw.edge_table[column]
        raw.edge_table = raw.edge_table.drop(columns=[column])
    elif raw.weights is not None and column == "weight":
        values = pd.Series(raw.weights)
    else:
        have = [] if raw.edge_table is None else list(raw.edge_table.columns)
        raise ValueError(
            f"edge_target must be a column of the table of edges, got {column!r}; it has {', '.join(have) or 'no more'}"
        )
    if values.isna().any():
        raise ValueError(f"every edge must have a label, got none for {int(values.isna().sum()):,} in {column!r}")
    raw.edge_target = column
    texts = values.map(plain_text).to_numpy(object) if values.dtype.kind not in "iuf" else values.to_numpy()
    expect_agreement(raw, edges, repr(column), texts, repeats)
    like = RawGraph(raw.name, (), raw.pairs, raw.fingerprint, labels=values.to_numpy())
    classes, targets = read_labels(like, column, [], kind, "edges", known)
    assert targets is not None
    return classes, targets[torch.from_numpy(edges.kept)]


def _tensors(
    raw: RawGraph,
    edges: SettledEdges,
    directed: bool,
    notes: list[str],
    like: GraphColumns | None = None,
    repeats: str = "auto",
) -> tuple[Graph, tuple[str, ...], tuple[str, ...], GraphColumns]:
    known = GraphColumns() if like is None else like
    _expect_same_features(raw, edges, known, repeats)
    x, names, columns = _features(
        raw.x, raw.vertex_table, "vertices", notes, raw.columns.vertices, known.vertices, raw.feature_names
    )
    edge_x, edge_names, edge_columns = _features(
        None if raw.edge_x is None else raw.edge_x[_index(raw.edge_x, edges.kept)],
        None if raw.edge_table is None else raw.edge_table.iloc[edges.kept].reset_index(drop=True),
        "edges",
        notes,
        raw.columns.edges,
        known.edges,
        raw.edge_feature_names,
    )
    weights = None if edges.weights is None else torch.from_numpy(edges.weights.astype(np.float32))
    pairs = torch.from_numpy(np.ascontiguousarray(edges.pairs.T))
    graph = Graph(pairs, len(raw.names), weights, x, edge_x, raw.graph_x, raw.membership, directed)
    return graph, names, edge_names, GraphColumns(columns, edge_columns)


def _expect_same_features(raw: RawGraph, edges: SettledEdges, known: GraphColumns, repeats: str) -> None:
    """The repeats of an edge must have the same features; columns that do not become features may differ."""
    if edges.rows is None or len(edges.rows) == len(edges.kept):
        return
    if raw.edge_x is not None:
        values = raw.edge_x.detach().cpu().numpy() if isinstance(raw.edge_x, Tensor) else raw.edge_x
        expect_agreement(raw, edges, "features", np.asarray(values), repeats)
    if raw.edge_table is None or not len(raw.edge_table.columns):
        return
    used = known.edges or feature_numbers(raw.edge_table, "edges")[1]
    for column in used:
        if column.name in raw.edge_table:
            values = raw.edge_table[column.name]
            plain = values.dtype.kind in "iufb"
            shown = values.to_numpy() if plain else values.map(plain_text).where(values.notna(), None).to_numpy(object)
            expect_agreement(raw, edges, repr(column.name), shown, repeats)


def _index(features: Any, kept: Int[np.ndarray, "m"]) -> Any:
    return torch.from_numpy(kept) if isinstance(features, Tensor) else kept


def _features(
    values: Any,
    table: Any,
    what: str,
    notes: list[str],
    made_of: tuple[Column, ...],
    known: tuple[Column, ...],
    called: tuple[str, ...] = (),
) -> tuple[Tensor | None, tuple[str, ...], tuple[Column, ...]]:
    """Features as a tensor (sparse rows stay sparse), from numbers and from a table, their names and columns.

    ``made_of`` are the columns of numbers, where it is known, or else their names are ``called``; ``known`` are those
    that the columns of a table must be.
    """
    if values is not None and table is not None and len(table.columns):
        own, own_names, _ = _features(values, None, what, notes, (), (), called)
        more, more_names, _ = _features(None, table, what, notes, (), known)
        if own is None or more is None:
            return (own, own_names, ()) if more is None else (more, more_names, ())
        dense = own if own.layout == torch.strided else own.to_dense()
        return torch.cat([dense.float(), more], 1), own_names + more_names, ()
    if values is None:
        if table is None or not len(table.columns):
            return None, (), ()
        if known:
            numbers, told = known_feature_numbers(table, known, what)
        else:
            numbers, known, told = feature_numbers(table, what)
        notes += told
        return (torch.from_numpy(numbers), feature_labels(known), known) if numbers.shape[1] else (None, (), ())
    if isinstance(values, Tensor):
        x = values.detach()
        x = x if x.is_floating_point() else x.float()
    elif hasattr(values, "tocsr"):
        rows = values.tocsr()
        starts, places = (torch.from_numpy(part.astype(np.int64)) for part in (rows.indptr, rows.indices))
        x = sparse_rows(starts, places, torch.from_numpy(rows.data.astype(np.float32)), rows.shape[1])
    else:
        x = torch.from_numpy(np.asarray(values, np.float32))
    entries = x if x.layout == torch.strided else x.values()
    if not torch.isfinite(entries).all():
        row = torch.nonzero(~torch.isfinite(entries))[0]
        shown = f"{entries[tuple(row)].item()}" + (f" in row {int(row[0]) + 1:,}" if x.layout == torch.strided else "")
        raise ValueError(f"features of {what} must be finite numbers, got nan or inf ({shown}); fill them in")
    if x.ndim != 2:
        raise ValueError(f"features of {what} must have shape (rows, features), got {tuple(x.shape)}; give a row each")
    named = feature_labels(made_of) or called
    return x, named if len(named) == x.shape[1] else tuple(f"feature_{i + 1}" for i in range(x.shape[1])), made_of


def _shape_notes(graph: Graph) -> list[str]:
    """What to know of the whole: vertices without edges, and how many pieces there are."""
    from cutaway.data.graphs.components import connected_components

    alone = int((torch.bincount(graph.edges[:, graph.present].reshape(-1), minlength=graph.vertices) == 0).sum())
    notes = []
    if alone:
        notes.append(f"{alone:,} vert{'ices' if alone > 1 else 'ex'} without an edge")
    pieces = connected_components(graph)
    if len(pieces.sizes) > 1:
        notes.append(f"{len(pieces.sizes):,} connected components, the largest of {max(pieces.sizes):,} vertices")
    return notes


def _parts(
    raw: RawGraph, targets: Tensor | None, classes: bool, validation: float, test: float, seed: int, notes: list[str]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Numbers of the vertices of train, validation and test: the data's own parts, else drawn."""
    empty = np.empty(0, np.int64)
    if targets is None:
        return empty, empty, empty
    known = (targets >= 0 if classes else ~torch.isnan(targets)).numpy()
    if "train" in raw.parts:
        notes.append("the data has its own parts")
        found = [np.asarray(raw.parts.get(part, empty), np.int64) for part in ("train", "validation", "test")]
        taken = np.concatenate(found)
        if len(np.unique(taken)) < len(taken):
            raise ValueError(
                f"the parts of data must not share a vertex, got {len(taken) - len(np.unique(taken)):,} in two parts "
                f"of {raw.name}; leave each in one"
            )
        kept = [part[known[part]] for part in found]
        lost = sum(map(len, found)) - sum(map(len, kept))
        if lost:
            notes.append(f"{lost:,} vertices of the parts have no label: left out")
        return kept[0], kept[1], kept[2]
    rows = np.flatnonzero(known)
    strata = targets.numpy()[rows] if classes else None
    a, b, c = (rows[part] for part in split_rows(len(rows), validation, test, seed, strata))
    if not len(a):
        raise ValueError(f"there must be a vertex to train on, got none in {raw.name}; lower validation and test")
    return a, b, c


__all__ = ["KIND", "UNKNOWN", "GraphData", "as_graph", "graph_tensors", "read_graph", "write_graph"]
