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

_PASSES = 60  # over the texts, at most
_ENTRIES = 40_000_000  # n-grams of all texts together that are used, at most: about 200,000 sentences
_REMEMBERED = 100_000_000  # numbers that L-BFGS may remember of its last steps, each as many as there are weights
_CLOSE = 1e-5  # change of the mean loss at which it is found


def fit_bag(bag: NaiveBayesBag, features: TokenRows, labels: Int[np.ndarray, "n"], penalty: float) -> float:
    """Sets the weights of a bag to the minimum for these texts; returns the mean of the cost there.

    Of very many texts every second, third … is used. The weights do not learn any more afterwards.
    """
    step = max(1, -(-len(features.ids) // _ENTRIES))
    rows = np.arange(0, len(features), step)
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
    weight.requires_grad_(False)
    bias.requires_grad_(False)
    return reached


__all__ = ["fit_bag"]
