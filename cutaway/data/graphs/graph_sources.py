r"""One graph from whatever holds it, by the form that it comes in; then the table of its vertices beside it.

a name           a sample, or a file: see graph_files.py
a table          a DataFrame or dict with a row an edge: see edge_lists.py
an object        of networkx, SciPy (a sparse matrix) or PyTorch Geometric: see graph_libraries.py
an array         (edges, 2), numbers of vertices
"""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from cutaway.data.files import find_files
from cutaway.data.fingerprints import Fingerprint, fingerprint_files
from cutaway.data.graphs.edge_lists import edges_of_array, edges_of_frame, is_path, whole_names
from cutaway.data.graphs.graph_files import read_graph_file
from cutaway.data.graphs.graph_libraries import from_networkx, from_pyg, from_scipy
from cutaway.data.graphs.raw_graphs import RawGraph, expect_different_names, number_names
from cutaway.data.graphs.vertex_tables import align_rows, read_vertex_table
from cutaway.data.samples.embedded import resolve
from cutaway.data.stored import Stored
from cutaway.data.tables.table_files import as_frame


def open_graph(
    source: Any,
    vertices: Any = None,
    weight: str | None = None,
    columns: Sequence[str] = (),
    bipartite: bool = False,
    encoding: str = "utf-8",
    header: bool | None = None,
) -> RawGraph:
    """The graph as it was read, with the rows of its vertices."""
    count = vertices if isinstance(vertices, (int, np.integer)) and not isinstance(vertices, bool) else None
    raw = _read(resolve(source, "graph"), None if count is None else int(count), weight, columns, encoding, header)
    bare = vertices is None or (isinstance(vertices, str) and not vertices)
    if bare and not raw.names and is_path(source):
        raise ValueError(
            f"a graph needs at least one edge or a table of vertices, got {raw.name}, which has no rows; add a row for "
            "each edge"
        )
    if bipartite:
        _set_apart(raw)
    if vertices is None:
        return raw
    if count is not None:
        return _with_count(raw, int(count))
    if isinstance(vertices, str) and not vertices:
        return raw
    return _with_table(raw, vertices, encoding)


def _read(
    source: Any, count: int | None, weight: str | None, columns: Sequence[str], encoding: str, header: bool | None
) -> RawGraph:
    if isinstance(source, RawGraph):  # a sample
        return source
    if isinstance(source, Stored):
        with source.as_file() as path:
            return read_graph_file(path, weight, columns, encoding, header)
    if isinstance(source, Path):
        return read_graph_file(_one_file(source), weight, columns, encoding, header)
    kind = type(source).__module__.split(".")[0]
    if hasattr(source, "is_multigraph") and hasattr(source, "edges"):
        return from_networkx(source, weight)
    if kind == "networkx":  # graph.edges, which is a list of tuples
        return edges_of_array(list(source), vertices=count)
    if kind == "torch_geometric":
        return from_pyg(source)
    if kind == "dgl":
        raise ValueError("a graph of DGL is not read, got one; convert it by dgl.to_networkx(graph)")
    if kind == "scipy" or hasattr(source, "tocoo"):
        return from_scipy(source)
    if isinstance(source, dict):
        _expect_columns(source)
    if hasattr(source, "columns") or isinstance(source, dict):
        frame = as_frame(source)
        return edges_of_frame(frame, str(frame.attrs.get("name", "table of edges")), None, weight, columns)
    if hasattr(source, "layout") and "sparse" in str(source.layout):
        from cutaway.extras import need

        coo = source.detach().cpu().to_sparse_coo().coalesce()
        (i, j), values = coo.indices().numpy(), coo.values().numpy()
        return from_scipy(need("scipy.sparse", "graphs", "a sparse matrix").coo_array((values, (i, j)), coo.shape))
    shape = getattr(source, "shape", None)
    if shape is not None and len(shape) == 2 and shape[0] == shape[1] != 2:
        array = np.asarray(source.detach().cpu() if hasattr(source, "detach") else source)
        return from_scipy(array)
    if shape is not None or isinstance(source, (list, tuple)):
        return edges_of_array(source, vertices=count)
    raise ValueError(
        "a graph must be a path, a table of edges, an array of shape (edges, 2), a sparse matrix, or a graph of "
        f"networkx or PyTorch Geometric, got {type(source).__name__}; give a list of edges"
    )


def _expect_columns(source: dict[Any, Any]) -> None:
    """A dict is a table of edges, its values are columns; one that lists neighbours is refused."""
    values = list(source.values())
    nested = any(isinstance(value, dict) for value in values)
    lists = [value for value in values if isinstance(value, (list, tuple, set))]
    keys = set(map(str, source))
    around = len(lists) == len(values) and all(str(entry) in keys for value in lists for entry in value)
    if nested or (around and any(lists)):
        raise ValueError(
            f"a dict of edges must have columns, as source and target, got neighbours of {next(iter(source))!r}; give "
            f"networkx.{'Graph' if nested else 'from_dict_of_lists'}(…)"
        )


