"""Products and unfoldings of tensors."""

import torch

from cutaway.blocks.tensors import matricise, outer, pure_tensor
from cutaway.registry import register

register(outer, example=lambda: (outer, torch.randn(2, 3), torch.randn(5), torch.randn(7, 2)))
register(pure_tensor, example=lambda: (pure_tensor, torch.randn(2), torch.randn(3), torch.randn(5)))
register(matricise, example=lambda: (matricise, torch.randn(2, 3, 5), 1))
