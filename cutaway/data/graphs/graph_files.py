r"""Files that hold one graph: lists of edges, GraphML, GML, GEXF, Pajek, JSON, Matrix Market, .npz; packed or not.

.npz    edges (m, 2); x (n, f), or its sparse rows x_indptr, x_indices, x_data, x_shape; names and y (n,), −1 for none;
        edge_y (m,), labels of edges; numbers of the vertices of train, val and test. Or a sparse matrix as
        scipy.sparse.save_npz writes it.
"""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from cutaway.atomic_files import parse_json
from cutaway.data.files import expect_encoding, open_plain, read_pieces
from cutaway.data.fingerprints import fingerprint_files
from cutaway.data.graphs.edge_lists import edges_of_array, edges_of_frame, read_edge_file
from cutaway.data.graphs.graph_libraries import from_networkx, from_scipy
from cutaway.data.graphs.raw_graphs import GraphColumns, RawGraph, expect_different_names, load_arrays, number_names
from cutaway.extras import need

_PACKED = (".gz", ".xz", ".bz2")
_NETWORKX = {".graphml": "read_graphml", ".gexf": "read_gexf", ".gml": "read_gml"}


def read_graph_file(
    path: Path,
    weight: str | None = None,
    columns: Sequence[str] = (),
    encoding: str = "utf-8",
    header: bool | None = None,
) -> RawGraph:
    """The graph of a file, by the ending of its name."""
    ending = file_ending(path)
    if ending in _NETWORKX:
        raw = _read_by_networkx(path, _NETWORKX[ending], weight)
    elif ending in (".mtx", ".mm"):
        raw = _read_matrix_market(path)
    elif ending in (".json", ".jsonl", ".ndjson"):
        raw = _read_json(path, weight, columns, encoding)
    elif ending in (".net", ".paj"):
        raw = _read_pajek(path, weight, encoding)
    elif ending == ".npz":
        raw = read_npz(path)
    else:
        return read_edge_file(path, weight, columns, encoding, header)
    raw.name, raw.fingerprint = path.name, fingerprint_files({path.name: path})
    return raw


def file_ending(path: Path) -> str:
    """The ending of a name that says what a file holds.

    >>> file_ending(Path("edges.csv.gz"))
    '.csv'
    """
    endings = [ending.lower() for ending in path.suffixes]
    while endings and endings[-1] in _PACKED:
        endings.pop()
    return endings[-1] if endings else ""


def _read_by_networkx(path: Path, reader: str, weight: str | None) -> RawGraph:
    nx = need("networkx", "graphs", f"reading {path.suffix[1:]}")
    with open_plain(path) as stream:
        graph = _read_whole(path, lambda: getattr(nx, reader)(stream))
    return from_networkx(graph, weight, path.name)


def _read_json(path: Path, weight: str | None, columns: Sequence[str], encoding: str) -> RawGraph:
    """A graph of JSON: networkx's node-link and adjacency data, D3's nodes and links, or a list of edges."""
    expect_encoding(encoding)
    with open_plain(path) as stream:
        text = "".join(read_pieces(stream, encoding, path.name))
    try:
        lines = file_ending(path) != ".json"
        found = [parse_json(line) for line in text.split("\n") if line.strip()] if lines else parse_json(text)
    except json.JSONDecodeError as error:
        raise ValueError(
            f"a .json must hold JSON, got {path.name}, which does not ({error.msg.lower()} in line {error.lineno}); "
            "save it again"
        ) from None
    if isinstance(found, list) and found and all(isinstance(row, dict) for row in found):
        frame = need("pandas", "tables", "a list of edges").DataFrame(found)
        return edges_of_frame(frame, path.name, None, weight, columns)
    if isinstance(found, list):
        if found and all(isinstance(row, list) and len(row) in (2, 3) for row in found):
            return edges_of_array([tuple(row) for row in found], path.name)
    elif isinstance(found, dict) and isinstance(found.get("nodes"), list):
        return from_networkx(_node_link(found, path.name), weight, path.name)
    raise ValueError(
        f"JSON of a graph must have nodes and links, as networkx.node_link_data gives it, or be a list of edges, got "
        f"{', '.join(list(found)[:5]) if isinstance(found, dict) else type(found).__name__} in {path.name}; write it so"
    )


