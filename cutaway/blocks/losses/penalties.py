r"""Penalties on the size of the weights, to be added to the cost.

    L1(w) = Σ |w|               drives weights to exactly zero
    L2(w) = ½ Σ w²              shrinks each in proportion: its gradient is w

With plain gradient descent λ L2 is weight decay, w ← w − η (∇J + λ w). With Adam it is not: the penalty's gradient is
divided by the running size of the gradients, which weight decay proper (AdamW) is not. Tikhonov 1943; Tibshirani 1996;
Loshchilov, Hutter 2019. Notes: N0 §1.6, N3 §8.
"""

from collections.abc import Iterable

import torch
from jaxtyping import Float
from torch import Tensor, nn


def l1_penalty(weights: nn.Module | Iterable[Tensor]) -> Float[Tensor, ""]:
    """L1(w) = Σ |w| over the weights of a model (not its biases and gains), or over the tensors given.

    >>> l1_penalty([torch.tensor([3.0, -4.0])])
    tensor(7.)
    """
    return torch.stack([w.abs().sum() for w in _weights(weights)]).sum()


def l2_penalty(weights: nn.Module | Iterable[Tensor]) -> Float[Tensor, ""]:
    """L2(w) = ½ Σ w² over the weights of a model (not its biases and gains), or over the tensors given.

    >>> l2_penalty([torch.tensor([3.0, -4.0])])
    tensor(12.5000)
    """
    return torch.stack([w.square().sum() for w in _weights(weights)]).sum() / 2


def _weights(source: nn.Module | Iterable[Tensor]) -> list[Tensor]:
    """A model's parameters with two axes or more: biases take little data to fit, and no gain should tend to zero."""
    if isinstance(source, nn.Module):
        weights: list[Tensor] = [p for p in source.parameters() if p.ndim >= 2]
    else:
        weights = list(source)
    if not weights:
        raise ValueError(
            f"a penalty needs a weight, got a {type(source).__name__} without any; pass a model that has weight "
            "matrices, or the tensors themselves"
        )
    return weights
