"""Batch, group, layer, RMS and weight norm."""

import torch

from cutaway.blocks.norms.batch import BatchNorm, batch_norm
from cutaway.blocks.norms.channels import ChannelScale
from cutaway.blocks.norms.contrast import ContrastCurve
from cutaway.blocks.norms.group import GroupNorm, group_norm
from cutaway.blocks.norms.layer import LayerNorm, layer_norm
from cutaway.blocks.norms.rms import RMSNorm, rms_norm
from cutaway.blocks.norms.weight import WeightNormLinear, weight_norm
from cutaway.registry import register

register(
    batch_norm,
    example=lambda: (
        batch_norm,
        torch.randn(2, 5, 3),
        torch.randn(3),
        torch.rand(3) + 1,
        torch.randn(3),
        torch.randn(3),
    ),
)
register(BatchNorm, example=lambda: (BatchNorm(3), torch.randn(2, 5, 3)))
register(layer_norm, example=lambda: (layer_norm, torch.randn(2, 5, 3), torch.randn(3), torch.randn(3)))
register(LayerNorm, example=lambda: (LayerNorm(3), torch.randn(2, 5, 3)))
register(group_norm, example=lambda: (group_norm, torch.randn(2, 6, 5, 3), 3, torch.randn(6), torch.randn(6)))
register(GroupNorm, example=lambda: (GroupNorm(6, 3), torch.randn(2, 6, 5, 3)))
register(rms_norm, example=lambda: (rms_norm, torch.randn(2, 5, 3), torch.randn(3)))
register(RMSNorm, example=lambda: (RMSNorm(3), torch.randn(2, 5, 3)))
register(weight_norm, example=lambda: (weight_norm, torch.randn(3, 7), torch.randn(7)))
register(WeightNormLinear, example=lambda: (WeightNormLinear(3, 7), torch.randn(2, 5, 3)))
register(ContrastCurve, example=lambda: (ContrastCurve(3), torch.rand(2, 3, 5, 4)))
register(ChannelScale, example=lambda: (ChannelScale(3), torch.rand(2, 3, 5, 4)))
