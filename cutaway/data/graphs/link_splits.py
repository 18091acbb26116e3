r"""Edges to learn from and edges to be found: a split of a graph's links, with pairs that are no links beside them.

    messages   run over the training edges alone
    positives  edges of validation and test; all edges between two vertices are on one side, whichever way they point
    negatives  as many pairs without any edge, drawn once and then fixed

In a bipartite graph (no vertex is both a source and a target: people and films) negatives join a source with a target,
as positives do. Self-loops stay with the training edges and are never asked for. Notes: N3 §7.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int, Shaped

from cutaway.data.seeded_draws import draw_integers
from cutaway.data.splits import split_rows


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of vertices and whether each is a link (1) or not (0); of edges with labels: their classes or values."""

    pairs: Int[np.ndarray, "2 n"]
    targets: Shaped[np.ndarray, "n"]

    def __len__(self) -> int:
        return len(self.targets)


@dataclass(frozen=True, eq=False)
class LinkSplit:
    """``train`` marks the edges that messages run over; validation and test are pairs to tell apart."""

    train: Bool[np.ndarray, "m"]
    validation: Pairs
    test: Pairs


class PairDraws:
    """Pairs of vertices that no edge joins, drawn as a function of a seed and a number."""

    def __init__(self, edges: Int[np.ndarray, "2 m"], vertices: int, seed: int = 0) -> None:
        self.vertices, self.seed = vertices, seed
        self.sources, self.targets = sides(edges, vertices)
        self.bipartite = len(self.sources) < vertices or len(self.targets) < vertices
        self._keys = np.unique(pair_keys(edges, vertices))
        own = len(np.unique(pair_keys(edges[:, edges[0] != edges[1]], vertices)))
        room = len(self.sources) * len(self.targets) if self.bipartite else vertices * (vertices - 1) // 2
        if self.bipartite and own >= room:  # every source is joined to every target: any other pair will do
            self.sources = self.targets = np.arange(vertices)
            self.bipartite, room = False, vertices * (vertices - 1) // 2
        if own >= room:
            raise ValueError(
                f"links are told from pairs without one, got a graph of {vertices:,} vertices in which every pair is "
                "joined; there is nothing to learn"
            )

    def draw(self, purpose: str, number: int, count: int) -> Int[np.ndarray, "2 count"]:
        """``count`` pairs that are no edges and no self-loops; a few may be drawn twice."""
        found = np.empty((2, 0), np.int64)
        attempt = 0
        while found.shape[1] < count:
            # numbers are far apart, so that tries of one batch are not those of another
            key = number * 1_000 + attempt
            ask = max(64, 2 * (count - found.shape[1]))
            ends = draw_integers(self.seed, purpose, key, 2 * ask, 1 << 53).reshape(2, ask)
            drawn = np.stack([self.sources[ends[0] % len(self.sources)], self.targets[ends[1] % len(self.targets)]])
            new = ~np.isin(pair_keys(drawn, self.vertices), self._keys) & (drawn[0] != drawn[1])
            found = np.concatenate([found, drawn[:, new]], 1)
            attempt += 1
        return found[:, :count]


def sides(edges: Int[np.ndarray, "2 m"], vertices: int) -> tuple[Int[np.ndarray, "a"], Int[np.ndarray, "b"]]:
    """The vertices that edges come from and go to; in a graph that is not bipartite all vertices, twice."""
    sources, targets = np.unique(edges[0]), np.unique(edges[1])
    if len(np.intersect1d(sources, targets)) or not edges.shape[1]:
        return np.arange(vertices), np.arange(vertices)
    return sources, targets


def pair_keys(pairs: Int[np.ndarray, "2 n"], vertices: int) -> Int[np.ndarray, "n"]:
    """One number for each pair of vertices, the same whichever way round it is named."""
    return np.minimum(*pairs).astype(np.int64) * vertices + np.maximum(*pairs)


def split_links(edges: Int[np.ndarray, "2 m"], vertices: int, validation: float, test: float, seed: int) -> LinkSplit:
    """Edges in three parts and the fixed negatives of two of them."""
    keys, group = np.unique(pair_keys(edges, vertices), return_inverse=True)
    proper = np.flatnonzero(keys // vertices != keys % vertices)
    parts = [proper[rows] for rows in split_rows(len(proper), validation, test, seed)]
    if not len(parts[0]):
        raise ValueError(
            f"links need edges to learn from, got {len(proper):,} pairs with validation={validation}, test={test}; "
            "give more edges or lower the shares"
        )
    first = np.full(len(keys), edges.shape[1], np.int64)
    np.minimum.at(first, group, np.arange(edges.shape[1]))
    draws = PairDraws(edges, vertices, seed)
    held = []
    for number, part in enumerate(parts[1:]):
        true = edges[:, first[part]]
        false = draws.draw("no links", number, true.shape[1])
        held.append(Pairs(np.concatenate([true, false], 1), np.repeat([1, 0], true.shape[1])))
    return LinkSplit(~np.isin(group, np.concatenate(parts[1:])), *held)


def split_labelled(
    edges: Int[np.ndarray, "2 m"], labels: Shaped[np.ndarray, "m"], validation: float, test: float, seed: int
) -> LinkSplit:
    """Edges with labels in three parts, each with every class in its share; all edges of a pair on one side."""
    vertices = int(edges.max(initial=0)) + 1
    keys, first, group = np.unique(pair_keys(edges, vertices), return_index=True, return_inverse=True)
    strata = None if labels.dtype.kind == "f" else labels[first]
    parts = split_rows(len(keys), validation, test, seed, strata)
    if not len(parts[0]):
        raise ValueError(
            f"labels of edges need edges to learn from, got {len(keys):,} pairs with validation={validation}, "
            f"test={test}; give more edges or lower the shares"
        )
    held = [Pairs(edges[:, mask], labels[mask]) for mask in (np.isin(group, part) for part in parts[1:])]
    return LinkSplit(np.isin(group, parts[0]), *held)


__all__ = ["LinkSplit", "PairDraws", "Pairs", "pair_keys", "sides", "split_labelled", "split_links"]
