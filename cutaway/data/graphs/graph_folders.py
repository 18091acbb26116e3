r"""Folders of graphs: TU's layout of text files, or a sub-folder a class with a file a graph.

NAME_A.txt                  pairs of vertices, numbered from 1 over all graphs       Morris et al. 2020
NAME_graph_indicator.txt    the graph of each vertex
NAME_graph_labels.txt       the class of each graph, or NAME_graph_attributes.txt, its number
NAME_node_labels.txt, NAME_node_attributes.txt, NAME_edge_labels.txt, NAME_edge_attributes.txt, where there are
"""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch

from cutaway.blocks.graphs.graph import Graph
from cutaway.data.files import open_plain, read_pieces
from cutaway.data.fingerprints import fingerprint_files
from cutaway.data.graphs.raw_graph_sets import GraphFeatures, RawGraphSet, join_features, one_hot_tags
from cutaway.data.graphs.raw_graphs import RawGraph, expect_agreement, settle_edges

_TU_FILES = (
    "A", "graph_indicator", "graph_labels", "graph_attributes", "node_labels", "node_attributes", "edge_labels",
    "edge_attributes",
)  # fmt: skip
_WHAT = {"node": "vertices", "edge": "lines of A", "graph": "graphs"}


def is_tu_folder(files: Mapping[str, Path]) -> bool:
    """Whether a folder has the files of TU's layout."""
    return any(_stem(name).endswith("_graph_indicator") for name in files)


def _stem(name: str) -> str:
    return name.rsplit("/", 1)[-1].split(".", 1)[0]


def read_tu_folder(name: str, files: Mapping[str, Path], like: GraphFeatures | None = None) -> RawGraphSet:
    """The graphs of a folder in TU's layout, their edges by the rule of raw_graphs.py."""
    found = {_stem(file): path for file, path in files.items()}
    start = next(stem for stem in found if stem.endswith("_graph_indicator")).removesuffix("graph_indicator")
    tables = {what: _numbers(found[start + what]) for what in _TU_FILES if start + what in found}
    if "A" not in tables:
        raise ValueError(f"a folder of TU data must have {start}A.txt, got {', '.join(sorted(found)[:5])} in {name}")
    pairs, of = tables["A"], tables["graph_indicator"][:, 0]
    if pairs.shape[1] != 2:
        raise ValueError(f"{start}A.txt must have two numbers a line, got {pairs.shape[1]}; mend it")
    for what in ("A", "graph_indicator", "node_labels", "edge_labels", "graph_labels"):
        _expect_whole(tables.get(what), f"{start}{what}.txt")
    n = len(of)
    if not n:
        raise ValueError(f"there must be a graph, got none in {start}graph_indicator.txt; give a line for each vertex")
    member = of.astype(np.int64) - int(of.min())
    if (np.diff(member) < 0).any():
        line = int(np.argmax(np.diff(member) < 0)) + 2
        raise ValueError(
            f"the vertices of a graph must stand one after another, got graph {int(of[line - 1])} after "
            f"{int(of[line - 2])} in line {line:,} of {start}graph_indicator.txt; sort the vertices by their graphs"
        )
    ends, count = pairs.astype(np.int64) - 1, int(member[-1]) + 1
    rows = {"node_labels": n, "node_attributes": n, "edge_labels": len(ends), "edge_attributes": len(ends)}
    for what, least in (rows | {"graph_labels": count, "graph_attributes": count}).items():
        if what in tables and len(tables[what]) != least:
            raise ValueError(
                f"{start}{what}.txt must have a line for each of the {least:,} {_WHAT[what.split('_')[0]]}, got "
                f"{len(tables[what]):,}; mend it"
            )
    if len(ends) and not 0 <= ends.min() <= ends.max() < n:
        odd = int(ends.max() if ends.max() >= n else ends.min()) + 1
        raise ValueError(
            f"every edge must end at a vertex, got one to vertex {odd} in {name}, which has {n}; mend {start}A.txt"
        )
    across = np.flatnonzero(member[ends[:, 0]] != member[ends[:, 1]])
    if len(across):
        i, j = (ends[across[0]] + 1).tolist()
        raise ValueError(
            f"every edge must join vertices of one graph, got {i}, {j} in line {across[0] + 1:,} of {start}A.txt, "
            f"which joins two graphs; mend it, or {start}graph_indicator.txt"
        )
    fingerprint, names = fingerprint_files(files), [str(i + 1) for i in range(n)]
    raw = RawGraph(f"{start}A.txt", names, ends, fingerprint, both_ways=_are_both_ways(ends, n))
    edges = settle_edges(raw, False, False)
    for what in ("edge_labels", "edge_attributes"):
        if what in tables:
            expect_agreement(raw, edges, f"{start}{what}.txt", tables[what], "auto")
    edge_x, edge_names = _edge_features(tables, edges.kept, like)
    first = np.searchsorted(member, np.arange(count + 1))
    order = np.argsort(member[edges.pairs[:, 0]], kind="stable")
    cuts = np.searchsorted(member[edges.pairs[order, 0]], np.arange(count + 1))
    graphs = []
    for g in range(count):
        mine = order[cuts[g] : cuts[g + 1]]
        own = torch.from_numpy(np.ascontiguousarray(np.sort(edges.pairs[mine], 1).T - first[g]))
        features = None if edge_x is None else torch.from_numpy(edge_x[mine])
        graphs.append(Graph(own, int(first[g + 1] - first[g]), edge_features=features))
    graphs, features_of = _with_vertex_features(graphs, tables, first, () if like is None else like.vertices)
    labels, values = tables.get("graph_labels"), tables.get("graph_attributes")
    wanted = None if values is None else values[:, 0]
    if labels is not None:
        wanted = np.array([str(int(label)) for label in labels[:, 0]], object)
    return RawGraphSet(
        start.rstrip("_"),
        graphs,
        [str(i) for i in range(len(graphs))],
        wanted,
        "label" if labels is not None else "attribute",
        fingerprint,
        features_of,
        edge_names,
        notes=[*edges.notes, *_left_out(tables, start)],
    )