def _node_link(found: dict[str, Any], name: str) -> Any:
    """The graph of nodes and links (or edges); a node without an id has its place as its name."""
    nx = need("networkx", "graphs", "reading JSON")
    links = found.get("links", found.get("edges"))
    if links is None and isinstance(found.get("adjacency"), list):
        with suppress(KeyError, TypeError, IndexError, AttributeError):
            return nx.adjacency_graph(found)
    if not isinstance(links, list) or not all(isinstance(row, dict) for row in [*links, *found["nodes"]]):
        raise ValueError(f"JSON of a graph must have a list of links beside its nodes, got none in {name}; add it")
    kinds = {(False, False): nx.Graph, (True, False): nx.DiGraph, (False, True): nx.MultiGraph}
    pairs = [(str(row.get("source")), str(row.get("target"))) for row in links]
    many = bool(found.get("multigraph")) or len(set(pairs)) < len(pairs)
    graph = kinds.get((bool(found.get("directed")), many), nx.MultiDiGraph)()
    if isinstance(found.get("graph"), dict):
        graph.graph.update(found["graph"])
    ids = []
    for place, node in enumerate(found["nodes"]):
        key = next((key for key in ("id", "key", "name") if key in node), "")
        ids.append(_hashed(node[key]) if key else place)
        graph.add_node(ids[-1], **{str(k): v for k, v in node.items() if k != key})
    for number, row in enumerate(links):
        ends = []
        for side in ("source", "target"):
            end = _hashed(row.get(side))
            if end not in graph and isinstance(end, int) and 0 <= end < len(ids) and "id" not in found["nodes"][end]:
                end = ids[end]  # D3 names the ends by their places
            if end not in graph:
                raise ValueError(
                    f"every link must end at a node, got {row.get(side)!r} as {side} of link {number + 1:,} in {name}; "
                    "add the node, or mend the link"
                )
            ends.append(end)
        graph.add_edge(*ends, **{str(k): v for k, v in row.items() if k not in ("source", "target", "key")})
    return graph


def _hashed(value: Any) -> Any:
    return tuple(map(_hashed, value)) if isinstance(value, list) else str(value) if isinstance(value, dict) else value


def _read_pajek(path: Path, weight: str | None, encoding: str) -> RawGraph:
    """A graph of Pajek; places and shapes that its vertices are drawn with are no features."""
    nx = need("networkx", "graphs", "reading Pajek")
    expect_encoding(encoding)
    with open_plain(path) as stream:
        text = "".join(read_pieces(stream, encoding, path.name))
    if "*vertices" not in text.casefold():
        return read_edge_file(path, weight, (), encoding)  # other programs write lists of edges as .net
    lines = [line for line in text.split("\n") if line.strip() and not line.lstrip().startswith("%")]
    graph = _read_whole(path, lambda: nx.parse_pajek(lines))
    for _, values in graph.nodes(data=True):
        for drawn in ("id", "x", "y", "shape"):
            values.pop(drawn, None)
    return from_networkx(graph, weight, path.name)


def _expect_size(path: Path) -> None:
    """What the first line of a Matrix Market file says must fit into the file, and into memory."""
    with open_plain(path) as stream:
        start = stream.read(1 << 16).decode("latin-1").split("\n")
    size = path.stat().st_size * (1 if file_ending(path) == path.suffix.lower() else 2000)
    line = next((line for line in start[1:] if line.strip() and not line.startswith("%")), "")
    try:
        numbers = [int(word) for word in line.split()]
    except ValueError:
        return  # the reader says what is wrong
    if len(numbers) < 2:
        return
    number_names(max(numbers[:2]), path.name)
    entries = numbers[2] if len(numbers) > 2 else numbers[0] * numbers[1] // 2
    if entries > size:
        raise ValueError(
            f"a file of a graph must be whole, got {path.name}, which says that it has {entries:,} entries in "
            f"{path.stat().st_size:,} bytes; save it again"
        )


