r"""Graphs of networkx, SciPy and PyTorch Geometric, in and out.

    as_graph(to_networkx(graph)) and as_graph(to_pyg(graph)) give the same graph again, with its weights, features of
    vertices, edges and the whole, and its direction; `read_graph` also gives names and labels. as_graph(to_scipy(
    graph)) gives the same adjacency: a matrix holds weights alone. Parallel edges need repeats="keep" to stay apart.

A matrix of SciPy and PyG's `Data` hold an undirected edge in both directions; `blocks.Graph` holds it once.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from cutaway.blocks.graphs.graph import Graph
from cutaway.data.fingerprints import fingerprint_bytes
from cutaway.data.graphs.raw_graphs import RawGraph, expect_different_names, number_names
from cutaway.extras import need

if TYPE_CHECKING:
    import networkx
    import pandas
    from scipy import sparse
    from torch import Tensor

    from cutaway.data.graphs.graph_data import GraphData

_PARTS = {"train": ("train_mask",), "validation": ("val_mask", "validation_mask"), "test": ("test_mask",)}
_PLACES = {"train": ("train_idx",), "validation": ("val_idx", "valid_idx"), "test": ("test_idx",)}
# What is read of PyG's `Data`, and what says nothing beside it.
_READ = {"x", "edge_index", "edge_weight", "edge_attr", "y", "num_nodes", "batch", "ptr", "name", "directed"}
_READ |= {"feature_names", "edge_feature_names", "classes", "target", "vertex_names", "graph_features"}
# Attributes that networkx graphs and PyG objects made here carry beside their own.
_VERTEX, _EDGE = "x", "features"
_ABOUT = ("feature_names", "edge_feature_names", "classes", "target")


def from_networkx(graph: "networkx.Graph", weight: str | None = None, name: str = "") -> RawGraph:
    """A graph of networkx; attributes of vertices and edges are their features, those that are vectors as numbers."""
    nodes = list(graph.nodes)
    label = name or str(graph.graph.get("name") or "networkx graph")
    number = {node: i for i, node in enumerate(nodes)}
    rows = list(graph.edges(data=True))
    raw = graph_of_rows(
        label,
        expect_different_names(nodes, label),
        [values for _, values in graph.nodes(data=True)],
        [(number[a], number[b]) for a, b, _ in rows],
        [values for *_, values in rows],
        weight,
    )
    about = graph.graph
    raw.directed = graph.is_directed()
    raw.feature_names = _known_names(about.get("feature_names"), raw.feature_names)
    raw.edge_feature_names = _known_names(about.get("edge_feature_names"), raw.edge_feature_names)
    if (whole := _vector(about.get(_EDGE))) is not None and len(whole):
        raw.graph_x = torch.from_numpy(whole.astype(np.float32)).reshape(-1, len(whole))
    return raw


def graph_of_rows(
    name: str,
    names: Sequence[str],
    vertex_rows: Sequence[Mapping[Any, Any]],
    ends: Sequence[tuple[int, int]],
    edge_rows: Sequence[Mapping[Any, Any]],
    weight: str | None = None,
) -> RawGraph:
    """The graph of vertices and edges with attributes, a dict each. ``weight`` is that of the weights ("": none)."""
    pairs = np.array(ends, np.int64).reshape(-1, 2)
    key = "weight" if weight is None else weight
    having = [key in values for values in edge_rows] if key else []
    weights = None
    if any(having):
        if not all(having):
            a, b = (names[v] for v in ends[having.index(False)])
            raise ValueError(
                f"every edge must have a weight where some have one, got none ({key!r}) for {a} – {b} in {name}; give "
                "it, or weight=''"
            )
        weights = np.array([_number(values[key], key, name) for values in edge_rows])
    elif weight:
        raise ValueError(
            f"weight must be an attribute of the edges, got {weight!r}, which none has in {name}; give another"
        )
    edge_x, edge_names, edge_table = _attributes(edge_rows, (key,), _EDGE, "edges", name)
    x, x_names, vertex_table = _attributes(vertex_rows, (), _VERTEX, "vertices", name)
    content = repr((list(names), pairs.tolist(), None if weights is None else weights.tolist())).encode()
    for table in (edge_table, vertex_table):
        content += b"" if table is None else table.to_csv().encode()
    for numbers in (x, edge_x):
        content += b"" if numbers is None else numbers.tobytes()
    return RawGraph(
        name,
        names,
        pairs,
        fingerprint_bytes(content),
        weights,
        edge_table=edge_table,
        vertex_table=vertex_table,
        vertex_source=name,
        x=x,
        edge_x=edge_x,
        feature_names=x_names,
        edge_feature_names=edge_names,
    )


def _known_names(noted: Any, found: tuple[str, ...]) -> tuple[str, ...]:
    """The names of features that a graph carries, if there are as many of them as features."""
    return tuple(map(str, noted)) if isinstance(noted, (list, tuple)) and len(noted) == len(found) else found


def _attributes(
    rows: Sequence[Mapping[Any, Any]], left_out: Sequence[str], usual: str, what: str, source: str
) -> "tuple[np.ndarray | None, tuple[str, ...], pandas.DataFrame | None]":
    """Attributes that are vectors as numbers (rows, width), with names, and the others as a table; None for none."""
    pd = need("pandas", "tables", "attributes of vertices")
    keys = list(dict.fromkeys(key for row in rows for key in row if key not in left_out))
    plain = [key for key in keys if not any(_vector(row.get(key)) is not None for row in rows)]
    columns, names = [], list[str]()
    for key in keys:
        if key in plain:
            continue
        vectors = [_vector(row.get(key)) for row in rows]
        sizes = sorted({-1 if vector is None else len(vector) for vector in vectors})
        if len(sizes) > 1 or sizes[0] < 0:
            shown = ", ".join("none" if size < 0 else f"{size}" for size in sizes[:3])
            raise ValueError(
                f"vectors of {what} must all hold the same count of numbers, got {shown} as {str(key)!r} in {source}; "
                "mend them, or leave the attribute out"
            )
        columns.append(np.stack([vector for vector in vectors if vector is not None]).astype(np.float32))
        names += [f"feature_{i + 1}" if key == usual else f"{key}_{i + 1}" for i in range(sizes[0])]
    table = pd.DataFrame([{str(key): _single(row.get(key)) for key in plain} for row in rows]) if plain else None
    return (np.concatenate(columns, 1) if columns else None), tuple(names), table


def _single(value: Any) -> Any:
    """The number in an array or tensor of one that has no axes; others as they are."""
    return value.item() if isinstance(value, (np.ndarray, np.generic, torch.Tensor)) and value.ndim == 0 else value


def _vector(value: Any) -> np.ndarray | None:
    """Numbers of a list, an array or a tensor; None of what holds others."""
    if not isinstance(value, (list, tuple, np.ndarray, torch.Tensor)) or getattr(value, "ndim", 1) != 1:
        return None
    try:
        found = np.asarray(value.detach().cpu() if isinstance(value, torch.Tensor) else value)
    except ValueError:  # rows of several lengths
        return None
    return found.astype(np.float64) if found.dtype.kind in "iufb" and found.ndim == 1 else None


def _number(value: Any, key: str, source: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(
            f"weights must be numbers, got {value!r} as {key!r} of an edge of {source}; give another weight"
        ) from None


def from_scipy(matrix: Any, name: str = "matrix") -> RawGraph:
    """A graph by its adjacency: a sparse matrix of SciPy, or a square array. Entries that are all 1 are no weights."""
    sparse = need("scipy.sparse", "graphs", "a graph from a matrix")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"an adjacency must be a square matrix, got shape {tuple(matrix.shape)}; give one row and one column a "
            "vertex, or edges of shape (edges, 2)"
        )
    names = number_names(int(matrix.shape[0]), name)
    whole = sparse.coo_array(matrix)
    if whole.dtype.kind == "c":
        raise ValueError(f"weights must be real numbers, got {whole.dtype}; give their sizes")
    if whole.dtype.kind not in "iufb":
        raise ValueError(f"weights must be numbers, got {whole.dtype}; convert the matrix by .astype(float)")
    there = whole.data != 0
    pairs = np.stack([whole.row[there], whole.col[there]], 1).astype(np.int64)
    pairs = pairs[order := np.lexsort((pairs[:, 1], pairs[:, 0]))]  # by rows, whatever layout it came in
    values = whole.data[there].astype(np.float64)[order]
    content = repr(matrix.shape).encode() + pairs.tobytes() + values.tobytes()
    return RawGraph(
        name,
        names,
        pairs,
        fingerprint_bytes(content),
        None if (values == 1).all() else values,
        both_ways=True,
    )


def from_pyg(data: Any, name: str = "PyG data", weight: str | None = None) -> RawGraph:
    """A graph of PyTorch Geometric: x, edge_index, edge_weight, edge_attr, y and masks of the parts.

    It is directed if an edge has no way back. Of masks (n, splits) the first split is taken.
    """
    kind = type(data).__name__
    if kind in ("HeteroData", "TemporalData"):
        what = "with several kinds of vertices or edges" if kind == "HeteroData" else "that change over time"
        raise ValueError(f"graphs {what} are not read, got PyG's {kind}; give one kind of vertices as a Data object")
    if getattr(data, "edge_index", None) is None:
        raise ValueError("a Data object must have edge_index, got none; set data.edge_index of shape (2, edges)")
    if data.edge_index.ndim != 2 or data.edge_index.shape[0] != 2 or data.edge_index.dtype.is_floating_point:
        raise ValueError(
            f"edge_index must hold whole numbers of shape (2, edges), got {data.edge_index.dtype} of shape "
            f"{tuple(data.edge_index.shape)}; give sources in its first row and targets in its second"
        )
    pairs = _array(data.edge_index).T.astype(np.int64)
    n = int(data.num_nodes or 0)
    if len(pairs) and not 0 <= pairs.min() <= pairs.max() < n:
        odd = int(pairs.max()) if pairs.max() >= n else int(pairs.min())
        raise ValueError(f"every edge must end at a vertex, got one to vertex {odd} where there are {n}; mend it")
    weights, edge_x = _tensor(data, "edge_weight"), _tensor(data, "edge_attr")
    for called, value in (("edge_weight", weights), ("edge_attr", edge_x)):
        if value is not None and len(value) != len(pairs):
            raise ValueError(
                f"{called} must have a row for each of the {len(pairs):,} edges of edge_index, got {len(value):,}; "
                "mend it"
            )
    if weights is not None and weights.numel() != len(pairs):
        raise ValueError(
            f"edge_weight must be one number an edge, got shape {tuple(weights.shape)} for {len(pairs):,} edges; give "
            "several numbers an edge as edge_attr"
        )
    if edge_x is not None and edge_x.ndim != 2:
        edge_x = edge_x.reshape(len(pairs), -1)
    del weight  # the one that there is
    x, y = _tensor(data, "x"), _tensor(data, "y")
    if x is not None:
        x = x[:, None] if x.ndim == 1 else x.to_sparse_csr() if x.layout == torch.sparse_coo else x
        if len(x) != n:
            raise ValueError(f"x must have a row for each of the {n:,} vertices, got {len(x):,}; mend x or num_nodes")
    notes: list[str] = []
    labels, no_labels = _pyg_labels(data, y, n)
    parts = _pyg_parts(data, n, notes)
    unread = [str(key) for key in (data.keys() if callable(data.keys) else data.keys) if key not in _READ]
    unread = sorted(key for key in unread if not any(key in part for part in (*_PARTS.values(), *_PLACES.values())))
    if unread:
        shown = ", ".join(unread[:5]) + ", …" * (len(unread) > 5)
        notes.append(f"not read of PyG data: {shown}; features are x and edge_attr, labels y, weights edge_weight")
    content = b"".join(_bytes(v) for v in (data.edge_index, weights, edge_x, x, y) if v is not None)
    directed, one_way = _pyg_direction(data, pairs, n)
    names = _listed(data, "vertex_names")
    whole, membership = getattr(data, "graph_features", None), getattr(data, "batch", None)
    return RawGraph(
        name,
        number_names(n, name) if len(names) != n else expect_different_names(names, name),
        pairs,
        fingerprint_bytes(content),
        None if weights is None else _array(weights).astype(np.float64).reshape(-1),
        directed=directed,
        one_way=one_way,
        both_ways=True,
        x=x,
        edge_x=edge_x,
        feature_names=tuple(_listed(data, "feature_names")),
        edge_feature_names=tuple(_listed(data, "edge_feature_names")),
        graph_x=whole if isinstance(whole, torch.Tensor) else None,
        membership=membership.long() if isinstance(membership, torch.Tensor) and len(membership) == n else None,
        labels=labels,
        target="" if labels is None else str(getattr(data, "target", None) or "y"),
        label_source=name,
        no_labels=no_labels,
        parts=parts,
        notes=notes,
    )


def _listed(data: Any, name: str) -> list[Any]:
    """A list that a Data object carries beside its tensors."""
    found = getattr(data, name, None)
    return list(found) if isinstance(found, (list, tuple)) else []


def _pyg_direction(data: Any, pairs: np.ndarray, n: int) -> tuple[bool | None, str]:
    """Whether the edges have a direction (None: nothing speaks for it), and one that has no way back."""
    said = getattr(data, "directed", None)
    if isinstance(said, bool):
        return said or None, ""
    ways, back = pairs[:, 0] * max(n, 1) + pairs[:, 1], pairs[:, 1] * max(n, 1) + pairs[:, 0]
    alone = np.flatnonzero(~np.isin(ways, back))
    if not len(alone):
        return None, ""
    i, j = pairs[alone[0]].tolist()
    return True, f"{i} → {j} has no way back"


def _pyg_labels(data: Any, y: "Tensor | None", n: int) -> tuple[np.ndarray | None, str]:
    """The label of every vertex; or none, and why."""
    if y is None:
        return None, ""
    if y.ndim >= 2 and y.shape[0] == n and y.numel() > n:
        return None, (
            f"labels must be one a vertex, got y of shape {tuple(y.shape)} in PyG data; choose a column of it "
            "(data.y = data.y[:, 0]), or, of one-hot rows, their place (data.y = data.y.argmax(1))"
        )
    values = _array(y).reshape(-1)
    if len(values) != n or y.shape[0] != n:
        return None, (
            f"labels must be one a vertex, got y of shape {tuple(y.shape)} for {n:,} vertices in PyG data; it is taken "
            "as a label of the whole graph"
        )
    classes = _listed(data, "classes")
    if classes and values.dtype.kind in "iu" and values.max(initial=-1) < len(classes):
        return np.array([classes[v] if v >= 0 else None for v in values.tolist()], object), ""
    return values, ""


def _pyg_parts(data: Any, n: int, notes: list[str]) -> dict[str, np.ndarray]:
    """The vertices of train, validation and test by the masks; of several splits, the first."""
    parts = {}
    for part, spellings in _PARTS.items():
        for spelling in spellings:
            mask = _tensor(data, spelling)
            if mask is None:
                continue
            if mask.ndim not in (1, 2) or mask.shape[0] != n or not mask.numel() or mask.is_floating_point():
                raise ValueError(
                    f"a mask must say of each of the {n:,} vertices whether it is in a part, got {spelling} of shape "
                    f"{tuple(mask.shape)}, {mask.dtype}; give a mask of shape ({n},), or ({n}, splits)"
                )
            if mask.dtype != torch.bool and (odd := mask[(mask != 0) & (mask != 1)]).numel():
                raise ValueError(
                    f"a mask must be true or false (1 or 0) for each of the {n:,} vertices, got {spelling} with "
                    f"{int(odd[0])}; make one of numbers of vertices by index_fill"
                )
            if mask.ndim == 2 and mask.shape[1] > 1:
                notes.append(
                    f"{spelling} has {mask.shape[1]} splits: the first is taken; for another, set data.{spelling} = "
                    f"data.{spelling}[:, number]"
                )
            parts[part] = np.flatnonzero(_array(mask if mask.ndim == 1 else mask[:, 0]))
        for spelling in _PLACES[part]:
            rows = None if part in parts else _tensor(data, spelling)
            if rows is None:
                continue
            if rows.ndim != 1 or rows.is_floating_point() or (odd := rows[(rows < 0) | (rows >= n)]).numel():
                shown = f"{rows.dtype} of shape {tuple(rows.shape)}"
                if rows.ndim == 1 and not rows.is_floating_point():
                    shown = f"{int(odd[0])}"
                raise ValueError(
                    f"{spelling} must list numbers of vertices, 0 to {n - 1:,}, got {shown}; mend it, or give a mask"
                )
            parts[part] = np.flatnonzero(_array(rows)) if rows.dtype == torch.bool else _array(rows).astype(np.int64)
    return parts


def _tensor(data: Any, name: str) -> "Tensor | None":
    """What a Data object has under a name, an array or a list as a tensor; None for nothing."""
    found = getattr(data, name, None)
    if found is None or isinstance(found, torch.Tensor):
        return found
    try:
        return torch.as_tensor(np.asarray(found) if isinstance(found, (list, tuple)) else found)
    except (TypeError, ValueError, RuntimeError):
        raise ValueError(
            f"{name} of a Data object must be a tensor, got {type(found).__name__}; convert it by torch.as_tensor"
        ) from None


def _array(value: "Tensor") -> np.ndarray:
    return value.detach().cpu().numpy()


def _bytes(value: "Tensor") -> bytes:
    if value.layout == torch.strided:
        return _array(value).tobytes()
    value = value.detach().cpu().to_sparse_csr()
    return b"".join(part.numpy().tobytes() for part in (value.crow_indices(), value.col_indices(), value.values()))


# ---- out


def to_networkx(graph: "Graph | GraphData") -> "networkx.Graph":
    """The graph for networkx: `Graph` or `DiGraph`, with "weight" and "features" on edges, "x" and "label" on vertices.

    A graph with parallel edges becomes a `MultiGraph` or `MultiDiGraph`. Features of the whole are its attribute
    "features", and names of features "feature_names" and "edge_feature_names".
    """
    nx = need("networkx", "graphs", "to_networkx")
    plain, names, data = _parts_of(graph)
    pairs = plain.edges.T.tolist()
    parallel = len(set(pairs_of(pairs, plain.directed))) < len(pairs)
    kinds = {(False, False): nx.Graph, (True, False): nx.DiGraph, (False, True): nx.MultiGraph}
    made = kinds.get((plain.directed, parallel), nx.MultiDiGraph)()
    made.add_nodes_from(names)
    if plain.x is not None:
        rows = plain.x.detach()
        rows = rows.to_dense() if rows.layout != torch.strided else rows
        nx.set_node_attributes(made, dict(zip(names, rows.tolist(), strict=True)), _VERTEX)
    if data is not None and data.targets is not None:
        known = {names[i]: data.label_of(i) for i in range(len(names))}
        nx.set_node_attributes(made, {k: v for k, v in known.items() if v is not None}, "label")
    if plain.graph_features is not None and plain.graphs == 1:
        made.graph[_EDGE] = plain.graph_features.detach()[0].tolist()
    for name, value in _about(data).items():
        if name.endswith("names"):
            made.graph[name] = value
    weights = None if plain.weights is None else plain.weights.detach().tolist()
    features = None if plain.edge_features is None else plain.edge_features.detach().tolist()
    for e, (i, j) in enumerate(pairs):
        values: dict[str, Any] = {}
        if weights is not None or parallel:  # parallel edges count: their weights add up where they are read again
            values["weight"] = 1.0 if weights is None else weights[e]
        if features is not None:
            values[_EDGE] = features[e]
        made.add_edge(names[i], names[j], **values)
    return made


def pairs_of(pairs: Iterable[Sequence[int]], directed: bool) -> list[tuple[int, int]]:
    """Pairs of vertices, an undirected one with its lower number first."""
    return [(i, j) if directed or i <= j else (j, i) for i, j in pairs]


def _about(data: "GraphData | None") -> dict[str, Any]:
    """What is told of labels and features beside the tensors."""
    if data is None:
        return {}
    found = {name: getattr(data, name) for name in _ABOUT}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in found.items() if value}


def to_scipy(graph: "Graph | GraphData") -> "sparse.csr_array":
    """The adjacency for SciPy: `csr_array`, a_ij the weight of the edge i → j, both ways if undirected.

    A matrix holds weights alone: names, features and labels stay behind.
    """
    sparse = need("scipy.sparse", "graphs", "to_scipy")
    a = _parts_of(graph)[0].adjacency().detach().cpu()
    width = np.int32 if max(a.shape[0], a.values().shape[0]) < 2**31 else np.int64  # scikit-learn takes no wide ones
    parts = (a.values().numpy(), a.col_indices().numpy().astype(width), a.crow_indices().numpy().astype(width))
    return sparse.csr_array(parts, shape=tuple(a.shape))


def to_pyg(graph: "Graph | GraphData") -> Any:
    """The graph for PyTorch Geometric: `Data`, an undirected edge in both directions, y and masks if there are.

    What PyG has no place for are further attributes: vertex_names, feature_names, edge_feature_names, classes, target,
    graph_features, and directed of a directed graph.
    """
    pyg = need("torch_geometric.data", "graphs", "to_pyg")
    plain, names, data = _parts_of(graph)
    made = pyg.Data(x=plain.x, edge_index=plain.arcs, num_nodes=plain.vertices)
    if plain.weights is not None:
        made.edge_weight = plain.arc_weights
    elif len(set(pairs_of(plain.edges.T.tolist(), plain.directed))) < plain.edges.shape[1]:
        made.edge_weight = torch.ones(plain.arcs.shape[1])  # parallel edges count
    if plain.edge_features is not None:
        made.edge_attr = plain.edge_features[plain.arc_edges]
    if plain.graph_features is not None:
        made.graph_features = plain.graph_features
    if plain.membership is not None:
        made.batch = plain.membership
    if plain.directed:
        made.directed = True
    for name, value in _about(data).items():
        setattr(made, name, value)
    if data is not None:
        made.vertex_names = list(map(str, names))
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


__all__ = ["from_networkx", "from_pyg", "from_scipy", "graph_of_rows", "to_networkx", "to_pyg", "to_scipy"]
