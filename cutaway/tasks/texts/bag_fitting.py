r"""Fits a bag of n-grams before the network is trained: a convex problem, which L-BFGS solves in seconds.

    min_w  Σ_i −log softmax(s(x_i))_{y_i} + λ/2 ‖w‖²        s of `NaiveBayesBag`; its biases are not penalised

At the minimum this is the NB-weighted logistic regression of Wang, Manning 2012 (for two classes, scikit-learn's with
C = 2/λ). By stochastic steps beside the network it would stop anywhere on the way. L-BFGS: Liu, Nocedal 1989.
"""

import numpy as np
import torch
from jaxtyping import Int

from cutaway.blocks.embeddings.naive_bayes import NaiveBayesBag
from cutaway.data.text.token_rows import TokenRows
from cutaway.tasks.temperature import find_temperature
from cutaway.waiting import doing

_PASSES = 60  # over the texts, at most
_ENTRIES = 40_000_000  # n-grams of all texts together that are used, at most: about 200,000 sentences
_WORK = 400_000_000  # n-grams of all texts times classes, at most
_SCORES = 20_000_000  # texts times classes, at most: hundreds of classes see fewer texts
_FEW = 5  # texts of a class that a fit needs: where these would be too many scores, the bag stays naive Bayes
_REMEMBERED = 100_000_000  # numbers that L-BFGS may remember of its last steps, each as many as there are weights
_CLOSE = 1e-5  # change of the mean loss at which it is found


def fit_bag(bag: NaiveBayesBag, features: TokenRows, labels: Int[np.ndarray, "n"], penalty: float) -> float:
    """Sets the weights of a bag to the minimum for these texts; returns the mean of the cost there.

    Of very many texts, or of many texts for many classes, every second, third … of each class is used; of thousands of
    classes, none: the bag is then naive Bayes, of which only the scale is fitted. The weights do not learn any more
    afterwards.
    """
    classes, entries = bag.weight.shape[1], len(features.ids)
    step = max(1, -(-entries // _ENTRIES), -(-entries * classes // _WORK), -(-len(features) * classes // _SCORES))
    with doing(f"fitting the bag of n-grams to {-(-len(features) // step):,} texts of {classes:,} classes"):
        if _FEW * classes * classes > _SCORES:
            found = _scale_bayes(bag, features, labels, step)
        else:
            found = _minimise(bag, features, labels, penalty, _every(labels, step))
    bag.weight.requires_grad_(False)
    bag.bias.requires_grad_(False)
    return found


def _minimise(
    bag: NaiveBayesBag,
    features: TokenRows,
    labels: Int[np.ndarray, "n"],
    penalty: float,
    rows: Int[np.ndarray, "m"],
) -> float:
    """The minimum of the cost, by L-BFGS."""
    ids = torch.from_numpy(np.concatenate([features[i] for i in rows.tolist()]).astype(np.int64))
    starts = torch.from_numpy(np.concatenate([[0], np.cumsum(features.lengths[rows])[:-1]]))
    truth = torch.from_numpy(labels[rows])
    weight, bias = bag.weight, bag.bias
    optimizer = torch.optim.LBFGS(
        [weight, bias],
        max_iter=_PASSES,
        max_eval=_PASSES,
        tolerance_change=_CLOSE,
        history_size=min(max(_REMEMBERED // weight.numel(), 3), 100),
        line_search_fn="strong_wolfe",
    )

    def cost() -> torch.Tensor:
        s = bias + torch.nn.functional.embedding_bag(ids, bag.ratios * weight, starts, mode="sum")
        found = torch.nn.functional.cross_entropy(s, truth) + penalty / (2 * len(rows)) * weight.square().sum()
        optimizer.zero_grad()
        found.backward()
        return found

    torch.nn.init.zeros_(weight)
    optimizer.step(cost)
    reached = cost().item()
    optimizer.zero_grad(set_to_none=True)
    return reached


@torch.no_grad()
def _scale_bayes(bag: NaiveBayesBag, features: TokenRows, labels: Int[np.ndarray, "n"], step: int) -> float:
    """Naive Bayes, w = 1 / T and b = log p(class) / T, with T by some of the texts; returns their mean −log p."""
    counts = torch.from_numpy(np.bincount(labels, minlength=bag.weight.shape[1]) + 1.0)
    bag.weight.fill_(1.0)
    bag.bias.copy_((counts / counts.sum()).log())
    rows = np.arange(0, len(features), step)
    scores = bag(torch.from_numpy(features.padded(rows)))
    truth = torch.from_numpy(labels[rows])
    temperature = find_temperature(scores, truth)
    bag.weight.div_(temperature)
    bag.bias.div_(temperature)
    return torch.nn.functional.cross_entropy(scores.double() / temperature, truth).item()


def _every(labels: Int[np.ndarray, "n"], step: int) -> Int[np.ndarray, "m"]:
    """Every ``step``-th text of each class, and of each the first.

    >>> _every(np.array([0, 0, 1, 0, 0, 1]), 2)
    array([0, 2, 3])
    """
    if step == 1:
        return np.arange(len(labels))
    order = np.argsort(labels, kind="stable")
    sizes = np.bincount(labels)
    place = np.arange(len(labels)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.sort(order[place % step == 0])


__all__ = ["fit_bag"]
