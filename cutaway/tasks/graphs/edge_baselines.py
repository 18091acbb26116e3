r"""Labels of edges by the other edges of the two vertices, without a model: what a network has to beat.

Classes
    majority        the most frequent class of training, always
    habits          log p_k + log(p_k(u) / p_k) + log(p_k(v) / p_k),   p_k(u) = (n_k(u) + c p_k) / (n(u) + c)
Values
    mean            μ, the mean of training, always
    habits          μ + b_u + b_v,   b_u = Σ (y − μ) / (n(u) + c),   b_v = Σ (y − μ − b_u) / (n(v) + c)

Sums and counts n are over the training edges of a vertex; c draws vertices with few edges towards what is usual. The
baseline predictors of Koren, Bell, Volinsky 2009. Either way round of an undirected edge gives the same.
"""

import numpy as np
from jaxtyping import Float, Int, Shaped

from cutaway.data.graphs.link_splits import Pairs

_COUNT = 5.0  # c
_LEAST = 1e-9


def class_rules(known: Pairs, asked: Int[np.ndarray, "2 n"], vertices: int, classes: int) -> dict[str, np.ndarray]:
    """The scores (n, classes) of some pairs by each rule, from the known edges."""
    p = np.bincount(known.targets, minlength=classes) / len(known)
    n = np.zeros((vertices, classes))
    for end in known.pairs:
        np.add.at(n, (end, known.targets), 1)
    own = (n + _COUNT * p) / (n.sum(1, keepdims=True) + _COUNT)
    usual = np.log(p + _LEAST)
    surprise = np.log(own + _LEAST) - usual
    return {"majority": np.tile(usual, (asked.shape[1], 1)), "habits": usual + surprise[asked[0]] + surprise[asked[1]]}


def value_rules_of_edges(
    known: Pairs, asked: Int[np.ndarray, "2 n"], vertices: int, ordered: bool
) -> dict[str, Float[np.ndarray, "n 1"]]:
    """The values (n, 1) of some pairs by each rule; ``ordered``: what a vertex gives is not what it is given."""
    mean = float(known.targets.mean())
    ends = known.pairs if ordered else np.concatenate([known.pairs, known.pairs[::-1]], 1)
    rest = (known.targets if ordered else np.tile(known.targets, 2)) - mean
    first = _shrunk_means(ends[0], rest, vertices)
    second = _shrunk_means(ends[1], rest - first[ends[0]], vertices)
    b = first[asked[0]] + second[asked[1]]
    if not ordered:
        b = (b + first[asked[1]] + second[asked[0]]) / 2
    return {"mean": np.full((asked.shape[1], 1), mean), "habits": mean + b[:, None]}


def _shrunk_means(ends: Int[np.ndarray, "m"], values: Shaped[np.ndarray, "m"], vertices: int) -> Float[np.ndarray, "v"]:
    """Σ values / (count + c) over the edges of each vertex."""
    return np.bincount(ends, values, vertices) / (np.bincount(ends, minlength=vertices) + _COUNT)


__all__ = ["class_rules", "value_rules_of_edges"]
