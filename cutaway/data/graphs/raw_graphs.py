r"""A graph as it was read: pairs of vertices by their numbers, with whatever tables came along.

Every reader makes one of these, and `settle_edges` makes it plain:

    an edge that came again           kept once; if edges have weights, its weights add up
    an undirected edge both ways      kept once: a list may name an edge as (a, b), as (b, a) or as both
    its two ways with other weights   refused: that graph is directed
    a self-loop                       left out, or kept, as the caller says
"""

import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from cutaway.data.fingerprints import Fingerprint
from cutaway.data.tables.schema import Column, read_column

if TYPE_CHECKING:
    import pandas


class GraphColumns(NamedTuple):
    """The columns that features of vertices and of edges were made of; () where they came as numbers."""

    vertices: tuple[Column, ...] = ()
    edges: tuple[Column, ...] = ()

    def to_dict(self) -> dict[str, list[dict[str, Any]]]:
        return {"vertices": [asdict(column) for column in self.vertices], "edges": [asdict(c) for c in self.edges]}

    @classmethod
    def from_dict(cls, value: dict[str, list[dict[str, Any]]]) -> "GraphColumns":
        """Those of `to_dict`, also after a way through JSON."""
        return cls(*(tuple(map(read_column, value[part])) for part in ("vertices", "edges")))


NO_COLUMNS = GraphColumns()


