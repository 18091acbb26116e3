"""Residual and other skip connections."""

import torch

from cutaway.blocks.affine import Dense
from cutaway.blocks.skips import DenselyConnected, Residual, Skip, SkipAttention
from cutaway.registry import register

register(Residual, example=lambda: (Residual(Dense(3, 3, torch.tanh)), torch.randn(2, 5, 3)))
register(Skip, example=lambda: (Skip(Dense(3, 7, torch.tanh), "concatenate"), torch.randn(2, 5, 3)))
register(SkipAttention, example=lambda: (SkipAttention(3), torch.randn(2, 5, 3), torch.randn(2, 5, 3)))
register(
    DenselyConnected,
    example=lambda: (DenselyConnected([Dense(3, 2, torch.tanh), Dense(5, 2, torch.tanh)]), torch.randn(2, 5, 3)),
)