def _read_matrix_market(path: Path) -> RawGraph:
    _expect_size(path)
    mmread: Any = need("scipy.io", "graphs", "reading Matrix Market").mmread
    with open_plain(path) as stream:
        matrix = _read_whole(path, lambda: mmread(stream, spmatrix=False))
    return from_scipy(matrix, path.name)


def _read_whole(path: Path, read: Callable[[], Any]) -> Any:
    try:
        return read()
    except Exception as error:
        # parsers of other libraries raise errors of many kinds for a damaged file, XML's own among them
        if isinstance(error, (MemoryError, ModuleNotFoundError)):
            raise
        said = " ".join(str(error).split())[:100]
        kind = file_ending(path)[1:]
        raise ValueError(
            f"a file of a graph must be whole, got {path.name}, which is no {kind} ({said}); save it again"
        ) from error


def read_npz(path: Path) -> RawGraph:
    """A graph of NumPy arrays: see above. Objects (pickles) are refused."""
    arrays = load_arrays(path)
    if {"indptr", "indices", "data", "shape"} <= set(arrays):
        sparse = need("scipy.sparse", "graphs", "reading a sparse matrix")
        return from_scipy(_rows(sparse, arrays, ""), path.name)
    if "edges" not in arrays and "edge_index" not in arrays:
        raise ValueError(
            f"an .npz of a graph must have an array called edges, got {', '.join(arrays) or 'none'} in {path.name}; "
            "name the pairs of vertices edges"
        )
    x = arrays.get("x")
    if "x_indptr" in arrays:
        x = _rows(need("scipy.sparse", "graphs", "sparse features"), arrays, "x_")
    labels = arrays.get("y")
    described = next((part for part in (x, labels, arrays.get("names")) if part is not None), None)
    count = None if described is None else described.shape[0]
    by_rows = "edges" in arrays and arrays["edges"].shape[1:] == (2,)
    pairs = arrays["edges" if "edges" in arrays else "edge_index"]
    raw = edges_of_array(
        pairs, path.name, count, False if by_rows else None if "edges" in arrays else pairs.shape[:1] == (2,)
    )
    if "names" in arrays:
        raw = replace(raw, names=expect_different_names(arrays["names"].tolist(), path.name))
    raw.x = x
    raw.edge_x = arrays.get("edge_features")
    if "weights" in arrays:
        raw.weights = arrays["weights"].astype(np.float64)
    if labels is not None:
        raw.labels, raw.target = labels, str(arrays.get("target", "y"))
    if "edge_y" in arrays:
        raw.edge_labels, raw.edge_target = arrays["edge_y"], str(arrays.get("edge_target", "edge_y"))
    if "columns" in arrays:
        raw.columns = GraphColumns.from_dict(json.loads(str(arrays["columns"])))
    names = {"train": ("train",), "validation": ("val", "validation"), "test": ("test",)}
    for part, spellings in names.items():
        for spelling in spellings:
            if spelling in arrays:
                rows = arrays[spelling]
                raw.parts[part] = np.flatnonzero(rows) if rows.dtype == bool else rows.astype(np.int64)
    return raw


def _rows(sparse: Any, arrays: dict[str, np.ndarray], prefix: str) -> Any:
    """A sparse matrix from its parts; without values they are 1."""
    indices = arrays[f"{prefix}indices"]
    shape = tuple(int(n) for n in arrays[f"{prefix}shape"])
    values = arrays.get(f"{prefix}data", np.ones(len(indices), np.float32))
    parts = (values, indices.astype(np.int64), arrays[f"{prefix}indptr"].astype(np.int64))
    layout = bytes(arrays.get("format", np.array(b"csr"))[()]).decode() if not prefix else "csr"
    matrix = {"csr": sparse.csr_array, "csc": sparse.csc_array}.get(layout)
    if matrix is None:
        raise ValueError(f"a sparse matrix must be in CSR or CSC layout, got {layout}; save it by .tocsr()")
    return matrix(parts, shape=shape)


__all__ = ["file_ending", "read_graph_file", "read_npz"]
