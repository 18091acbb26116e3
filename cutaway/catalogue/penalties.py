"""Penalties on the size of the weights."""

import torch

from cutaway.blocks.penalties import l1_penalty, l2_penalty
from cutaway.registry import register

register(l1_penalty, example=lambda: (l1_penalty, [torch.randn(3, 7), torch.randn(2, 5)]))
register(l2_penalty, example=lambda: (l2_penalty, [torch.randn(3, 7), torch.randn(2, 5)]))
