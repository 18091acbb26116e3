r"""An index of vectors: built once, it finds the rows of a matrix that are nearest to any vector.

    cosine      x·y / (‖x‖ ‖y‖)        1: the same direction; the larger, the nearer
    dot         x·y                    as output layers compare (maximum inner product); the larger, the nearer
    euclidean   ‖x − y‖                0: the same vector; the smaller, the nearer

*Exact* search compares with every row: by one product, or by faiss's flat index where rows are many. *Approximate*
search looks at a part of them: ``hnsw`` walks a graph of near rows (Malkov and Yashunin 2016), ``ivf`` opens the cells
of a clustering that are nearest (Jégou, Douze and Schmid 2011). `recall` says how much of the exact answer they find.
Both search by distance, and the largest product is the smallest distance among vectors that one more entry makes
equally long (Bachrach et al. 2014):

    x̃ = (x, √(M² − ‖x‖²)),  q̃ = (q, 0)         ‖x̃ − q̃‖² = M² + ‖q‖² − 2 x·q,   M the largest ‖x‖

faiss: Johnson, Douze and Jégou 2017. Notes: N3 §4.4.
"""

import math
from importlib.util import find_spec
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from cutaway.extras import need
from cutaway.look.charts.arrays import Values, as_array

By = Literal["cosine", "dot", "euclidean"]
Kind = Literal["exact", "hnsw", "ivf"]
UNITS = {"cosine": "cosine", "dot": "dot product", "euclidean": "distance"}
_KINDS = ("exact", "hnsw", "ivf")
_MANY = 50_000  # rows from which faiss is used for exact search, if it is installed
_PAIRS = 4_000_000  # compared at a time
_LINKS = 32  # of each row in the graph of hnsw


class Nearest(NamedTuple):
    """For each vector its nearest rows, the nearest first, and how near they are."""

    rows: np.ndarray
    scores: np.ndarray


