r"""Many graphs in one text file, as DGCNN's and GIN's authors give the TU data (Zhang et al. 2018, Xu et al. 2019).

188                 how many graphs
23 2                of each: vertices and label,
2 2 1 13            then a line a vertex: its tag, how many neighbours, their numbers; numbers after these are
…                   features of the vertex
"""

import itertools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from cutaway.blocks.graphs.graph import Graph
from cutaway.data.files import open_plain, read_pieces
from cutaway.data.fingerprints import fingerprint_files
from cutaway.data.graphs.raw_graph_sets import RawGraphSet, one_hot_tags


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
    at, graphs, labels, tags = 1, [], [], []
    for number in range(int(lines[0])):
        try:
            n, label = int(lines[at].split()[0]), lines[at].split()[1]
            rows = [[float(word) for word in lines[at + 1 + i].split()] for i in range(n)]
            neighbours = [[int(v) for v in row[2 : 2 + int(row[1])]] for row in rows]
        except (IndexError, ValueError) as error:
            raise ValueError(
                f"graph {number + 1} of {path.name} must have the lines that its first says, got others near line "
                f"{at + 1:,} ({error}); copy the file again"
            ) from None
        graphs.append(_graph(neighbours, n, path.name, number))
        features = [row[2 + int(row[1]) :] for row in rows]
        if any(features) and len(set(map(len, features))) == 1:
            graphs[-1] = graphs[-1].with_x(torch.tensor(features))
        labels.append(label)
        tags.append(np.array([row[0] for row in rows], np.int64))
        at += n + 1
    if not graphs:
        raise ValueError(f"there must be a graph, got none in {path.name}; give a file with graphs")
    own = [graph.x for graph in graphs]
    made, names = one_hot_tags(graphs, tags, known)
    if all(x is not None for x in own) and len({x.shape[1] for x in own if x is not None}) == 1:
        joined = [g.with_x(torch.cat([g.x, x], 1)) for g, x in zip(made, own) if g.x is not None and x is not None]
        width = own[0].shape[1] if own[0] is not None else 0
        made, names = joined, (*names, *(f"feature_{i + 1}" for i in range(width)))
    fingerprint = fingerprint_files({path.name: path})
    texts = np.array(labels, object)
    return RawGraphSet(path.name, made, [str(i) for i in range(len(made))], texts, "label", fingerprint, names)


def _graph(neighbours: list[list[int]], n: int, name: str, number: int) -> Graph:
    flat = list(itertools.chain.from_iterable(neighbours))
    if flat and not 0 <= min(flat) <= max(flat) < n:
        odd = max(flat) if max(flat) >= n else min(flat)
        raise ValueError(
            f"every edge must end at a vertex, got one to vertex {odd} in graph {number + 1} of {name}, which has {n}; "
            "mend it"
        )
    pairs = {(min(i, j), max(i, j)): None for i, row in enumerate(neighbours) for j in row if i != j}
    return Graph(torch.tensor(list(pairs), dtype=torch.int64).reshape(-1, 2).T, n)


__all__ = ["is_tagged_file", "read_tagged_graphs"]
