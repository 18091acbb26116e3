r"""Links by what two vertices have in common, without a model: scores that a network has to beat.

    common neighbours         |N(u) ∩ N(v)|
    Adamic–Adar               Σ_{w ∈ N(u) ∩ N(v)} 1 / log d_w          a rare friend says more
    preferential attachment   d_u · d_v                                whoever has much is given more

Over the training edges, taken both ways. Liben-Nowell, Kleinberg 2007; Adamic, Adar 2003. In a bipartite graph two
vertices of different sides have no common neighbour; there the paths of length 3 are counted: who likes what you like.

    paths of length 3         (A³)_uv;  with each middle vertex w down-weighted by 1 / √d_w

For signed edges: balance, Σ_w s_uw s_wv, the sign of what is between two: the friend of my friend is my friend, and so
is the foe of my foe (Heider 1946).
"""

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from cutaway.extras import need


class LinkRules:
    """Scores of pairs by the training ``edges`` (2, m) of a graph with so many vertices."""

    def __init__(
        self, edges: Int[np.ndarray, "2 m"], vertices: int, signs: Float[np.ndarray, "m"] | None = None
    ) -> None:
        sparse = need("scipy.sparse", "graphs", "the baseline of links")
        proper = edges[0] != edges[1]
        ends = np.concatenate([edges[:, proper], edges[::-1, proper]], 1)
        values = np.ones(ends.shape[1]) if signs is None else np.tile(np.sign(signs[proper]), 2)
        a = sparse.coo_matrix((values, (ends[0], ends[1])), shape=(vertices, vertices)).tocsr()
        a.eliminate_zeros()
        a.data = np.sign(a.data)  # edges that are there twice count once
        self.a = a
        self.degrees = np.asarray(abs(a).sum(1)).ravel()
        self._sparse = sparse

    def common(self, pairs: Int[np.ndarray, "2 n"]) -> Float[np.ndarray, "n"]:
        """|N(u) ∩ N(v)|; with signs Σ_w s_uw s_wv."""
        return self._between(self.a, pairs)

    def adamic_adar(self, pairs: Int[np.ndarray, "2 n"]) -> Float[np.ndarray, "n"]:
        scale = 1 / np.log(np.maximum(self.degrees, 2))
        return self._between(self.a @ self._sparse.diags(scale), pairs)

    def attachment(self, pairs: Int[np.ndarray, "2 n"]) -> Float[np.ndarray, "n"]:
        return self.degrees[pairs[0]] * self.degrees[pairs[1]]

    def three_steps(self, pairs: Int[np.ndarray, "2 n"]) -> Float[np.ndarray, "n"]:
        """Paths u – w – w' – v, the more so the fewer edges w and w' have."""
        half = self._sparse.diags(1 / np.sqrt(np.maximum(self.degrees, 1)))
        middle = half @ self.a @ half
        found = np.empty(pairs.shape[1])
        for first in range(0, pairs.shape[1], _AT_ONCE):
            u, v = pairs[:, first : first + _AT_ONCE]
            found[first : first + _AT_ONCE] = np.asarray((self.a[u] @ middle).multiply(self.a[v]).sum(1)).ravel()
        return found

    def _between(self, scaled: Any, pairs: Int[np.ndarray, "2 n"]) -> Float[np.ndarray, "n"]:
        found = np.empty(pairs.shape[1])
        for first in range(0, pairs.shape[1], _AT_ONCE):
            u, v = pairs[:, first : first + _AT_ONCE]
            found[first : first + _AT_ONCE] = np.asarray(scaled[u].multiply(self.a[v]).sum(1)).ravel()
        return found


_AT_ONCE = 10_000  # pairs

__all__ = ["LinkRules"]
