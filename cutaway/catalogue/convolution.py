"""Convolutions as dense layers."""

import torch
from torch import nn

from cutaway.blocks.convolution.as_matrix import as_dense
from cutaway.registry import register

register(as_dense, example=lambda: (as_dense(nn.Conv1d(2, 3, kernel_size=3), size=7), torch.randn(5, 14)))
