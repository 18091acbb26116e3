"""One vector for a whole sequence."""

import torch

from cutaway.blocks.pooling import AttentionPool, pool_first, pool_last, pool_mean
from cutaway.registry import register


def _mask() -> torch.Tensor:
    """Sequences of two and of five tokens."""
    return torch.arange(5) < torch.tensor([2, 5])[:, None]


register(pool_first, example=lambda: (pool_first, torch.randn(2, 5, 3), _mask()))
register(pool_last, example=lambda: (pool_last, torch.randn(2, 5, 3), _mask()))
register(pool_mean, example=lambda: (pool_mean, torch.randn(2, 5, 3), _mask()))
register(AttentionPool, example=lambda: (AttentionPool(3), torch.randn(2, 5, 3), _mask()))
