r"""Files that hold one graph: lists of edges, GraphML, GML, GEXF, Pajek, JSON, Matrix Market, .npz; packed or not.

.npz    edges (m, 2); x (n, f), or its sparse rows x_indptr, x_indices, x_data, x_shape; names and y (n,), −1 for none;
        edge_y (m,), labels of edges; numbers of the vertices of train, val and test. Or a sparse matrix as
        scipy.sparse.save_npz writes it.
"""

import io
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from cutaway.data.files import expect_encoding, open_plain, read_pieces
from cutaway.data.fingerprints import fingerprint_files
from cutaway.data.graphs.edge_lists import edges_of_array, read_edge_file
from cutaway.data.graphs.graph_libraries import from_networkx, from_scipy
from cutaway.data.graphs.node_link import read_node_link
from cutaway.data.graphs.pajek import is_pajek, read_pajek
from cutaway.data.graphs.raw_graphs import GraphColumns, RawGraph, expect_different_names, load_arrays, number_names
from cutaway.data.tables.endings import JSON_LINES, file_ending
from cutaway.extras import need

_NETWORKX = {".graphml": "read_graphml", ".gexf": "read_gexf", ".gml": "read_gml"}
_MATRIX_MARKET, _PAJEK = (".mtx", ".mm"), (".net", ".paj")
_NPZ = {"edges", "edge_index", "x", "x_indptr", "x_indices", "x_data", "x_shape", "y", "names", "weights", "edge_y"}
_NPZ |= {"edge_features", "target", "edge_target", "columns", "notes", "train", "val", "validation", "test"}
_KNOWN = (*_NETWORKX, *_MATRIX_MARKET, *JSON_LINES, *_PAJEK)


def read_graph_file(
    path: Path,
    weight: str | None = None,
    columns: Sequence[str] = (),
    encoding: str = "utf-8",
    header: bool | None = None,
) -> RawGraph:
    """The graph of a file, by the ending of its name, or by how it begins where the ending says nothing."""
    ending = file_ending(path)
    if ending not in _KNOWN and ending != ".npz":
        ending = _looks_like(path, encoding) or ending
    if ending in _NETWORKX:
        raw = _read_by_networkx(path, _NETWORKX[ending], weight)
    elif ending in _MATRIX_MARKET:
        raw = _read_matrix_market(path)
    elif ending in JSON_LINES:
        raw = read_node_link(_text(path, encoding), path.name, weight, columns, ending != ".json")
    elif ending in _PAJEK and is_pajek(text := _text(path, encoding)):
        if weight:
            raise ValueError(f"edges of Pajek have one weight, got weight={weight!r} for {path.name}; leave it out")
        raw = read_pajek(text, path.name)
        raw.weights = None if weight == "" else raw.weights
    elif ending == ".npz":
        raw = read_npz(path)
    else:
        return read_edge_file(path, weight, columns, encoding, header)
    raw.name, raw.fingerprint = path.name, fingerprint_files({path.name: path})
    return raw


def _text(path: Path, encoding: str) -> str:
    expect_encoding(encoding)
    with open_plain(path) as stream:
        return "".join(read_pieces(stream, encoding, path.name))


def _looks_like(path: Path, encoding: str) -> str:
    """The ending that a file should have by its beginning: "" for a list of edges, or a table in another format."""
    expect_encoding(encoding)
    with open_plain(path) as stream:
        if stream.read(4) == b"PAR1":
            return ""
    with open_plain(path) as stream:
        start = next(read_pieces(stream, encoding, path.name), "").lstrip("\ufeff \t\r\n")
    if re.match(r'\{\s*"|\[\s*[\[{]', start):
        lines = start.rstrip().split("\n")
        whole = [re.match(r"\{.*\}\s*$|\[.*\]\s*$", line) for line in lines[:2]]
        return ".jsonl" if len(whole) == 2 and all(whole) else ".json"
    if start.startswith("%%MatrixMarket"):
        return ".mtx"
    if start.startswith("<"):
        return ".gexf" if "<gexf" in start else ".graphml"
    if re.match(r"(strict\s+)?(di)?graph\b[^,;\n]*\{", start):
        raise ValueError(f"DOT is not read, got {path.name}, which is; convert it to GraphML, or to a list of edges")
    return ".net" if is_pajek(start) else ""