def _numbers(path: Path) -> np.ndarray:
    """The table of numbers in a file, a row a line."""
    with open_plain(path) as stream:
        text = "".join(read_pieces(stream, "utf-8", path.name))
    if not text.strip():
        return np.empty((0, 2))
    try:
        return np.loadtxt(io.StringIO(text), delimiter=",", ndmin=2)
    except ValueError as error:
        raise ValueError(f"{path.name} must hold numbers with commas between, got others ({error})") from None


def _expect_whole(table: np.ndarray | None, file: str) -> None:
    if table is not None and (table % 1 != 0).any():  # of nan and inf, too
        line = int(np.argmax((table % 1 != 0).any(1)))
        shown = ", ".join(f"{value:g}" for value in table[line][:3])
        raise ValueError(f"{file} must hold whole numbers, got {shown} in line {line + 1:,}; mend it")


def _are_both_ways(ends: np.ndarray, vertices: int) -> bool:
    """Whether each edge is named both ways, as in all sets of TU."""
    ways = ends[:, 0] * vertices + ends[:, 1]
    return bool(np.isin(ends[:, 1] * vertices + ends[:, 0], ways).all())


def _edge_features(
    tables: Mapping[str, np.ndarray], kept: np.ndarray, like: GraphFeatures | None
) -> tuple[np.ndarray | None, tuple[str, ...]]:
    """A column for each label that an edge has, or that is known, then the attributes."""
    columns: list[np.ndarray] = []
    names: list[str] = []
    if "edge_labels" in tables:
        tags = tables["edge_labels"][kept, 0].astype(np.int64)
        values = np.unique(tables["edge_labels"][:, 0].astype(np.int64))
        if like is not None:
            values = np.array([int(name.split()[1]) for name in like.edges if name.startswith("tag ")], np.int64)
        if len(values) > 1 or like is not None:  # one alone tells nothing
            columns.append(tags[:, None] == values)
            names += [f"tag {value}" for value in values.tolist()]
    if "edge_attributes" in tables:
        columns.append(tables["edge_attributes"][kept])
        names += [f"feature_{i + 1}" for i in range(columns[-1].shape[1])]
    return (np.concatenate(columns, 1).astype(np.float32), tuple(names)) if names else (None, ())


