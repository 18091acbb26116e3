r"""Random walks on a graph: sentences of vertices, from which vectors are learned as from sentences of words.

    P(next = x | before t, now v) ∝ w_vx · α(t, x)
    α = 1/p  if x = t        a step back
        1    if t → x        x is a neighbour of t as well: the walk stays near
        1/q  else            the walk goes on

p = q = 1 is DeepWalk's plain walk (Perozzi et al. 2014); q below 1 goes far, q above 1 stays (node2vec: Grover,
Leskovec 2016). A walk ends early where no edge leads on. All walks take a step at the same time; a step that α would
make less likely is drawn again with the probability that α takes off (rejection, as in KnightKing, Yang et al. 2019).
Where α takes nearly all off, as at a leaf with a large p, that would go on for long: after some draws the step is drawn
from its distribution itself, at the cost of the fewer of the neighbours of t and of v.
"""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float, Int

from cutaway.data.seeded_draws import draw_permutation, draw_uniform

_DRAWS = 20  # that may be rejected
_LISTED = 2_000_000  # neighbours that are listed at once


class Steps:
    """The arcs of a graph by their source, to step along: those of v are ends[starts[v]:starts[v + 1]]."""

    def __init__(
        self, arcs: Int[np.ndarray, "2 m"], vertices: int, weights: Float[np.ndarray, "m"] | None = None
    ) -> None:
        order = np.lexsort((arcs[1], arcs[0]))
        self.vertices, self.ends = vertices, arcs[1][order]
        self.starts = np.zeros(vertices + 1, np.int64)
        np.cumsum(np.bincount(arcs[0], minlength=vertices), out=self.starts[1:])
        self._keys = arcs[0][order] * vertices + self.ends
        weights = np.ones(arcs.shape[1]) if weights is None else weights[order]
        if (weights < 0).any():
            raise ValueError(
                f"a walk needs weights of 0 or more, got {weights.min():g}; leave the weights out, or take their size"
            )
        self._before = np.concatenate([[0.0], np.cumsum(weights)])  # weight of all arcs before each

    def step(self, now: Int[np.ndarray, "n"], uniform: Float[np.ndarray, "n"]) -> Int[np.ndarray, "n"]:
        """The next vertex of each walk, in proportion to weights; −1 where no edge leads on."""
        first, last = self.starts[now], self.starts[now + 1]
        low, high = self._before[first], self._before[last]
        place = np.searchsorted(self._before, low + uniform * (high - low), side="right") - 1
        place = np.clip(place, first, np.maximum(last - 1, first))
        return np.where(high > low, self.ends[np.minimum(place, len(self.ends) - 1)] if len(self.ends) else -1, -1)

    def joined(self, sources: Int[np.ndarray, "n"], targets: Int[np.ndarray, "n"]) -> np.ndarray:
        """Whether an arc leads from each source to its target."""
        first, last = self._between(sources, targets)
        return last > first

    def _between(
        self, sources: Int[np.ndarray, "n"], targets: Int[np.ndarray, "n"]
    ) -> tuple[Int[np.ndarray, "n"], Int[np.ndarray, "n"]]:
        """The places of the arcs from each source to its target: from the first to before the last."""
        keys = sources * self.vertices + targets
        return np.searchsorted(self._keys, keys), np.searchsorted(self._keys, keys, side="right")

    def step_by_bias(
        self,
        before: Int[np.ndarray, "n"],
        now: Int[np.ndarray, "n"],
        uniform: Float[np.ndarray, "n"],
        back: float,
        away: float,
    ) -> Int[np.ndarray, "n"]:
        """The next vertex of each walk that came from ``before``, drawn from P(next) itself, without rejection.

        Only vertices that t → x reaches, and t, have another bias than 1/q: where t has fewer neighbours than v, their
        weights are found among those of v; else all of v's are listed.
        """
        count = np.minimum(np.diff(self.starts)[before] + 1, np.diff(self.starts)[now])
        found = np.empty(len(now), np.int64)
        for part in _parts(count, _LISTED):
            found[part] = self._step_by_bias(before[part], now[part], uniform[part], back, away)
        return found

    def _step_by_bias(
        self, before: np.ndarray, now: np.ndarray, uniform: np.ndarray, back: float, away: float
    ) -> np.ndarray:
        degree, rows = np.diff(self.starts), np.arange(len(now))
        few = degree[now] <= degree[before] + 1  # all neighbours of v are listed
        walk, listed = _spread(rows, np.where(few, degree[now], degree[before]))
        place = self.starts[np.where(few, now, before)[walk]] + listed
        others = self.ends[place]
        # neighbours of t, once each, and t itself, with the arcs from v to them
        once = np.ones(len(walk), bool)
        once[1:] = (walk[1:] != walk[:-1]) | (others[1:] != others[:-1])
        once &= others != before[walk]
        walk, others = np.concatenate([walk[once], rows]), np.concatenate([others[once], before])
        first, last = self._between(now[walk], others)
        there = last > first
        walk, others, first, last = walk[there], others[there], first[there], last[there]
        order = np.lexsort((first, walk))
        walk, others, first, last = walk[order], others[order], first[order], last[order]
        weight = self._before[last] - self._before[first]
        near = self.joined(before[walk], others)
        bias = np.where(others == before[walk], 1 / back, np.where(near, 1.0, 1 / away))
        low = self._before[self.starts[now]]
        whole = self._before[self.starts[now + 1]] - low
        known, chosen = (np.bincount(walk, w, len(now)) for w in (weight, weight * bias))
        rest = np.where(few, 0.0, np.maximum(whole - known, 0.0))  # of those that are not listed
        aim = uniform * (chosen + rest / away)
        # within the listed ones: the first whose sum passes the aim
        sums = np.cumsum(weight * bias)
        start = np.searchsorted(walk, rows)
        offset = np.concatenate([[0.0], sums])[start]
        at = np.searchsorted(sums, offset + aim, side="right")
        end = np.searchsorted(walk, rows, side="right")
        next_one = np.full(len(now), -1, np.int64)
        inside = (aim < chosen) | ((rest <= 0) & (chosen > 0))
        next_one[inside] = others[np.clip(at, start, np.maximum(end - 1, start))[inside]]
        # among the others: the gaps between the listed ones are skipped
        out = ~inside & (whole > 0)
        reach = np.where(out, (aim - chosen) * away, 0.0)
        total = np.concatenate([[0.0], np.cumsum(weight)])
        gap = self._before[first] - low[walk] - (total[:-1] - total[start][walk])  # what lies before it, unlisted
        skipped = np.bincount(walk, weight * (gap <= reach[walk]), len(now))
        spot = np.searchsorted(self._before, low + reach + skipped, side="right") - 1
        spot = np.clip(spot, self.starts[now], np.maximum(self.starts[now + 1] - 1, self.starts[now]))
        next_one[out] = self.ends[spot[out]]
        return next_one


