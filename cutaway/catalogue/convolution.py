"""Convolution over time, images and volumes, pooling, blocks of networks, convolutions as dense layers."""

import torch
from torch import nn

from cutaway.blocks.convolution.as_matrix import as_dense
from cutaway.blocks.convolution.filters import filter_image
from cutaway.blocks.convolution.grid_pooling import (
    MaxPool2d,
    MeanPool2d,
    global_pool,
    max_pool,
    mean_pool,
    pool_features,
    pool_grid_open,
)
from cutaway.blocks.convolution.grids import (
    Conv2d,
    Conv3d,
    convolve_grid,
    cross_correlate_grid,
    cross_correlate_grid_open,
)
from cutaway.blocks.convolution.local_pooling import max_pool_steps, mean_pool_steps
from cutaway.blocks.convolution.one_dimensional import (
    Conv1d,
    convolve,
    cross_correlate,
    cross_correlate_open,
    step_mask,
)
from cutaway.blocks.convolution.pixel_shuffles import PixelUnshuffle, pixel_shuffle, pixel_unshuffle
from cutaway.blocks.convolution.residual_blocks import ConvLayer2d, InvertedResidual2d, ResidualConv2d
from cutaway.blocks.convolution.separable import SeparableConv2d
from cutaway.blocks.convolution.transposed import (
    TransposedConv1d,
    TransposedConv2d,
    TransposedConv3d,
    transposed_convolve,
    transposed_convolve_open,
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


def _image(channels: int) -> torch.Tensor:
    return torch.randn(2, channels, 7, 5)


register(
    Conv2d, example=lambda: (Conv2d(6, 4, (3, 2), "reflect", (2, 1), (1, 2), groups=2), torch.randn(2, 3, 6, 7, 5))
)
register(Conv3d, example=lambda: (Conv3d(2, 3, (2, 3, 1), stride=2), torch.randn(2, 2, 5, 4, 3)))
register(
    cross_correlate_grid,
    example=lambda: (cross_correlate_grid, _image(6), torch.randn(4, 3, 3, 2), torch.randn(4), "same", 2, 1, 2),
)
register(
    cross_correlate_grid_open,
    example=lambda: (cross_correlate_grid_open, _image(6), torch.randn(4, 3, 3, 2), None, "valid", 1, 2, 2),
)
register(convolve_grid, example=lambda: (convolve_grid, torch.randn(2, 3, 4, 3, 5), torch.randn(5, 3, 2, 3, 1)))
register(TransposedConv1d, example=lambda: (TransposedConv1d(6, 4, 3, stride=2, groups=2), torch.randn(3, 7, 6)))
register(TransposedConv2d, example=lambda: (TransposedConv2d(6, 4, 3, stride=2, groups=2), _image(6)))
register(TransposedConv3d, example=lambda: (TransposedConv3d(2, 3, (2, 3, 1), stride=2), torch.randn(2, 2, 3, 4, 3)))
register(
    transposed_convolve,
    example=lambda: (transposed_convolve, _image(6), torch.randn(6, 2, 3, 2), torch.randn(4), "same", 2, 1, 2),
)
register(
    transposed_convolve_open,
    example=lambda: (transposed_convolve_open, _image(6), torch.randn(6, 2, 3, 2), None, "valid", 1, 2, 2),
)
register(SeparableConv2d, example=lambda: (SeparableConv2d(3, 5, 3, stride=2), _image(3)))
register(MaxPool2d, example=lambda: (MaxPool2d(3, 2), _image(3)))
register(MeanPool2d, example=lambda: (MeanPool2d((2, 1)), _image(3)))
register(max_pool, example=lambda: (max_pool, torch.randn(2, 3, 7), 3, 2, 1))
register(mean_pool, example=lambda: (mean_pool, torch.randn(2, 3, 4, 3, 5), 2, None, 3))
register(global_pool, example=lambda: (global_pool, _image(3), "max"))
register(pool_features, example=lambda: (pool_features, _image(6), 3))
register(pool_grid_open, example=lambda: (pool_grid_open, _image(3), (3, 2), 1, "mean"))
register(pixel_unshuffle, example=lambda: (pixel_unshuffle, torch.randn(2, 3, 4, 6), 2))
register(pixel_shuffle, example=lambda: (pixel_shuffle, torch.randn(2, 8, 3, 5), 2))
register(PixelUnshuffle, example=lambda: (PixelUnshuffle(2), torch.randn(2, 3, 4, 6)))
register(filter_image, example=lambda: (filter_image, _image(3), "sharpen"))
register(ConvLayer2d, example=lambda: (ConvLayer2d(3, 4, stride=2, activation="tanh", separable=True), _image(3)))


def _awake(block: ResidualConv2d) -> ResidualConv2d:
    """The same block with its second gain no longer at its start, where it is 0."""
    assert block.second.norm is not None
    torch.nn.init.ones_(block.second.norm.weight)
    return block


register(ResidualConv2d, example=lambda: (_awake(ResidualConv2d(3, 4, stride=2, activation="tanh")), _image(3)))
register(InvertedResidual2d, example=lambda: (InvertedResidual2d(3, 3, expansion=2, activation="silu"), _image(3)))
