r"""How well scores put the right pairs before the wrong ones.

    AUC = P(score of a positive > score of a negative)          ties count half
    average precision = mean over positives of the share of positives among all that score as high or higher
    hits@k = share of positives that score higher than the k-th best negative

AUC is 0.5 by chance, whatever the share of positives; average precision is that share. Hits@k as Hu et al. 2020 (OGB);
with fewer than k negatives there is no k-th best, and no such figure: then k is the largest of 10, 5 and 1 for which
there is.
"""

import numpy as np
from jaxtyping import Float, Int

HITS = (20, 10, 5, 1)  # k of hits@k: the first that there are enough negatives for


def auc(scores: Float[np.ndarray, "n"], targets: Int[np.ndarray, "n"]) -> float:
    """The area under the ROC curve, by ranks.

    >>> auc(np.array([0.9, 0.2, 0.5, 0.5]), np.array([1, 0, 1, 0]))
    0.875
    """
    _, place, count = np.unique(scores, return_inverse=True, return_counts=True)
    rank = (np.cumsum(count) - (count - 1) / 2)[place]  # of equals, the mean
    positives = int(targets.sum())
    negatives = len(targets) - positives
    if not positives or not negatives:
        return float("nan")
    return float((rank[targets == 1].sum() - positives * (positives + 1) / 2) / (positives * negatives))


def average_precision(scores: Float[np.ndarray, "n"], targets: Int[np.ndarray, "n"]) -> float:
    """The area under the curve of precision over recall, as a step function; equals come in together."""
    order = np.argsort(-scores, kind="stable")
    hit = targets[order] == 1
    last = np.append(np.diff(scores[order]) != 0, True)  # the last of those with equal scores
    found, seen = np.cumsum(hit)[last], np.flatnonzero(last) + 1
    if not found[-1]:
        return float("nan")
    return float((np.diff(found, prepend=0) * found / seen).sum() / found[-1])


def hits_at(scores: Float[np.ndarray, "n"], targets: Int[np.ndarray, "n"], k: int) -> float:
    """The share of positives that score higher than the k-th best negative; NaN if there are fewer negatives.

    >>> hits_at(np.array([0.9, 0.8, 0.7, 0.6]), np.array([1, 0, 1, 0]), 1)
    0.5
    """
    if k < 1:
        raise ValueError(f"k counts the best negatives, got {k}; use 1 or more")
    negatives = np.sort(scores[targets == 0])[::-1]
    positives = scores[targets == 1]
    if len(negatives) < k or not len(positives):
        return float("nan")
    return float((positives > negatives[k - 1]).mean())


def hits_rank(targets: Int[np.ndarray, "n"]) -> int | None:
    """The k of hits@k for these pairs: 20, or the largest of 10, 5 and 1 that the negatives allow; None without any."""
    negatives = int((targets == 0).sum())
    return next((k for k in HITS if k <= negatives), None)


def ranking_metrics(scores: Float[np.ndarray, "n"], targets: Int[np.ndarray, "n"]) -> dict[str, float]:
    """AUC, average precision and hits@20, or of fewer negatives a smaller k: what is measured of links."""
    found = {"auc": auc(scores, targets), "average_precision": average_precision(scores, targets)}
    k = hits_rank(targets)
    return found if k is None else found | {f"hits_at_{k}": hits_at(scores, targets, k)}


__all__ = ["HITS", "auc", "average_precision", "hits_at", "hits_rank", "ranking_metrics"]
