"""Linear attention: all at once, written out, and one token at a time."""

import torch

from cutaway.blocks.attention_linear import (
    LinearState,
    elu_plus_one,
    linear_attention,
    linear_attention_weights,
    linear_state,
    linear_step,
)
from cutaway.registry import register

register(elu_plus_one, example=lambda: (elu_plus_one, torch.randn(2, 5, 3)))
register(
    linear_attention,
    example=lambda: (
        linear_attention,
        torch.randn(2, 7, 3),
        torch.randn(2, 7, 3),
        torch.randn(2, 7, 5),
        elu_plus_one,
        True,
        torch.arange(7) != 3,
        3,
    ),
)
register(
    linear_attention_weights, example=lambda: (linear_attention_weights, torch.randn(2, 5, 3), torch.randn(2, 7, 3))
)
register(linear_state, example=lambda: (linear_state, torch.randn(2, 7, 3), torch.randn(2, 7, 5)))
register(
    linear_step,
    example=lambda: (
        linear_step,
        LinearState(torch.randn(2, 3, 5), torch.rand(2, 3)),
        torch.randn(2, 3),
        torch.randn(2, 3),
        torch.randn(2, 5),
    ),
)
