r"""A graph as it was read: pairs of vertices by their numbers, with whatever tables came along.

Every reader makes one of these, and `settle_edges` makes it plain. One rule holds for files, lists, networkx, SciPy and
PyTorch Geometric, and what it did is told (notes of `read_graph`, warnings of `as_graph`):

    an edge that comes again            kept once; if edges have weights, its weights add up
    an undirected edge both ways        kept once: a list may name an edge as (a, b), as (b, a) or as both; of a list,
                                        that is noted, as matrices and PyG always name both
    repeats that contradict             refused: other features or labels, weights of opposite sign, and of an
                                        undirected edge another weight each way
    a self-loop                         left out, or kept, as the caller says

``repeats`` chooses another rule: "add" counts every repeat (1 where edges have no weight, all rows of a pair in
whichever way they name it), "first" and "last" take one of them as it stands, "keep" has them as edges of their own.
A matrix or a multigraph whose edges all weigh 1 has no weights.
"""

import re
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from cutaway.data.checks import expect_choice
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
REPEATS = ("auto", "add", "first", "last", "keep")
_CHOICES = "repeats='first' or repeats='last'"
_MOST_VERTICES = 50_000_000
_WHOLE = re.compile(r"-?[0-9]+\.0+")
_FEW_VERTICES = 1_000_000  # that cost little, whether they have edges or not


