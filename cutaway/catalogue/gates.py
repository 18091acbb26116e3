"""Attention without queries: decay, gates, and the table that is looked up."""

import torch

from cutaway.blocks.gates import (
    Forgetting,
    GatedSummary,
    decay_weights,
    forgetting_gate,
    forgetting_weights,
    lookup,
    soft_lookup,
)
from cutaway.registry import register

register(decay_weights, example=lambda: (decay_weights, 5, torch.tensor(0.7)))
register(forgetting_gate, example=lambda: (forgetting_gate, torch.randn(2, 5, 3), torch.randn(3), torch.tensor(0.5)))
register(
    forgetting_weights,
    example=lambda: (forgetting_weights, torch.randn(2, 5, 3), torch.randn(3), torch.arange(5) != 3),
)
register(Forgetting, example=lambda: (Forgetting(3, 7), torch.randn(2, 5, 3), torch.arange(5) != 3))
register(GatedSummary, example=lambda: (GatedSummary(3, 7), torch.randn(2, 5, 3), torch.arange(5) != 3))
register(lookup, example=lambda: (lookup, torch.randn(2, 5), torch.randn(5, 3)))
register(soft_lookup, example=lambda: (soft_lookup, torch.randn(2, 5), torch.randn(5, 3)))
