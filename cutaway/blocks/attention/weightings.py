r"""Attention weights: the shares in which a query mixes the values, computed from its scores.

    soft      A = exp(e) / Σ exp(e)             softmax: a distribution over the keys
    hard      A = one-hot(argmax e)             the best key alone; backwards, the gradient of soft
    linear    A = e                             the score itself (N0's lookup table)

A score of −∞ means: may not look. A query that may look nowhere has all weights 0, so its output is 0, never NaN.
Vaswani et al. 2017; hard attention: Xu et al. 2015, straight-through: Bengio et al. 2013. Notes: N0 §2, N2, N3 §5.5.3.
Weights without scores (decay, gates) are in queryless.py, those of linear time in linear_time.py.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from cutaway.blocks.checks import expect_choice
from cutaway.blocks.dense.neurons import straight_through

Weighting = Callable[[Tensor], Tensor]


def soft_weights(scores: Float[Tensor, "*b k"]) -> Float[Tensor, "*b k"]:
    """A = exp(e) / Σ exp(e) over the keys; 0 where the score is −∞.

    >>> soft_weights(torch.tensor([3.0, 5.0, -1.0, -torch.inf, -torch.inf])).round(decimals=3)
    tensor([0.1190, 0.8790, 0.0020, 0.0000, 0.0000])
    """
    # Rows that see nothing would be 0/0. They are cut off before and after, which makes their gradient 0 as well.
    blind = (scores == -torch.inf).all(-1, keepdim=True)
    return torch.softmax(scores.masked_fill(blind, 0.0), -1).masked_fill(blind, 0.0)


def hard_weights(scores: Float[Tensor, "*b k"]) -> Float[Tensor, "*b k"]:
    """A = one-hot(argmax e), the first of equals; the gradient passes as if A were soft (straight-through).

    >>> hard_weights(torch.tensor([3.0, 5.0, -1.0]))
    tensor([0., 1., 0.])
    """
    if scores.shape[-1] == 0:
        return scores
    best = scores.argmax(-1, keepdim=True)
    hard = torch.zeros_like(scores).scatter(-1, best, (scores.gather(-1, best) > -torch.inf).to(scores))
    return straight_through(hard, soft_weights(scores))


def linear_weights(scores: Float[Tensor, "*b k"]) -> Float[Tensor, "*b k"]:
    """A = e: no normalisation; 0 where the score is −∞."""
    return scores.masked_fill(scores == -torch.inf, 0.0)


WEIGHTINGS: dict[str, Weighting] = {"soft": soft_weights, "hard": hard_weights, "linear": linear_weights}


def find_weighting(weight: str | Weighting) -> Weighting:
    """The weighting of that name, or the function itself."""
    if not isinstance(weight, str):
        return weight
    expect_choice("weight", weight, WEIGHTINGS)
    return WEIGHTINGS[weight]
