r"""Random walks on a graph: sentences of vertices, from which vectors are learned as from sentences of words.

    P(next = x | before t, now v) ∝ w_vx · α(t, x)
    α = 1/p  if x = t        a step back
        1    if t → x        x is a neighbour of t as well: the walk stays near
        1/q  else            the walk goes on

p = q = 1 is DeepWalk's plain walk (Perozzi et al. 2014); q below 1 goes far, q above 1 stays (node2vec: Grover,
Leskovec 2016). A walk ends early where no edge leads on. All walks take a step at the same time; a step that α would
make less likely is drawn again with the probability that α takes off (rejection, as in KnightKing, Yang et al. 2019).
"""

import numpy as np
from jaxtyping import Float, Int

from cutaway.data.seeded_draws import draw_permutation, draw_uniform


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
        keys = sources * self.vertices + targets
        place = np.minimum(np.searchsorted(self._keys, keys), max(len(self._keys) - 1, 0))
        return self._keys[place] == keys if len(self._keys) else np.zeros(len(keys), bool)


def walk(
    steps: Steps, length: int, turns: int, seed: int = 0, back: float = 1.0, away: float = 1.0
) -> Int[np.ndarray, "walks length"]:
    """``turns`` walks from every vertex, in random order, each of ``length`` vertices; −1 after a walk's end.

    ``back`` and ``away`` are p and q above.
    """
    found = []
    most = max(1.0, 1 / back, 1 / away)
    for turn in range(turns):
        route = np.full((steps.vertices, length), -1, np.int64)
        route[:, 0] = draw_permutation(seed, "walks", turn, steps.vertices)
        for place in range(1, length):
            alive = np.flatnonzero(route[:, place - 1] >= 0)
            attempt = 0
            while len(alive):
                number = (turn * length + place) * 1_000 + attempt
                uniform = draw_uniform(seed, "steps", number, 2 * len(alive)).reshape(2, -1)
                now = route[alive, place - 1]
                next_one = steps.step(now, uniform[0])
                keep = np.ones(len(alive), bool)
                if place > 1 and (back, away) != (1.0, 1.0):
                    before = route[alive, place - 2]
                    bias = np.where(
                        next_one == before, 1 / back, np.where(steps.joined(before, next_one), 1.0, 1 / away)
                    )
                    keep = (uniform[1] * most < bias) | (next_one < 0)
                route[alive[keep], place] = next_one[keep]
                alive, attempt = alive[~keep], attempt + 1
        found.append(route)
    return np.concatenate(found)


__all__ = ["Steps", "walk"]