class VectorIndex:
    """The rows of a matrix, ready to be searched.

    ``kind`` is "exact", "hnsw" or "ivf". ``effort`` is what an approximate search spends on a vector: the candidates
    that hnsw keeps, or the cells that ivf opens; more of it finds more and takes longer.

    >>> index = VectorIndex([[1.0, 0.0], [0.0, 1.0], [3.0, 4.0]])
    >>> index.search([[0.0, 2.0]], count=2)
    Nearest(rows=array([[1, 2]]), scores=array([[1. , 0.8]]))
    """

    def __init__(self, matrix: Values, by: By = "cosine", kind: Kind = "exact", effort: int | None = None) -> None:
        for name, value, known in (("by", by, tuple(UNITS)), ("kind", kind, _KINDS)):
            if value not in known:
                raise ValueError(
                    f"{name} must be {', '.join(known[:-1])} or {known[-1]}, got {value!r}; pick one of these"
                )
        if effort is not None and (effort < 1 or kind == "exact"):
            raise ValueError(f"effort is 1 or more, of an approximate search, got {effort} for {kind!r}; leave it out")
        self.by, self.kind = by, kind
        x = _finite("rows", as_array("matrix", matrix, "rows", "dimensions"))
        self.matrix = unit(x) if by == "cosine" else x
        self._faiss = self._built(effort) if kind != "exact" else self._flat()

    def __len__(self) -> int:
        return len(self.matrix)

    def search(self, vectors: Values, count: int = 10) -> Nearest:
        """The ``count`` rows nearest to each of the ``vectors`` (vectors, dimensions); exactly: equal ones in order."""
        q = _finite("vectors", as_array("vectors", vectors, "vectors", "dimensions")).astype(self.matrix.dtype)
        if q.shape[1] != self.matrix.shape[1]:
            raise ValueError(
                f"vectors must be as wide as the matrix, got width {q.shape[1]} for rows of {self.matrix.shape[1]}; "
                "take both from one embedding"
            )
        if not 1 <= count <= len(self):
            raise ValueError(f"count must be from 1 to the number of rows, {len(self)}, got {count}; ask for fewer")
        if self.by == "cosine":
            q = unit(q)
        if self._faiss is None:
            return self._compared(q, count)
        if self.kind == "exact":
            scores, rows = self._faiss.search(np.ascontiguousarray(q, dtype=np.float32), count)
            return Nearest(rows, np.sqrt(np.maximum(scores, 0)) if self.by == "euclidean" else scores)
        return self._approximate(q, count)

    def _compared(self, q: np.ndarray, count: int) -> Nearest:
        """By comparing with every row, a few million pairs at a time."""
        rows, parts = torch.from_numpy(self.matrix), list[tuple[Tensor, Tensor]]()
        for vectors in torch.from_numpy(q).split(max(1, _PAIRS // len(rows))):
            if self.by == "euclidean":  # by differences: products would lose the small ones
                nearness = -torch.cdist(vectors, rows, compute_mode="donot_use_mm_for_euclid_dist")
            else:
                nearness = vectors @ rows.T
            parts.append(_largest(nearness, count))
        found, scores = (torch.cat(part).numpy() for part in zip(*parts))
        return Nearest(found, np.abs(scores) if self.by == "euclidean" else scores)

    def _flat(self) -> Any:
        if len(self) < _MANY or not find_spec("faiss"):
            return None
        import faiss

        width = self.matrix.shape[1]
        index = faiss.IndexFlatL2(width) if self.by == "euclidean" else faiss.IndexFlatIP(width)
        index.add(np.ascontiguousarray(self.matrix, dtype=np.float32))
        return index

    def _built(self, effort: int | None) -> Any:
        """faiss's index of the rows, by distance."""
        faiss = need("faiss", "words", "approximate search")
        x = self.matrix
        if self.by == "dot":
            squares = np.square(x).sum(1)
            x = np.concatenate([x, np.sqrt(np.maximum(squares.max() - squares, 0))[:, None]], 1)
        x = np.ascontiguousarray(x, dtype=np.float32)
        threads = faiss.omp_get_max_threads()
        faiss.omp_set_num_threads(1)  # what several threads build depends on which is first
        try:
            if self.kind == "hnsw":
                index = faiss.IndexHNSWFlat(x.shape[1], _LINKS)
                index.hnsw.efSearch = effort or 64
            else:
                cells = max(1, min(round(4 * math.sqrt(len(x))), len(x) // 40))
                index = faiss.IndexIVFFlat(faiss.IndexFlatL2(x.shape[1]), x.shape[1], cells)
                index.cp.min_points_per_centroid = 1  # else it warns of few points on the terminal
                index.train(x)
                index.nprobe = min(cells, effort or max(1, cells // 16))
            index.add(x)
        finally:
            faiss.omp_set_num_threads(threads)
        return index

    def _approximate(self, q: np.ndarray, count: int) -> Nearest:
        """The rows that faiss finds, with exact scores; a vector for which it finds too few is searched exactly."""
        widened = np.pad(q, ((0, 0), (0, 1))) if self.by == "dot" else q
        _, rows = self._faiss.search(np.ascontiguousarray(widened, dtype=np.float32), count)
        short = (rows < 0).any(1)
        if short.any():
            rows[short] = self._compared(q[short], count).rows
        found = self.matrix[rows]
        if self.by == "euclidean":
            scores = np.linalg.norm(found - q[:, None], axis=2)
        else:
            scores = np.einsum("vcd,vd->vc", found, q)
        order = np.argsort(scores if self.by == "euclidean" else -scores, axis=1, kind="stable")
        return Nearest(np.take_along_axis(rows, order, 1), np.take_along_axis(scores, order, 1))


def _finite(name: str, x: np.ndarray) -> np.ndarray:
    bad = np.flatnonzero(~np.isfinite(x).all(1))
    if len(bad):
        raise ValueError(
            f"{name} to search must be finite, got {len(bad):,} of {len(x):,} with infinite numbers or NaN, the first "
            f"at {bad[0]}; leave these out"
        )
    return x


def _largest(x: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Places and values of the largest entries of each row, largest first, equal ones in order."""
    values, places = x.topk(count, dim=1)
    tied = (x >= values[:, -1:]).sum(1) > count  # more are equal to the last: which came is up to chance
    if tied.any():
        places[tied] = x[tied].sort(dim=1, descending=True, stable=True).indices[:, :count]
    places = places.sort(dim=1).values
    order = x.gather(1, places).sort(dim=1, descending=True, stable=True)
    return places.gather(1, order.indices), order.values


def recall(found: Nearest, exact: Nearest) -> float:
    """The share of the exactly nearest rows that a search found, from 0 to 1."""
    if found.rows.shape != exact.rows.shape:
        raise ValueError(
            f"recall compares searches for the same vectors and count, got {found.rows.shape} and {exact.rows.shape}; "
            "search both alike"
        )
    hits = [len(np.intersect1d(a, b)) for a, b in zip(found.rows, exact.rows)]
    return sum(hits) / exact.rows.size


def unit(x: np.ndarray) -> np.ndarray:
    """Rows of length 1; a row of zeros stays what it is."""
    lengths = np.linalg.norm(x, axis=1, keepdims=True)
    return x / np.where(lengths > 0, lengths, 1.0)


__all__ = ["By", "Kind", "Nearest", "VectorIndex", "recall", "unit"]
