r"""Graphs of networkx, SciPy and PyTorch Geometric, in and out.

    as_graph(to_networkx(graph)), as_graph(to_scipy(graph)) and as_graph(to_pyg(graph)) give the same graph again.

A matrix of SciPy and PyG's `Data` hold an undirected edge in both directions; `blocks.Graph` holds it once.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from cutaway.blocks.graphs.graph import Graph
from cutaway.data.fingerprints import fingerprint_bytes
from cutaway.data.graphs.raw_graphs import RawGraph, expect_different_names
from cutaway.extras import need

if TYPE_CHECKING:
    import networkx
    from scipy import sparse
    from torch import Tensor

    from cutaway.data.graphs.graph_data import GraphData

_PARTS = {"train": ("train_mask",), "validation": ("val_mask", "validation_mask"), "test": ("test_mask",)}


def from_networkx(graph: "networkx.Graph", weight: str | None = None, name: str = "") -> RawGraph:
    """A graph of networkx; attributes of vertices and edges are their features."""
    pd = need("pandas", "tables", "attributes of vertices")
    nodes = list(graph.nodes)
    label = name or str(graph.graph.get("name") or "networkx graph")
    names = expect_different_names(nodes, label)
    number = {node: i for i, node in enumerate(nodes)}
    rows = list(graph.edges(data=True))
    pairs = np.array([(number[a], number[b]) for a, b, _ in rows], np.int64).reshape(-1, 2)
    key = "weight" if weight is None else weight
    having = [key in values for _, _, values in rows] if key else []
    weights = None
    if key and rows and any(having):
        if not all(having):
            a, b, _ = rows[having.index(False)]
            raise ValueError(f"every edge must have a weight, got none ({key!r}) for {a} – {b}; give it, or weight=''")
        weights = np.array([_number(values[key], key) for _, _, values in rows])
    elif weight:
        raise ValueError(f"weight must be an attribute of the edges, got {weight!r}, which none has; give another")
    edge_table = pd.DataFrame([{k: v for k, v in values.items() if k != key} for _, _, values in rows])
    vertex_table = pd.DataFrame([values for _, values in graph.nodes(data=True)])
    content = repr((names, pairs.tolist(), None if weights is None else weights.tolist())).encode()
    content += edge_table.to_csv().encode() + vertex_table.to_csv().encode()
    return RawGraph(
        label,
        names,
        pairs,
        fingerprint_bytes(content),
        weights,
        directed=graph.is_directed(),
        multiple=graph.is_multigraph(),
        edge_table=edge_table if len(edge_table.columns) else None,
        vertex_table=vertex_table if len(vertex_table.columns) else None,
    )


def _number(value: Any, key: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(f"weights must be numbers, got {value!r} as {key!r} of an edge; give another weight") from None


def from_scipy(matrix: Any, name: str = "matrix") -> RawGraph:
    """A graph by its adjacency: a sparse matrix of SciPy, or a square array."""
    sparse = need("scipy.sparse", "graphs", "a graph from a matrix")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"an adjacency must be a square matrix, got shape {tuple(matrix.shape)}; give one row and one column a "
            "vertex, or edges of shape (edges, 2)"
        )
    whole = sparse.coo_array(matrix)
    if whole.dtype.kind == "c":
        raise ValueError(f"weights must be real numbers, got {whole.dtype}; give their sizes")
    whole.sum_duplicates()
    there = whole.data != 0
    pairs = np.stack([whole.row[there], whole.col[there]], 1).astype(np.int64)
    values = whole.data[there].astype(np.float64)
    content = repr(matrix.shape).encode() + pairs.tobytes() + values.tobytes()
    return RawGraph(
        name,
        [str(i) for i in range(matrix.shape[0])],
        pairs,
        fingerprint_bytes(content),
        None if (values == 1).all() else values,
        both_ways=True,
    )


def from_pyg(data: Any, name: str = "PyG data", weight: str | None = None) -> RawGraph:
    """A graph of PyTorch Geometric: x, edge_index, edge_weight, edge_attr, y and masks of the parts."""
    kind = type(data).__name__
    if kind in ("HeteroData", "TemporalData"):
        what = "with several kinds of vertices or edges" if kind == "HeteroData" else "that change over time"
        raise ValueError(f"graphs {what} are not read, got PyG's {kind}; give one kind of vertices as a Data object")
    if getattr(data, "edge_index", None) is None:
        raise ValueError("a Data object must have edge_index, got none; set data.edge_index of shape (2, edges)")
    pairs = _array(data.edge_index).T.astype(np.int64)
    n = int(data.num_nodes or 0)
    if len(pairs) and pairs.max() >= n:
        raise ValueError(
            f"every edge must end at a vertex, got one to vertex {int(pairs.max())} where there are {n}; mend it"
        )
    weights, edge_x = getattr(data, "edge_weight", None), getattr(data, "edge_attr", None)
    if edge_x is not None and edge_x.ndim == 1:
        edge_x = edge_x[:, None]
    del weight  # the one that there is
    y = getattr(data, "y", None)
    labels = None if y is None or _array(y).reshape(-1).shape[0] != n else _array(y).reshape(-1)
    parts = {
        part: np.flatnonzero(_array(mask))
        for part, spellings in _PARTS.items()
        for spelling in spellings
        if (mask := getattr(data, spelling, None)) is not None and mask.ndim == 1
    }
    x = getattr(data, "x", None)
    content = b"".join(_array(v).tobytes() for v in (data.edge_index, weights, edge_x, x, y) if v is not None)
    return RawGraph(
        name,
        [str(i) for i in range(n)],
        pairs,
        fingerprint_bytes(content),
        None if weights is None else _array(weights).astype(np.float64).reshape(-1),
        both_ways=True,
        x=x,
        edge_x=edge_x,
        labels=labels,
        target="y" if labels is not None else "",
        parts=parts,
    )


def _array(value: "Tensor") -> np.ndarray:
    return value.detach().cpu().numpy()


# ---- out


def to_networkx(graph: "Graph | GraphData") -> "networkx.Graph":
    """The graph for networkx: `Graph` or `DiGraph`, with "weight" on edges, and "x" and "label" on vertices."""
    nx = need("networkx", "graphs", "to_networkx")
    plain, names, data = _parts_of(graph)
    made = nx.DiGraph() if plain.directed else nx.Graph()
    made.add_nodes_from(names)
    if plain.x is not None:
        rows = plain.x.to_dense() if plain.x.layout != _strided() else plain.x
        nx.set_node_attributes(made, dict(zip(names, rows.tolist(), strict=True)), "x")
    if data is not None and data.targets is not None:
        known = {names[i]: data.label_of(i) for i in range(len(names))}
        nx.set_node_attributes(made, {k: v for k, v in known.items() if v is not None}, "label")
    sums: dict[tuple[int, int], float] = {}
    weights = [1.0] * plain.edges.shape[1] if plain.weights is None else plain.weights.tolist()
    for (i, j), value in zip(plain.edges.T.tolist(), weights, strict=True):
        key = (i, j) if plain.directed or (j, i) not in sums else (j, i)
        sums[key] = sums.get(key, 0.0) + value
    weighted = plain.weights is not None or len(sums) < plain.edges.shape[1]
    for (i, j), value in sums.items():
        made.add_edge(names[i], names[j], **({"weight": value} if weighted else {}))
    if plain.edge_features is not None:
        for (i, j), row in zip(plain.edges.T.tolist(), plain.edge_features.tolist(), strict=True):
            made.edges[names[i], names[j]]["features"] = row
    return made


def to_scipy(graph: "Graph | GraphData") -> "sparse.csr_array":
    """The adjacency for SciPy: `csr_array`, a_ij the weight of the edge i → j, both ways if undirected."""
    sparse = need("scipy.sparse", "graphs", "to_scipy")
    a = _parts_of(graph)[0].adjacency().detach().cpu()
    width = np.int32 if max(a.shape[0], a.values().shape[0]) < 2**31 else np.int64  # scikit-learn takes no wide ones
    parts = (a.values().numpy(), a.col_indices().numpy().astype(width), a.crow_indices().numpy().astype(width))
    return sparse.csr_array(parts, shape=tuple(a.shape))


def to_pyg(graph: "Graph | GraphData") -> Any:
    """The graph for PyTorch Geometric: `Data`, an undirected edge in both directions, y and masks if there are."""
    pyg = need("torch_geometric.data", "graphs", "to_pyg")
    plain, _, data = _parts_of(graph)
    made = pyg.Data(x=plain.x, edge_index=plain.arcs, num_nodes=plain.vertices)
    if plain.weights is not None:
        made.edge_weight = plain.arc_weights
    if plain.edge_features is not None:
        made.edge_attr = plain.edge_features[plain.arc_edges]
    if data is not None and data.targets is not None:
        made.y = data.targets
        for part, spellings in _PARTS.items():
            mask = data.mask(part)
            if mask is not None:
                setattr(made, spellings[0], mask)
    return made


def _parts_of(graph: Any) -> "tuple[Graph, list[Any], GraphData | None]":
    if isinstance(graph, Graph):
        return graph, list(range(graph.vertices)), None
    if not isinstance(getattr(graph, "graph", None), Graph):
        raise ValueError(
            f"a Graph or GraphData was expected, got {type(graph).__name__}; make one by cut.data.as_graph"
        )
    return graph.graph, list(graph.names), graph


def _strided() -> Any:
    import torch

    return torch.strided


__all__ = ["from_networkx", "from_pyg", "from_scipy", "to_networkx", "to_pyg", "to_scipy"]
