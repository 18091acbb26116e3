"""Affine maps and dense layers."""

import torch

from cutaway.blocks.affine import Dense, Linear, linear
from cutaway.registry import register

register(linear, example=lambda: (linear, torch.randn(2, 5, 3), torch.randn(3, 7), torch.randn(7)))
register(Linear, example=lambda: (Linear(3, 7), torch.randn(2, 5, 3)))
register(Dense, example=lambda: (Dense(3, 7, torch.tanh), torch.randn(2, 5, 3)))