@dataclass
class RawGraph:
    """A graph as it was read.

    ``directed`` is what the source says of itself, None if nothing. ``both_ways``: the source holds an undirected edge
    in both directions, as a symmetric matrix does. ``multiple``: an edge may be there several times, each counts.
    ``labels`` has a value for every vertex, None or NaN where there is none; ``parts`` are numbers of vertices.
    """

    name: str
    names: Sequence[str]
    pairs: Int[np.ndarray, "m 2"]
    fingerprint: Fingerprint
    weights: Float[np.ndarray, "m"] | None = None
    directed: bool | None = None
    both_ways: bool = False
    multiple: bool = False
    edge_table: "pandas.DataFrame | None" = None
    vertex_table: "pandas.DataFrame | None" = None
    x: Any = None  # features as numbers: an array, a sparse matrix of SciPy or a tensor
    edge_x: Any = None
    columns: GraphColumns = NO_COLUMNS  # that x and edge_x were made of, if it is known
    labels: np.ndarray | None = None
    target: str = ""  # what the labels are called
    edge_labels: np.ndarray | None = None  # a value for every edge
    edge_target: str = ""
    parts: dict[str, Int[np.ndarray, "k"]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class SettledEdges:
    """Edges without repeats: their ends, weights (None: all 1), which of the raw edges each is, and what was done."""

    pairs: Int[np.ndarray, "m 2"]
    weights: Float[np.ndarray, "m"] | None
    kept: Int[np.ndarray, "m"]
    loops: int  # found
    repeats: int  # merged into an edge that was there already
    notes: tuple[str, ...] = ()


def settle_edges(raw: RawGraph, directed: bool, keep_loops: bool) -> SettledEdges:
    """The edges of a graph by the rules above."""
    if raw.directed and not directed:
        raise ValueError(
            f"an undirected graph was asked for, got {raw.name}, whose edges have a direction; make them undirected "
            "first, or, where a graph may be directed, say so (directed=True, --directed)"
        )
    pairs, n = raw.pairs, len(raw.names)
    weights = None if raw.weights is None else np.asarray(raw.weights, np.float64)
    _expect_finite(raw, weights)
    is_loop = pairs[:, 0] == pairs[:, 1]
    loops = int(is_loop.sum())
    chosen = np.arange(len(pairs)) if keep_loops or not loops else np.flatnonzero(~is_loop)
    notes = []
    if loops:
        notes.append(f"{_count(loops, 'self-loop')} {'kept' if keep_loops else 'left out'}")
    ends = pairs[chosen]
    if directed and raw.directed is False:  # an undirected edge as two directed ones
        back = chosen[ends[:, 0] != ends[:, 1]]
        chosen, ends = np.concatenate([chosen, back]), np.concatenate([ends, pairs[back][:, ::-1]])
    ordered = ends if directed else np.sort(ends, 1)
    keys = ordered[:, 0].astype(np.int64) * max(n, 1) + ordered[:, 1]
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    repeats = len(keys) - len(first)
    w = None if weights is None else weights[chosen]
    if not repeats and not raw.both_ways:
        return SettledEdges(ends, w, chosen, loops, 0, tuple(notes))
    values = np.ones(len(keys)) if w is None else w
    back = np.zeros(len(keys), bool) if directed else ends[:, 0] > ends[:, 1]
    sums, there, again = (
        np.bincount(group, values * part, len(first)).astype(np.float64) for part in (np.ones_like(back), ~back, back)
    )
    if not directed and (w is not None or raw.both_ways):
        _expect_symmetric(raw, ends[first], there, again)
    both = (np.bincount(group, ~back, len(first)) > 0) & (np.bincount(group, back, len(first)) > 0)
    total = np.where(both, there, sums)
    order = np.argsort(first, kind="stable")  # as they were given
    first, total = first[order], total[order]
    merged = repeats - int(both.sum()) if not directed else repeats  # a way back is no repeat of its own
    if merged > 0:
        counted = "their weights added up" if w is not None or raw.multiple else "each counted once"
        notes.append(f"{_count(merged, 'edge')} came again: {counted}")
    weighted = w is not None or (raw.multiple and merged > 0)
    return SettledEdges(ends[first], total if weighted else None, chosen[first], loops, merged, tuple(notes))


def _expect_symmetric(
    raw: RawGraph,
    ends: Int[np.ndarray, "m 2"],
    there: Float[np.ndarray, "m"],
    back: Float[np.ndarray, "m"],
) -> None:
    """The two ways of an undirected edge must have one weight."""
    one_way = (there == 0) | (back == 0)
    loop = ends[:, 0] == ends[:, 1]
    odd = ~np.isclose(there, back, rtol=1e-9, atol=0) & ~loop
    if not raw.both_ways or not there[~loop].any() or not back.any():  # a list or a triangular matrix: each edge once
        odd &= ~one_way
    if odd.any():
        place = int(np.argmax(odd))
        i, j = sorted(ends[place])
        a, b = raw.names[int(i)], raw.names[int(j)]
        raise ValueError(
            f"an undirected edge must have the same weight both ways, got {there[place]:.4g} from {a} to {b} and "
            f"{back[place]:.4g} back in {raw.name}, in all {int(odd.sum()):,} such edges; add the two up first, or, "
            "where a graph may be directed, say so (directed=True, --directed)"
        )


def _expect_finite(raw: RawGraph, weights: Float[np.ndarray, "m"] | None) -> None:
    if weights is not None and not np.isfinite(weights).all():
        place = int(np.argmax(~np.isfinite(weights)))
        a, b = (raw.names[int(v)] for v in raw.pairs[place])
        shown = "none" if np.isnan(weights[place]) else f"{weights[place]}"
        raise ValueError(
            f"every edge must have a finite weight, got {shown} for {a} – {b} in {raw.name}; fill it in, or leave the "
            "edge out"
        )


def load_arrays(path: Path) -> dict[str, Any]:
    """The arrays of an .npz by their names; objects (pickles) are refused."""
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except (ValueError, OSError, EOFError, AttributeError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(
            f"an .npz of a graph must hold plain arrays, got {path.name}, which does not read without running code or "
            "is damaged; write it again by numpy.savez"
        ) from error


def expect_different_names(names: Sequence[Any], source: str) -> list[str]:
    """The names of vertices as text; two that are different things and the same text (1 and "1") are refused."""
    texts = [str(name).strip() for name in names]
    if len(set(texts)) < len(texts):
        seen: dict[str, Any] = {}
        for name, text in zip(names, texts, strict=True):
            if text in seen:
                raise ValueError(
                    f"the names of vertices must differ, got {seen[text]!r} and {name!r} in {source}; rename one of "
                    "them"
                )
            seen[text] = name
    return texts


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"


__all__ = [
    "NO_COLUMNS",
    "GraphColumns",
    "RawGraph",
    "SettledEdges",
    "expect_different_names",
    "load_arrays",
    "settle_edges",
]
