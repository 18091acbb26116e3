r"""Many graphs in one text file, as DGCNN's and GIN's authors give the TU data (Zhang et al. 2018, Xu et al. 2019).

188                 how many graphs
23 2                of each: vertices and label,
2 2 1 13            then a line a vertex: its tag, how many neighbours, their numbers; numbers after these are
…                   features of the vertex
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from cutaway.blocks.graphs.graph import Graph
from cutaway.data.files import open_plain, read_pieces
from cutaway.data.fingerprints import Fingerprint, fingerprint_files
from cutaway.data.graphs.raw_graph_sets import RawGraphSet, one_hot_tags
from cutaway.data.graphs.raw_graphs import RawGraph, settle_edges


def is_tagged_file(path: Path, encoding: str = "utf-8") -> bool:
    """Whether a file looks like this: one whole number, then two."""
    try:
        with open_plain(path) as stream:
            start = next(read_pieces(stream, encoding, path.name), "")
    except ValueError:
        return False
    lines = [line.split() for line in start.splitlines()[:2]]
    return [len(line) for line in lines] == [1, 2] and all(word.isdigit() for word in lines[0])


def read_tagged_graphs(path: Path, encoding: str = "utf-8", known: Sequence[str] = ()) -> RawGraphSet:
    """The graphs of such a file; tags become features, one column each, as ``known`` says where others were read."""
    with open_plain(path) as stream:
        lines = "".join(read_pieces(stream, encoding, path.name)).splitlines()
    at, labels, tags, lists, own = 1, [], [], list[list[list[int]]](), list[list[list[float]]]()
    for number in range(int(lines[0])):
        try:
            n, label = int(lines[at].split()[0]), lines[at].split()[1]
            rows = [[float(word) for word in lines[at + 1 + i].split()] for i in range(n)]
            lists.append([[int(word) for word in row[2 : 2 + int(row[1])]] for row in rows])
        except (IndexError, ValueError) as error:
            raise ValueError(
                f"graph {number + 1} of {path.name} must have the lines that its first says, got others near line "
                f"{at + 1:,} ({error}); copy the file again"
            ) from None
        _expect_lines(rows, lists[-1], n, path.name, number, at + 2)
        own.append([row[2 + int(row[1]) :] for row in rows])
        labels.append(label)
        tags.append(np.array([row[0] for row in rows], np.int64))
        at += n + 1
    if not labels:
        raise ValueError(f"there must be a graph, got none in {path.name}; give a file with graphs")
    notes = [f"lines after graph {len(labels):,} are left out"] * any(line.strip() for line in lines[at:])
    fingerprint = fingerprint_files({path.name: path})
    graphs, told = _graphs(lists, path.name, fingerprint)
    made, names = one_hot_tags(graphs, tags, known)
    widths = {len(row) for rows in own for row in rows}
    if len(widths) == 1 and (width := widths.pop()):
        more = [torch.tensor(rows, dtype=torch.float32).reshape(-1, width) for rows in own]
        made = [g.with_x(torch.cat([g.x, x], 1)) for g, x in zip(made, more, strict=True) if g.x is not None]
        names = (*names, *(f"feature_{i + 1}" for i in range(width)))
    elif widths:
        notes.append("features of vertices are left out: some have more of them than others")
    texts = np.array(labels, object)
    listed = [str(i) for i in range(len(made))]
    return RawGraphSet(path.name, made, listed, texts, "label", fingerprint, names, notes=[*told, *notes])


def _expect_lines(
    rows: list[list[float]], neighbours: list[list[int]], n: int, name: str, number: int, line: int
) -> None:
    """A line must list as many neighbours as it says, all of them vertices of the graph."""
    for place, (row, listed) in enumerate(zip(rows, neighbours, strict=True)):
        if len(listed) != row[1]:
            raise ValueError(
                f"a line must list as many neighbours as it says, got {len(listed)} where it says {row[1]:g} in line "
                f"{line + place:,} of {name}; mend it"
            )
        odd = next((v for v in listed if not 0 <= v < n), None)
        if odd is not None:
            raise ValueError(
                f"every edge must end at a vertex, got one to vertex {odd} in graph {number + 1} of {name}, which has "
                f"{n}; mend it"
            )


def _graphs(lists: list[list[list[int]]], name: str, fingerprint: Fingerprint) -> tuple[list[Graph], tuple[str, ...]]:
    """The graphs of lists of neighbours, by the rule of raw_graphs.py, and what it did."""
    sizes = np.array([len(rows) for rows in lists])
    first = np.concatenate([[0], np.cumsum(sizes)])
    ends = [(first[g] + i, first[g] + j) for g, rows in enumerate(lists) for i, row in enumerate(rows) for j in row]
    pairs = np.array(ends, np.int64).reshape(-1, 2)
    count = max(int(first[-1]), 1)
    ways, back = pairs[:, 0] * count + pairs[:, 1], pairs[:, 1] * count + pairs[:, 0]
    raw = RawGraph(
        name, [str(i) for i in range(first[-1])], pairs, fingerprint, both_ways=bool(np.isin(ways, back).all())
    )
    edges = settle_edges(raw, False, False)
    pairs = np.sort(edges.pairs, 1)
    cuts = np.searchsorted(pairs[:, 0], first)  # graphs are listed in order: so are their edges
    graphs = [
        Graph(torch.from_numpy(np.ascontiguousarray((pairs[cuts[g] : cuts[g + 1]] - first[g]).T)), int(n))
        for g, n in enumerate(sizes)
    ]
    return graphs, edges.notes


__all__ = ["is_tagged_file", "read_tagged_graphs"]