@dataclass
class RawGraph:
    """A graph as it was read.

    ``directed`` is what the source says of itself, None if nothing. ``both_ways``: the source holds an undirected edge
    in both directions, as a symmetric matrix does. ``labels`` has a value for every vertex, None or NaN where there is
    none, of the file or object ``label_source``; ``no_labels`` says why there are none where some could be expected.
    ``parts`` are numbers of vertices. ``x`` and ``vertex_table`` may both be there: the numbers come first.
    """

    name: str
    names: Sequence[str]
    pairs: Int[np.ndarray, "m 2"]
    fingerprint: Fingerprint
    weights: Float[np.ndarray, "m"] | None = None
    directed: bool | None = None
    one_way: str = ""  # an edge that shows that it is directed, where that is found out
    both_ways: bool = False
    edge_table: "pandas.DataFrame | None" = None
    vertex_table: "pandas.DataFrame | None" = None
    vertex_source: str = ""  # the file of the table of vertices
    x: Any = None  # features as numbers: an array, a sparse matrix of SciPy or a tensor
    edge_x: Any = None
    columns: GraphColumns = NO_COLUMNS  # that x and edge_x were made of, if it is known
    feature_names: tuple[str, ...] = ()  # of x
    edge_feature_names: tuple[str, ...] = ()  # of edge_x
    graph_x: Any = None  # features of the whole: a tensor (graphs, g)
    membership: Any = None  # the graph of each vertex, where several stand side by side: a tensor (n,)
    labels: np.ndarray | None = None
    target: str = ""  # what the labels are called
    label_source: str = ""
    no_labels: str = ""
    edge_labels: np.ndarray | None = None  # a value for every edge
    edge_target: str = ""
    parts: dict[str, Int[np.ndarray, "k"]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class SettledEdges:
    """Edges by the rule above: their ends, weights (None: all 1), which of the raw edges each is, and what was done.

    ``rows`` are the raw edges that were looked at, ``edge_of`` the edge that each of them became.
    """

    pairs: Int[np.ndarray, "m 2"]
    weights: Float[np.ndarray, "m"] | None
    kept: Int[np.ndarray, "m"]
    loops: int  # found
    repeats: int  # that came beside an edge that was there already
    notes: tuple[str, ...] = ()
    rows: Int[np.ndarray, "r"] | None = None
    edge_of: Int[np.ndarray, "r"] | None = None


def settle_edges(raw: RawGraph, directed: bool, keep_loops: bool, repeats: str = "auto") -> SettledEdges:
    """The edges of a graph by the rules above."""
    expect_choice("repeats", repeats, REPEATS)
    if raw.directed and not directed:
        raise ValueError(
            f"an undirected graph was asked for, got {raw.name}, whose edges have a direction"
            f"{f' ({raw.one_way})' * bool(raw.one_way)}; make them undirected first, or, where a graph may be "
            "directed, say so (directed=True, --directed)"
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
    first, group = _group(ends, n, directed, repeats == "keep")
    w = None if weights is None else weights[chosen]
    parallel = len(first) - len(_group(ends, n, directed, False)[0]) if repeats == "keep" else 0
    if parallel:
        notes.append(f"{_count(parallel, 'edge')} came again: kept as edges of their own")
    if len(first) == len(ends) and not raw.both_ways:
        return SettledEdges(ends, w, chosen, loops, parallel, tuple(notes))
    back = np.zeros(len(ends), bool) if directed else ends[:, 0] > ends[:, 1]
    values = np.ones(len(ends)) if w is None else w
    sums, there, again = (
        np.bincount(group, values * part, len(first)).astype(np.float64) for part in (np.ones_like(back), ~back, back)
    )
    counts = tuple(np.bincount(group[part], minlength=len(first)) for part in (~back, back))
    both = (counts[0] > 0) & (counts[1] > 0)
    if not directed and raw.both_ways:
        notes += _expect_both_ways(raw, ends[first], *counts)
    if repeats == "auto" and w is not None:
        _expect_one_sign(raw, ends[first], w, group)
    if not directed and repeats in ("auto", "keep") and w is not None:
        _expect_symmetric(raw, ends[first], there, again, both)
    taken = first
    if repeats == "last":
        taken = np.zeros_like(first)
        np.maximum.at(taken, group, np.arange(len(group)))
    if repeats in ("first", "last"):
        total = values[taken]
    elif repeats == "add" and not raw.both_ways:
        total = sums
    else:
        total = np.where(both, there, sums)
    order = np.argsort(first, kind="stable")  # as they were given
    by_pair = repeats in ("add", "first", "last") and not raw.both_ways
    merged = len(ends) - len(first) if by_pair else int((np.maximum(*counts) - 1).sum())  # a way back is no repeat
    weighted = w is not None or (repeats == "add" and merged > 0)
    if not raw.both_ways and not by_pair and (named_twice := int((both & (ends[first, 0] != ends[first, 1])).sum())):
        every = "every edge is" if named_twice == len(first) else f"{_count(named_twice, 'edge')} {_are(named_twice)}"
        notes.append(f"{every} named both ways: undirected, kept once{' with one weight' * (w is not None)}")
    if merged > 0:
        done = "their weights added up" if weighted else "each counted once"
        done = {"first": "the first is taken", "last": "the last is taken"}.get(repeats, done)
        notes.append(f"{_count(merged, 'edge')} came again: {done}")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return SettledEdges(
        ends[first][order],
        total[order] if weighted else None,
        chosen[taken][order],
        loops,
        merged + parallel,
        tuple(notes),
        chosen,
        place[group],
    )


def _group(
    ends: Int[np.ndarray, "m 2"], vertices: int, directed: bool, apart: bool
) -> tuple[Int[np.ndarray, "g"], Int[np.ndarray, "m"]]:
    """The first row of every pair of vertices, and the pair that each row belongs to.

    With ``apart``, a pair has a group for each of its edges: the second i → j goes with the second j → i.
    """
    if not apart:
        ordered = ends if directed else np.sort(ends, 1)
        keys = ordered[:, 0].astype(np.int64) * max(vertices, 1) + ordered[:, 1]
        _, first, group = np.unique(keys, return_index=True, return_inverse=True)
        return first, group
    ways = ends[:, 0].astype(np.int64) * max(vertices, 1) + ends[:, 1]
    order = np.argsort(ways, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(ways[order]) != 0]) if len(ways) else np.empty(0, np.int64)
    number = np.empty(len(ways), np.int64)
    number[order] = np.arange(len(ways)) - np.repeat(starts, np.diff(np.r_[starts, len(ways)]))
    ordered = ends if directed else np.sort(ends, 1)
    rows = np.column_stack([ordered, number])
    _, first, group = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return first, group.reshape(-1)


def _expect_both_ways(
    raw: RawGraph, ends: Int[np.ndarray, "m 2"], there: Int[np.ndarray, "m"], back: Int[np.ndarray, "m"]
) -> list[str]:
    """A matrix holds every undirected edge both ways, or, as a triangle, all of them one way: that is noted."""
    odd = ((there == 0) | (back == 0)) & (ends[:, 0] != ends[:, 1])
    if not odd.any():
        return []
    if not back.any() or not there[ends[:, 0] != ends[:, 1]].any():
        return ["every edge is given one way alone: taken as undirected"]
    place = int(np.argmax(odd))
    i, j = sorted(ends[place].tolist())
    raise ValueError(
        f"an undirected edge must have the same weight both ways, got {_side(raw, i, j)} from {raw.names[i]} to "
        f"{raw.names[j]} and {_side(raw, j, i)} back in {raw.name}, {_such(int(odd.sum()))}; add "
        "the two up first, or, where a graph may be directed, say so (directed=True, --directed)"
    )


def _side(raw: RawGraph, i: int, j: int) -> str:
    """The weight of the edge i → j as text, 0 where there is none."""
    rows = (raw.pairs[:, 0] == i) & (raw.pairs[:, 1] == j)
    return f"{float(rows.sum() if raw.weights is None else raw.weights[rows].sum()):.4g}"


def _expect_symmetric(
    raw: RawGraph,
    ends: Int[np.ndarray, "m 2"],
    there: Float[np.ndarray, "m"],
    back: Float[np.ndarray, "m"],
    both: Bool[np.ndarray, "m"],
) -> None:
    """The two ways of an undirected edge must have one weight."""
    odd = ~np.isclose(there, back, rtol=1e-9, atol=0) & both
    if odd.any():
        place = int(np.argmax(odd))
        i, j = sorted(ends[place])
        a, b = raw.names[int(i)], raw.names[int(j)]
        raise ValueError(
            f"an undirected edge must have the same weight both ways, got {there[place]:.4g} from {a} to {b} and "
            f"{back[place]:.4g} back in {raw.name}, {_such(int(odd.sum()))}; choose one by repeats "
            f"({_CHOICES}), or, where a graph may be directed, say so (directed=True, --directed)"
        )


def _expect_one_sign(
    raw: RawGraph, ends: Int[np.ndarray, "m 2"], weights: Float[np.ndarray, "r"], group: Int[np.ndarray, "r"]
) -> None:
    """Repeats of an edge are all above 0, or all below: friend and foe do not add up to nothing."""
    high, low = (np.zeros(len(ends)) for _ in range(2))
    np.maximum.at(high, group, weights)
    np.minimum.at(low, group, weights)
    odd = (high > 0) & (low < 0)
    if odd.any():
        place = int(np.argmax(odd))
        a, b = (raw.names[int(v)] for v in ends[place])
        raise ValueError(
            f"an edge must have weights of one sign where it comes again, got {high[place]:.4g} and {low[place]:.4g} "
            f"for {a} – {b} in {raw.name}, {_such(int(odd.sum()))}; mend them, or choose one by repeats "
            f"({_CHOICES})"
        )


def _such(count: int) -> str:
    return "the only such edge" if count == 1 else f"one of {count:,} such edges"


def expect_agreement(raw: RawGraph, edges: SettledEdges, name: str, values: Any, repeats: str) -> None:
    """The repeats of an edge must have one value (``values`` has a row for every raw edge), unless one is chosen."""
    if edges.rows is None or edges.edge_of is None or repeats in ("first", "last"):
        return
    own, kept = values[edges.rows], values[edges.kept][edges.edge_of]
    same = _alike(own, kept)
    if same.all():
        return
    row = int(np.argmax(~same))
    a, b = (raw.names[int(v)] for v in edges.pairs[edges.edge_of[row]])
    torn = len(np.unique(edges.edge_of[~same]))
    turned = not np.array_equal(raw.pairs[edges.rows[row]], edges.pairs[edges.edge_of[row]])
    raise ValueError(
        f"an edge must say the same where it comes again, got {_shown(kept[row])} and {_shown(own[row])} as {name} of "
        f"{a} – {b} in {raw.name}, {_such(torn)}; mend them, choose one by repeats ({_CHOICES})"
        + (", or, where a graph may be directed, say so (directed=True, --directed)" * turned)
    )


def _alike(one: np.ndarray, two: np.ndarray) -> Bool[np.ndarray, "r"]:
    """Which rows of two arrays are equal; numbers up to the rounding of float32, and gaps equal gaps."""
    if one.dtype.kind == "f":
        same = np.isclose(one, two, rtol=1e-6, atol=0, equal_nan=True)
    else:
        same = one == two
    return same.reshape(len(same), -1).all(1)


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray):
        listed = ", ".join(f"{number:.4g}" for number in value[:4].tolist())
        return f"({listed}{', …' * (len(value) > 4)})" if len(value) != 1 else listed
    if isinstance(value, (float, np.floating)):
        return "none" if np.isnan(value) else f"{value:.4g}"
    return "none" if value is None else repr(value.item() if hasattr(value, "item") else value)


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


