r"""Folders of graphs: TU's layout of text files, or a sub-folder a class with a file a graph.

NAME_A.txt                  pairs of vertices, numbered from 1 over all graphs       Morris et al. 2020
NAME_graph_indicator.txt    the graph of each vertex
NAME_graph_labels.txt       the class of each graph, or NAME_graph_attributes.txt, its number
NAME_node_labels.txt, NAME_node_attributes.txt, NAME_edge_attributes.txt, where there are
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


def is_tu_folder(files: Mapping[str, Path]) -> bool:
    """Whether a folder has the files of TU's layout."""
    return any(_stem(name).endswith("_graph_indicator") for name in files)


def _stem(name: str) -> str:
    return name.rsplit("/", 1)[-1].split(".", 1)[0]


def read_tu_folder(name: str, files: Mapping[str, Path], known: Sequence[str] = ()) -> RawGraphSet:
    """The graphs of a folder in TU's layout."""
    found = {_stem(file): path for file, path in files.items()}
    start = next(stem for stem in found if stem.endswith("_graph_indicator")).removesuffix("graph_indicator")

    def numbers(what: str) -> np.ndarray | None:
        path = found.get(start + what)
        if path is None:
            return None
        with open_plain(path) as stream:
            text = "".join(read_pieces(stream, "utf-8", path.name))
        try:
            return np.loadtxt(io.StringIO(text), delimiter=",", ndmin=2)
        except ValueError as error:
            raise ValueError(f"{path.name} must hold numbers with commas between, got others ({error})") from None

    pairs, of = numbers("A"), numbers("graph_indicator")
    if pairs is None or of is None:
        raise ValueError(f"a folder of TU data must have {start}A.txt, got {', '.join(sorted(found)[:5])} in {name}")
    member = of[:, 0].astype(np.int64)
    member -= member.min()
    ends = pairs.astype(np.int64) - 1
    edge_rows = numbers("edge_attributes")
    node_rows, node_tags = numbers("node_attributes"), numbers("node_labels")
    labels, values = numbers("graph_labels"), numbers("graph_attributes")
    if len(ends) and not 0 <= ends.min() <= ends.max() < len(member):
        raise ValueError(
            f"every edge must end at a vertex, got one to vertex {int(ends.max()) + 1} in {name}, which has "
            f"{len(member)}; mend {start}A.txt"
        )
    first = np.searchsorted(member, np.arange(member.max() + 2))
    across = np.flatnonzero(member[ends[:, 0]] != member[ends[:, 1]])
    if len(across):
        i, j = (ends[across[0]] + 1).tolist()
        raise ValueError(
            f"every edge must join vertices of one graph, got {i}, {j} in line {across[0] + 1:,} of {start}A.txt, "
            f"which joins two graphs; mend it, or {start}graph_indicator.txt"
        )
    once = np.zeros(len(ends), bool)  # the first of each pair, whichever way it is named
    lower, higher = ends.min(1, initial=len(member)), ends.max(1, initial=0)
    once[np.unique(lower * len(member) + higher, return_index=True)[1]] = True
    loops = ends[:, 0] == ends[:, 1]
    once &= ~loops
    home = member[ends[:, 0]] if len(ends) else np.empty(0, np.int64)
    graphs = []
    for g in range(int(member.max()) + 1):
        mine = np.flatnonzero(once & (home == g))
        edges = torch.from_numpy(np.ascontiguousarray(np.sort(ends[mine], 1).T - first[g]))
        features = None if edge_rows is None else torch.from_numpy(edge_rows[mine].astype(np.float32))
        graphs.append(Graph(edges, int(first[g + 1] - first[g]), edge_features=features))
    parts = [slice(first[g], first[g + 1]) for g in range(len(graphs))]
    names: tuple[str, ...] = ()
    if node_tags is not None or node_rows is None:
        tags = [np.zeros(part.stop - part.start, np.int64) for part in parts]
        if node_tags is not None:
            tags = [node_tags[part, 0].astype(np.int64) for part in parts]
        graphs, names = one_hot_tags(graphs, tags, known)
    if node_rows is not None:
        own = [torch.from_numpy(node_rows[part].astype(np.float32)) for part in parts]
        graphs = [g.with_x(x if g.x is None else torch.cat([g.x, x], 1)) for g, x in zip(graphs, own, strict=True)]
        names = (*names, *(f"feature_{i + 1}" for i in range(node_rows.shape[1])))
    edge_names = () if edge_rows is None else tuple(f"feature_{i + 1}" for i in range(edge_rows.shape[1]))
    wanted = values[:, 0] if labels is None and values is not None else None
    if labels is not None:
        wanted = np.array([str(int(label)) for label in labels[:, 0]], object)
    return RawGraphSet(
        start.rstrip("_"),
        graphs,
        [str(i) for i in range(len(graphs))],
        wanted,
        "label" if labels is not None else "attribute",
        fingerprint_files(files),
        names,
        edge_names,
        notes=[f"{int(loops.sum()):,} self-loops left out"] if loops.any() else [],
    )


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
    graphs, features = join_features(raws, known)
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
        columns=features.columns,
    )


__all__ = ["is_tu_folder", "read_class_folders", "read_tu_folder"]
