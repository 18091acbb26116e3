r"""What an attention head does, in four numbers: a_ij is the weight that query i gives to key j, x_i its token.

    entropy        mean over i of −Σ_j a_ij log a_ij       0: one key only; log n: all n alike
    distance       mean over i of Σ_j a_ij |i − j|         how far it looks, in tokens
    previous       mean over i of a_i,i−1                  1: always the token before
    induction      mean over i of Σ_j a_ij [x_j−1 = x_i]   1: always what followed the same token earlier

Queries that may look nowhere (a row of zeros) are left out of every mean, and those without an earlier copy of their
token out of the last. Induction: the prefix matching score of Olsson et al. 2022. Notes: N3 §5.5–5.6.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cutaway.look.arrays import Values, as_array


@dataclass(frozen=True)
class Score:
    """One number a head, with its unit and where its scale ends (None: at the largest)."""

    values: np.ndarray
    unit: str
    most: float | None


def head_scores(weights: Values, tokens: Sequence[str] | Sequence[int] | None = None) -> dict[str, Score]:
    """The scores of each head of one layer: ``weights`` (heads, tokens, tokens). Induction needs the ``tokens``.

    >>> scores = head_scores(np.full((1, 4, 4), 0.25))
    >>> round(float(scores["entropy"].values[0]), 4)  # log 4
    1.3863
    """
    a = as_array("weights", weights, "heads", "queries", "keys").astype(np.float64)
    n = a.shape[-1]
    if a.shape[1] != n:
        raise ValueError(
            f"a head's scores need the same queries as keys, got shape {a.shape}; use self-attention without a cache"
        )
    if tokens is not None and len(tokens) != n:
        raise ValueError(
            f"tokens must name each of the {n} keys, got {len(tokens)}; pass those that the model was given"
        )
    looks = a.sum(-1) > 0
    at = np.arange(n)
    logs = np.log(a, out=np.zeros_like(a), where=a > 0)
    before = np.concatenate([np.zeros_like(a[:, :1, 0]), np.diagonal(a, offset=-1, axis1=1, axis2=2)], axis=1)
    scores = {
        "entropy": Score(_mean(-(a * logs).sum(-1), looks), "nats", None),
        "distance": Score(_mean((a * np.abs(at[:, None] - at)).sum(-1), looks), "tokens", None),
        "previous": Score(_mean(before, looks & (at > 0)), "", 1.0),
    }
    if tokens is not None:
        follows = after_a_copy(tokens)
        scores["induction"] = Score(_mean((a * follows).sum(-1), looks & follows.any(-1)), "", 1.0)
    return scores


def after_a_copy(tokens: Sequence[str] | Sequence[int]) -> np.ndarray:
    """True at (i, j) where j comes right after an earlier token that is the same as token i.

    >>> after_a_copy("aba").astype(int).tolist()
    [[0, 0, 0], [0, 0, 0], [0, 1, 0]]
    """
    names = {token: i for i, token in enumerate(dict.fromkeys(tokens))}
    x = np.array([names[token] for token in tokens])
    n = len(x)
    follows = np.zeros((n, n), dtype=bool)
    follows[:, 1:] = x[:, None] == x[None, :-1]
    return follows & (np.arange(n)[None, :] <= np.arange(n)[:, None])


def _mean(values: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """Mean over the queries that count; NaN where there are none."""
    counts = counted.sum(-1)
    sums = np.where(counted, values, 0).sum(-1)
    return np.divide(sums, counts, out=np.full(counts.shape, np.nan), where=counts > 0)