def _one_file(path: Path) -> Path:
    files = find_files(path)
    if len(files) > 1:
        raise ValueError(
            f"one graph was asked for, got the folder {path} with {len(files)} files; give one of them, or read many "
            "graphs with cut.data.read_graphs"
        )
    (file,) = files.values()
    return file


def _set_apart(raw: RawGraph) -> None:
    """Equal names at the two ends of edges become different vertices: people and films may both be numbered from 1."""
    sources, targets = np.unique(raw.pairs[:, 0]), np.unique(raw.pairs[:, 1])
    shared = np.intersect1d(sources, targets)
    place = np.arange(len(raw.names))
    names = list(raw.names)
    moved = {}
    for v in shared.tolist():
        moved[v] = len(names)
        names.append(f"{names[v]} (target)")
    place_of = place.copy()
    for v, new in moved.items():
        place_of[v] = new
    raw.pairs = np.stack([raw.pairs[:, 0], place_of[raw.pairs[:, 1]]], 1)
    raw.names = names
    if moved:
        raw.notes.append(f"bipartite: {len(moved):,} names stand at both ends; at the second they end with (target)")


def _with_count(raw: RawGraph, count: int) -> RawGraph:
    """The graph with vertices 0 to count − 1; names must be those numbers."""
    if count < 0:
        raise ValueError(f"the number of vertices must be 0 or more, got {count}; leave vertices out")
    names = number_names(count, "vertices")
    if len(raw.names) == count and list(raw.names) == names:
        return raw
    try:
        numbers = np.array([int(name) for name in raw.names], np.int64)
    except ValueError:
        raise ValueError(
            f"with a number of vertices their names must be the numbers from 0, got {raw.names[0]!r} in {raw.name}; "
            "give a list of names in place of the number"
        ) from None
    if len(numbers) and not (numbers.min() >= 0 and numbers.max() < count):
        odd = int(numbers.max()) if numbers.max() >= count else int(numbers.min())
        raise ValueError(
            f"every edge must end at a vertex, got one to vertex {odd} in {raw.name} where there are {count} (0 to "
            f"{count - 1}); raise vertices, or mend the edge"
        )
    if raw.vertex_table is not None or raw.x is not None or raw.labels is not None:
        raise ValueError(
            f"{raw.name} says itself how many vertices there are, {len(raw.names)}, got vertices={count}; leave it out"
        )
    return replace(raw, names=names, pairs=numbers[raw.pairs])


def _with_table(raw: RawGraph, vertices: Any, encoding: str) -> RawGraph:
    """The graph with the vertices of a table, or of a list of names, in that order."""
    if isinstance(vertices, (list, tuple, np.ndarray)):
        names, frame = expect_different_names(list(vertices), "vertices"), None
        source = "the list of vertices"
        align_rows(raw.names, names, None, source)
        print_of = hashlib.sha256("\n".join(names).encode()).hexdigest()
        stamp: tuple[Any, ...] = ()
    else:
        found, frame, source, notes = read_vertex_table(vertices, encoding)
        source = Path(source).name if is_path(vertices) else source
        ends, found = (part.tolist() for part in whole_names([np.array(raw.names, object), np.array(found, object)]))
        raw = replace(raw, names=ends)
        names, frame = align_rows(raw.names, found, frame, source)
        raw.notes += notes
        if is_path(vertices):
            print_taken = fingerprint_files(find_files(vertices, setting="vertices"))
            print_of, stamp = print_taken.digest, print_taken.files
        else:
            from cutaway.data.tables.reading import fingerprint_frame

            print_of, stamp = fingerprint_frame(frame.assign(**{"": names})).digest, ()
    if (raw.x is not None or raw.vertex_table is not None) and frame is not None:
        raise ValueError(f"{raw.name} has features of its vertices already, got a table of vertices too; leave one out")
    place = {name: i for i, name in enumerate(names)}
    order = np.array([place[name] for name in raw.names], np.int64)
    whole = hashlib.sha256(f"{raw.fingerprint.digest}  edges\n{print_of}  vertices\n".encode()).hexdigest()
    fingerprint = Fingerprint(whole, raw.fingerprint.size, (*raw.fingerprint.files, *stamp), raw.fingerprint.taken)
    pairs = order[raw.pairs] if len(order) else raw.pairs
    return replace(raw, names=names, pairs=pairs, vertex_table=frame, vertex_source=source, fingerprint=fingerprint)


__all__ = ["open_graph"]
