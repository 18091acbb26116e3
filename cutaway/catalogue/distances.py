"""Distances between discrete distributions."""

from collections.abc import Callable

import torch
from torch import Tensor

from cutaway.blocks.distances import (
    cross_entropy,
    cross_entropy_from_logits,
    entropy,
    entropy_from_logits,
    kl_divergence,
    kl_from_logits,
    lp_distance,
    total_variation,
)
from cutaway.registry import register


def _pair() -> tuple[Tensor, Tensor]:
    return torch.randn(2, 5, 3).softmax(-1), torch.randn(2, 5, 3).softmax(-1)


def _pair_with_zeros() -> tuple[Tensor, Tensor]:
    """Zeros in p, in q, in both, and two that are equal."""
    p = torch.tensor([[0.0, 0.5, 0.5], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    q = torch.tensor([[0.5, 0.0, 0.5], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]])
    return p, q


def _logits_with_masks() -> tuple[Tensor, Tensor]:
    """The same in logits: −inf, and ±1e4."""
    p, q = _pair_with_zeros()
    return torch.cat((p.log(), 1e4 * p)), torch.cat((q.log(), -1e4 * q))


def _register(function: Callable[..., Tensor]) -> None:
    register(function, example=lambda: (function, *_pair()), extreme=lambda: (function, *_pair_with_zeros()))


def _register_for_logits(function: Callable[..., Tensor]) -> None:
    register(
        function,
        example=lambda: (function, torch.randn(2, 5, 3), torch.randn(2, 5, 3)),
        extreme=lambda: (function, *_logits_with_masks()),
    )


register(
    lp_distance, example=lambda: (lp_distance, *_pair(), 3.0), extreme=lambda: (lp_distance, *_pair_with_zeros(), 50.0)
)
_register(total_variation)
_register(kl_divergence)
_register(cross_entropy)
register(entropy, example=lambda: (entropy, _pair()[0]), extreme=lambda: (entropy, _pair_with_zeros()[0]))
_register_for_logits(kl_from_logits)
_register_for_logits(cross_entropy_from_logits)
register(
    entropy_from_logits,
    example=lambda: (entropy_from_logits, torch.randn(2, 5, 3)),
    extreme=lambda: (entropy_from_logits, _logits_with_masks()[0]),
)