def _with_vertex_features(
    graphs: list[Graph], tables: Mapping[str, np.ndarray], first: np.ndarray, known: Sequence[str]
) -> tuple[list[Graph], tuple[str, ...]]:
    """The graphs with a column for each label of vertices, then their attributes; without either, degrees."""
    parts = [slice(first[g], first[g + 1]) for g in range(len(graphs))]
    names: tuple[str, ...] = ()
    own_tags, rows = tables.get("node_labels"), tables.get("node_attributes")
    if own_tags is not None or rows is None:
        tags = [np.zeros(part.stop - part.start, np.int64) for part in parts]
        if own_tags is not None:
            tags = [own_tags[part, 0].astype(np.int64) for part in parts]
        graphs, names = one_hot_tags(graphs, tags, known)
    if rows is not None:
        own = [torch.from_numpy(rows[part].astype(np.float32)) for part in parts]
        graphs = [g.with_x(x if g.x is None else torch.cat([g.x, x], 1)) for g, x in zip(graphs, own, strict=True)]
        names = (*names, *(f"feature_{i + 1}" for i in range(rows.shape[1])))
    return graphs, names


def _left_out(tables: Mapping[str, np.ndarray], start: str) -> list[str]:
    """Notes of columns and files that are not read."""
    several = ("node_labels", "edge_labels", "graph_labels", "graph_attributes")
    notes = [
        f"{start}{what}.txt has {tables[what].shape[1]} columns: the first is taken"
        for what in several
        if what in tables and tables[what].shape[1] > 1 and len(tables[what])
    ]
    if "graph_labels" in tables and "graph_attributes" in tables:
        notes.append(f"{start}graph_attributes.txt is left out: the classes in {start}graph_labels.txt are taken")
    return notes


def read_class_folders(name: str, files: Mapping[str, Path], known: GraphFeatures | None = None) -> RawGraphSet:
    """The graphs of a folder, a file each; the sub-folder is the class. Features are joined; without any, degrees."""
    from cutaway.data.graphs.graph_sources import open_graph

    raws = []
    for file, path in files.items():
        try:
            raws.append(open_graph(path))
        except ValueError as error:  # the same name may be there in every class
            message = str(error).replace(path.name, file)
            raise ValueError(message if file in message else f"{message} (in {file})") from error
    if not raws:
        raise ValueError(f"a folder of graphs must hold files, got none in {name}; give a file a graph")
    notes: list[str] = []
    graphs, features = join_features(raws, known, notes)
    classes = [file.rsplit("/", 1)[0] if "/" in file else None for file in files]
    labelled = any(classes)
    widths = {None if graph.x is None else graph.x.shape[1] for graph in graphs}
    names = features.vertices
    if len(widths) > 1 or None in widths:
        tags = [np.zeros(graph.vertices, np.int64) for graph in graphs]
        graphs, names = one_hot_tags(graphs, tags, () if known is None else known.vertices)
    return RawGraphSet(
        name,
        graphs,
        [Path(file).name for file in files],
        np.array(classes, object) if labelled else None,
        "folder" if labelled else "",
        fingerprint_files(files),
        names,
        features.edges,
        notes=notes,
        columns=features.columns,
    )


__all__ = ["is_tu_folder", "read_class_folders", "read_tu_folder"]
