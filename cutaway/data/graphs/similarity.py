r"""Similarity graphs: points become vertices, and edges join those that lie near one another.

    kNN     i – j if one of them is among the k nearest of the other (mutual: if each is)
    ε       i – j if their distance is at most ε
    w_ij = exp(−d_ij² / 2σ²)        weights from distances, with a scale σ that is given
    w_ij = exp(−d_ij² / 2σ_i σ_j)   else σ_i is the distance of i to its k-th neighbour: wide where points are rare

Such a graph knows what is near and nothing of what is far. von Luxburg 2007, §2.2; Zelnik-Manor, Perona 2004. Notes:
N3 §7, §7.3.2.
"""

from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float

from cutaway.blocks.graphs.graph import Graph
from cutaway.data.graphs.vertex_tables import feature_numbers
from cutaway.extras import need

_KNOWN = ("gaussian", "none")


def similarity_graph(
    points: Any,
    neighbours: int | None = None,
    radius: float | None = None,
    weights: Literal["gaussian", "none"] = "gaussian",
    mutual: bool = False,
    scale: float | None = None,
    standardise: bool | None = None,
) -> Graph:
    """The kNN graph of points (n, dimensions), or with ``radius`` the ε graph; its ``x`` are the points.

    ``points`` is an array, or a DataFrame, whose columns become numbers as those of vertices do and are brought to one
    spread (``standardise``, by default for tables alone). Without ``neighbours`` and ``radius``, 10 neighbours.

    >>> graph = similarity_graph([[0.0], [1.0], [5.0]], neighbours=1, weights="none")
    >>> graph.edges.T.tolist()
    [[0, 1], [1, 2]]
    """
    if weights not in _KNOWN:
        raise ValueError(f"weights must be one of {', '.join(_KNOWN)}, got {weights!r}; pick one of these")
    if neighbours is not None and radius is not None:
        raise ValueError(f"give neighbours or radius, got both ({neighbours} and {radius}); leave one out")
    table = hasattr(points, "columns")
    x = feature_numbers(points, "rows")[0].astype(np.float64) if table else _numbers(points)
    if table if standardise is None else standardise:
        spread = x.std(0)
        x = (x - x.mean(0)) / np.where(spread > 0, spread, 1)
    n = len(x)
    k = 10 if neighbours is None else neighbours
    if radius is None and not 1 <= k < n:
        raise ValueError(
            f"neighbours must be from 1 to the number of points − 1, got {k} for {n} points; try "
            f"neighbours={max(1, min(10, n - 1))}"
        )
    if radius is not None and not radius > 0:
        raise ValueError(f"radius must be above 0, got {radius}; try the distance to a near point")
    i, j, distances = _near(x, k, mutual) if radius is None else _within(x, float(radius))
    w = None
    if weights == "gaussian":
        if scale is not None and not scale > 0:
            raise ValueError(f"scale must be above 0, got {scale}; give the distance at which points are still alike")
        sigma = _scales(x, min(k, n - 1)) if scale is None else np.full(n, float(scale))
        w = torch.from_numpy(np.exp(-(distances**2) / (2 * sigma[i] * sigma[j]))).float()
    return Graph(torch.from_numpy(np.stack([i, j]).astype(np.int64)), n, w, torch.from_numpy(x).float())


def _numbers(points: Any) -> Float[np.ndarray, "n d"]:
    x = np.asarray(points.detach().cpu() if hasattr(points, "detach") else points, np.float64)
    if x.ndim != 2 or not x.size:
        raise ValueError(f"points must have shape (points, dimensions), got {x.shape}; give a row a point")
    if not np.isfinite(x).all():
        row = int(np.argmax(~np.isfinite(x).all(1)))
        raise ValueError(f"points must be finite numbers, got nan or inf in row {row}; fill it in or leave it out")
    return x


def _search(x: Float[np.ndarray, "n d"]) -> Any:
    return need("sklearn.neighbors", "tables", "a similarity graph").NearestNeighbors().fit(x)


def _near(x: Float[np.ndarray, "n d"], k: int, mutual: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pairs i < j where one is among the k nearest of the other, or each is; and their distances."""
    distances, found = _search(x).kneighbors(n_neighbors=k)  # of the fitted points, each without itself
    i, j, d = np.repeat(np.arange(len(x)), k), found.reshape(-1), distances.reshape(-1)
    keys = np.minimum(i, j) * len(x) + np.maximum(i, j)
    _, first, often = np.unique(keys, return_index=True, return_counts=True)
    first = first[often == 2] if mutual else first
    return np.minimum(i, j)[first], np.maximum(i, j)[first], d[first]


def _within(x: Float[np.ndarray, "n d"], radius: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    distances, found = _search(x).radius_neighbors(radius=radius)
    i = np.repeat(np.arange(len(x)), [len(row) for row in found])
    j = np.concatenate(found) if len(i) else np.empty(0, np.int64)
    d = np.concatenate(distances) if len(i) else np.empty(0)
    once = i < j
    return i[once], j[once].astype(np.int64), d[once]


def _scales(x: Float[np.ndarray, "n d"], k: int) -> Float[np.ndarray, "n"]:
    """Of each point the distance to its k-th nearest, or, where that is 0, the mean of all; 1 if all coincide."""
    found = _search(x).kneighbors(n_neighbors=k)[0][:, -1]
    return np.where(found > 0, found, float(found.mean()) or 1.0)


__all__ = ["similarity_graph"]