def number_names(count: int, source: str, size: int | None = None) -> list[str]:
    """The names 0, 1, … of vertices that are known by their numbers.

    ``size`` is how much of the graph there is, its ends of edges or the bytes of its file: of a graph that has far more
    vertices than that, the number is a mistake, and would take memory.
    """
    if count > _MOST_VERTICES:
        raise ValueError(
            f"a graph here has at most {_MOST_VERTICES:,} vertices, since each takes memory, got {count:,} in "
            f"{source}; number its vertices without gaps, or give edges by the names of their ends"
        )
    if size is not None and count > max(_FEW_VERTICES, 4 * size):
        raise ValueError(
            f"a graph must have about as many vertices as ends of edges, got {count:,} vertices in {source}, where at "
            f"most {size:,} can have an edge; number its vertices without gaps, or give edges by names"
        )
    return [str(i) for i in range(count)]


def expect_different_names(names: Sequence[Any], source: str) -> list[str]:
    """The names of vertices as text; two that are different things and the same name (1 and "1", 2 and "2.0") are
    refused."""
    texts = [str(name).strip() for name in names]
    known = set(texts)
    if any(_WHOLE.fullmatch(text) and text.split(".")[0] in known for text in known):
        texts = [text.split(".")[0] if _WHOLE.fullmatch(text) else text for text in texts]
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


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"


__all__ = [
    "NO_COLUMNS",
    "REPEATS",
    "GraphColumns",
    "RawGraph",
    "SettledEdges",
    "expect_agreement",
    "expect_different_names",
    "load_arrays",
    "number_names",
    "settle_edges",
]