def _read_by_networkx(path: Path, reader: str, weight: str | None) -> RawGraph:
    nx = need("networkx", "graphs", f"reading {path.suffix[1:]}")
    with open_plain(path) as stream:
        data = stream.read(-1)
    options = {"label": "id"} if reader == "read_gml" and not re.search(rb"\blabel\s", data) else {}
    graph = _read_whole(path, lambda: getattr(nx, reader)(io.BytesIO(data), **options))
    titles = [values.get("label") for _, values in graph.nodes(data=True)]
    if reader == "read_gexf" and len(set(titles)) == len(titles):  # what a vertex is called, not what it is
        for _, values in graph.nodes(data=True):
            values.pop("label", None)
    return from_networkx(graph, weight, path.name)


def _expect_size(data: bytes, name: str) -> None:
    """What the header of a Matrix Market file says must fit into the file, and into memory."""
    start = 0
    while start < len(data) and (data[start : start + 1] in b"%\r\n" or not data[start : start + 80].strip()):
        start = (data.find(b"\n", start) + 1) or len(data)
    try:
        numbers = [int(word) for word in data[start : start + 200].split(b"\n")[0].split()]
    except ValueError:
        return  # the reader says what is wrong
    if len(numbers) < 2:
        return
    number_names(max(numbers[:2]), name, len(data) // 2)
    entries = numbers[2] if len(numbers) > 2 else numbers[0] * numbers[1] // 2
    least = 4 if len(numbers) > 2 else 2  # bytes of an entry: "1 1" or "0", and the end of its line
    if least * entries > len(data) + 1:
        raise ValueError(
            f"a file of a graph must be whole, got {name}, which says that it has {entries:,} entries in "
            f"{len(data):,} bytes; save it again"
        )


def _read_matrix_market(path: Path) -> RawGraph:
    with open_plain(path) as stream:
        data = stream.read(-1)
    _expect_size(data, path.name)
    mmread: Any = need("scipy.io", "graphs", "reading Matrix Market").mmread
    # from memory: SciPy's reader looks at its stream once more when it is freed, after a file would be closed
    matrix = _read_whole(path, lambda: mmread(io.BytesIO(data), spmatrix=False))
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
    for name, rows, what in (
        *((name, len(raw.names), "vertices") for name in ("y", "names", "x")),
        *((name, len(raw.pairs), "edges") for name in ("weights", "edge_features", "edge_y")),
    ):
        found = x if name == "x" else arrays.get(name)
        if found is not None and found.shape[:1] != (rows,):
            raise ValueError(
                f"{name} must have a row for each of the {rows:,} {what}, got shape {found.shape} in {path.name}; "
                "mend it"
            )
    unread = [name for name in arrays if name not in _NPZ]
    if unread:
        raw.notes.append(f"arrays that are not read: {', '.join(unread[:5])}{', …' * (len(unread) > 5)}")
    raw.notes += [str(note) for note in arrays.get("notes", ())]
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
                raw.parts[part] = _part(arrays[spelling], len(raw.names), spelling, path.name)
    return raw


def _part(rows: np.ndarray, vertices: int, name: str, source: str) -> np.ndarray:
    """Numbers of vertices, from numbers or from a mask."""
    if rows.dtype == bool and rows.shape == (vertices,):
        return np.flatnonzero(rows)
    if rows.dtype.kind not in "iu" or rows.ndim != 1 or ((rows < 0) | (rows >= vertices)).any():
        plain = rows.dtype.kind in "iu" and rows.ndim == 1
        odd = rows[(rows < 0) | (rows >= vertices)] if plain else rows.reshape(-1)[:0]
        shown = f"{int(odd[0])}" if len(odd) else f"{rows.dtype} of shape {rows.shape}"
        raise ValueError(
            f"{name} must list numbers of vertices, 0 to {vertices - 1:,}, or be a mask of all of them, got {shown} in "
            f"{source}; mend it"
        )
    return rows.astype(np.int64)


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


__all__ = ["read_graph_file", "read_npz"]