def _spread(rows: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each row as often as counted, and the numbers 0, 1, … of its copies."""
    copies = np.repeat(rows, counts)
    return copies, np.arange(len(copies)) - np.repeat(np.cumsum(counts) - counts, counts)


def _parts(counts: np.ndarray, most: int) -> Iterator[slice]:
    """Stretches whose counts add up to about ``most``."""
    ends = np.flatnonzero(np.diff(np.cumsum(counts) // most, append=-1) != 0) + 1
    for first, last in zip(np.concatenate([[0], ends[:-1]]), ends, strict=True):
        yield slice(int(first), int(last))


def walk(
    steps: Steps, length: int, turns: int, seed: int = 0, back: float = 1.0, away: float = 1.0
) -> Int[np.ndarray, "walks length"]:
    """``turns`` walks from every vertex, in random order, each of ``length`` vertices; −1 after a walk's end.

    ``back`` and ``away`` are p and q above.
    """
    return np.concatenate([walk_once(steps, length, turn, seed, back, away) for turn in range(turns)])


def walk_once(
    steps: Steps, length: int, turn: int, seed: int = 0, back: float = 1.0, away: float = 1.0
) -> Int[np.ndarray, "walks length"]:
    """The walks of one turn: see `walk`."""
    most = max(1.0, 1 / back, 1 / away)
    route = np.full((steps.vertices, length), -1, np.int64)
    route[:, 0] = draw_permutation(seed, "walks", turn, steps.vertices)
    for place in range(1, length):
        alive = np.flatnonzero(route[:, place - 1] >= 0)
        attempt = 0
        while len(alive):
            number = (turn * length + place) * 1_000 + attempt
            uniform = draw_uniform(seed, "steps", number, 2 * len(alive)).reshape(2, -1)
            now = route[alive, place - 1]
            if attempt == _DRAWS:
                route[alive, place] = steps.step_by_bias(route[alive, place - 2], now, uniform[0], back, away)
                break
            next_one = steps.step(now, uniform[0])
            keep = np.ones(len(alive), bool)
            if place > 1 and (back, away) != (1.0, 1.0):
                before = route[alive, place - 2]
                bias = np.where(next_one == before, 1 / back, np.where(steps.joined(before, next_one), 1.0, 1 / away))
                keep = (uniform[1] * most < bias) | (next_one < 0)
            route[alive[keep], place] = next_one[keep]
            alive, attempt = alive[~keep], attempt + 1
    return route


__all__ = ["Steps", "walk", "walk_once"]
