"""Convolution over time, pooling over windows, convolutions as dense layers."""

import torch
from torch import nn

from cutaway.blocks.convolution.as_matrix import as_dense
from cutaway.blocks.convolution.local_pooling import max_pool_steps, mean_pool_steps
from cutaway.blocks.convolution.one_dimensional import (
    Conv1d,
    convolve,
    cross_correlate,
    cross_correlate_open,
    step_mask,
)
from cutaway.registry import register


def _lengths() -> torch.Tensor:
    """Rows of no, four and eleven steps."""
    return torch.tensor([0, 4, 11])


register(Conv1d, example=lambda: (Conv1d(6, 4, 3, "reflect", 2, 2, 2), torch.randn(3, 11, 6), torch.tensor([3, 11, 7])))
register(
    cross_correlate,
    example=lambda: (
        cross_correlate,
        torch.randn(3, 11, 6),
        torch.randn(4, 3, 5),
        torch.randn(4),
        "causal",
        2,
        1,
        2,
        _lengths(),
    ),
)
register(
    cross_correlate_open,
    example=lambda: (cross_correlate_open, torch.randn(3, 11, 6), torch.randn(4, 3, 5), None, "valid", 1, 2, 2),
)
register(convolve, example=lambda: (convolve, torch.randn(2, 7, 3), torch.randn(5, 3, 3)))
register(step_mask, example=lambda: (step_mask, _lengths(), 11))
register(max_pool_steps, example=lambda: (max_pool_steps, torch.randn(3, 11, 5), 3, 2, _lengths()))
register(mean_pool_steps, example=lambda: (mean_pool_steps, torch.randn(3, 11, 5), 3, 2, _lengths()))
register(as_dense, example=lambda: (as_dense(nn.Conv1d(2, 3, kernel_size=3), size=7), torch.randn(5, 14)))
