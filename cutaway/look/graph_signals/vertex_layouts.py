r"""Places for the vertices of a graph on the plane.

    force      edges pull their ends together by d²/k, all vertices push one another away by k²/d, a little gravity
               holds the pieces together; steps become smaller (Fruchterman, Reingold 1991)
    spectral   the two eigenvectors of the Laplacian after the constant one: neighbours lie as near as can be
               (Hall 1970)

Above a few hundred vertices each is pushed by a random sample of the others, a new one every round.
"""

from typing import Any, Protocol, runtime_checkable

import numpy as np

_EXACT = 500  # vertices up to which every pair pushes
_SAMPLE = 48
_DENSE = 800


@runtime_checkable
class GraphLike(Protocol):
    """What is drawn: ``edges`` (2, m) and the number of ``vertices``, as `cut.blocks.Graph` has them."""

    edges: Any
    vertices: int
    weights: Any
    directed: bool


def edge_ends(graph: GraphLike) -> tuple[np.ndarray, np.ndarray]:
    """Sources and targets as arrays."""
    ends = graph.edges.detach().cpu().numpy() if hasattr(graph.edges, "detach") else np.asarray(graph.edges)
    return ends[0].astype(np.int64), ends[1].astype(np.int64)


def force_layout(graph: GraphLike, seed: int = 0, rounds: int = 250) -> np.ndarray:
    """(vertices, 2) places by forces, within about −1 to 1.

    >>> from types import SimpleNamespace
    >>> pair = SimpleNamespace(edges=np.array([[0], [1]]), vertices=2, weights=None, directed=False)
    >>> force_layout(pair).shape
    (2, 2)
    """
    n = graph.vertices
    i, j = edge_ends(graph)
    i, j = i[i != j], j[i != j]
    random = np.random.default_rng(seed)
    if n < 2:
        return np.zeros((n, 2))
    xy = random.normal(size=(n, 2)) * 0.1
    if n > 30 and len(i):
        xy = _slow_waves(i, j, n, random) + xy * 0.2
    k = 1 / np.sqrt(n)
    xy *= 0.5 / max(np.abs(xy).max(), 1e-9)
    for step in range(rounds):
        push = _push_all(xy, k) if n <= _EXACT else _push_sampled(xy, k, random)
        apart = xy[i] - xy[j]
        pull = apart * (np.linalg.norm(apart, axis=1, keepdims=True) / k)
        move = push - 0.6 * xy * (k * n) ** 0.5 * 0.25  # gravity
        for axis in (0, 1):
            move[:, axis] += np.bincount(j, pull[:, axis], n) - np.bincount(i, pull[:, axis], n)
        length = np.linalg.norm(move, axis=1, keepdims=True)
        hot = 0.12 * (1 - step / rounds) ** 1.5 + 0.002
        xy = xy + move / np.maximum(length, 1e-12) * np.minimum(length, hot)
    return _framed(xy)


def _push_all(xy: np.ndarray, k: float) -> np.ndarray:
    apart = xy[:, None] - xy
    squares = (apart**2).sum(-1) + 1e-9
    np.fill_diagonal(squares, np.inf)
    return (apart * (k * k / squares)[..., None]).sum(1)


def _push_sampled(xy: np.ndarray, k: float, random: np.random.Generator) -> np.ndarray:
    """An estimate of the push of all, from some; those that happen to lie very near count no more than k away."""
    n = len(xy)
    others = random.integers(n, size=(n, _SAMPLE))
    apart = xy[:, None] - xy[others]
    squares = (apart**2).sum(-1)
    far = (apart * (k * k / np.maximum(squares, (0.5 * k) ** 2))[..., None]).sum(1) * (n / _SAMPLE)
    # those nearest on a line through the plane, which a sample would miss
    near = np.zeros_like(xy)
    for turn in (0.3, 1.2, 2.1):
        order = np.argsort(xy @ [np.cos(turn), np.sin(turn)])
        for gap in (1, 2, 3):
            a, b = order[:-gap], order[gap:]
            way = xy[a] - xy[b]
            squares = (way**2).sum(1)
            force = way * (np.where(squares < (2 * k) ** 2, k * k / np.maximum(squares, 1e-3 * k * k), 0))[:, None]
            near[a] += force
            near[b] -= force
    return far + near


def _slow_waves(i: np.ndarray, j: np.ndarray, n: int, random: np.random.Generator, rounds: int = 80) -> np.ndarray:
    """Two signals that change slowly along the edges, by averaging over neighbours again and again."""
    degrees = np.maximum(np.bincount(i, minlength=n) + np.bincount(j, minlength=n), 1)
    root = np.sqrt(degrees)[:, None]
    constant = root / np.linalg.norm(root)
    x = random.normal(size=(n, 2))
    for _ in range(rounds):
        x = x - constant * (constant * x).sum(0)
        y = x / root
        mean = np.stack([np.bincount(i, y[j, c], n) + np.bincount(j, y[i, c], n) for c in (0, 1)], 1) / root
        x = np.linalg.qr(x + mean)[0]
    x = x - constant * (constant * x).sum(0)
    waves = x / root
    return waves / np.maximum(np.abs(waves).max(0), 1e-12)


def spectral_layout(graph: GraphLike) -> np.ndarray:
    """(vertices, 2) places by the second and third eigenvector of L_sym, each divided by √degree."""
    n = graph.vertices
    i, j = edge_ends(graph)
    i, j = i[i != j], j[i != j]
    if n < 3 or not len(i):
        return force_layout(graph)
    if n > _DENSE:
        return _framed(_slow_waves(i, j, n, np.random.default_rng(0), 400))
    a = np.zeros((n, n))
    np.add.at(a, (i, j), 1.0)
    a = a + a.T
    root = np.sqrt(np.maximum(a.sum(1), 1))
    vectors = np.linalg.eigh(np.diag((a.sum(1) > 0).astype(float)) - a / root / root[:, None])[1]
    return _framed(vectors[:, 1:3] / root[:, None])


def _framed(xy: np.ndarray) -> np.ndarray:
    """Moved and scaled to lie within −1 to 1; the shape is kept."""
    centre = (xy.max(0) + xy.min(0)) / 2
    return (xy - centre) / max(float(np.abs(xy - centre).max()), 1e-12)


def fitted(places: np.ndarray) -> np.ndarray:
    """Places inside the unit square, both axes on one scale, in its middle."""
    low, high = places.min(0), places.max(0)
    size = max(float((high - low).max()), 1e-9)
    return (places - (low + high) / 2) / size + 0.5


__all__ = ["GraphLike", "edge_ends", "fitted", "force_layout", "spectral_layout"]
