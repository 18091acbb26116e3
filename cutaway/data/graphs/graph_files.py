r"""Files that hold one graph: lists of edges, GraphML, GML, GEXF, Matrix Market, NumPy's .npz; packed or not.

.npz    edges (m, 2); x (n, f), or its sparse rows x_indptr, x_indices, x_data, x_shape; names and y (n,), −1 for none;
        edge_y (m,), labels of edges; numbers of the vertices of train, val and test. Or a sparse matrix as
        scipy.sparse.save_npz writes it.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from cutaway.data.files import open_plain
from cutaway.data.fingerprints import fingerprint_files
from cutaway.data.graphs.edge_lists import edges_of_array, read_edge_file
from cutaway.data.graphs.graph_libraries import from_networkx, from_scipy
from cutaway.data.graphs.raw_graphs import GraphColumns, RawGraph, expect_different_names, load_arrays
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


def _read_matrix_market(path: Path) -> RawGraph:
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
    raw = edges_of_array(arrays["edges" if "edges" in arrays else "edge_index"], path.name, count)
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
