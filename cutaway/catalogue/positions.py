"""Positions: added to the input, added to the scores, or turning queries and keys."""

import torch

from cutaway.blocks.positions.learned import LearnedPosition
from cutaway.blocks.positions.relative import RelativeBias, alibi_bias, alibi_slopes, relative_buckets
from cutaway.blocks.positions.rotary import Rotary, rotary_angles, rotate
from cutaway.blocks.positions.rotary_scalings import YaRNScaling
from cutaway.blocks.positions.sinusoidal import SinusoidalPosition, sinusoids
from cutaway.registry import register

# As many rows as the example has inputs: no gradient reaches the others.
register(LearnedPosition, example=lambda: (LearnedPosition(5, 3), torch.randn(2, 5, 3)))
register(sinusoids, example=lambda: (sinusoids, 7 * torch.rand(2, 5), 6))
register(SinusoidalPosition, example=lambda: (SinusoidalPosition(6), torch.randn(2, 5, 6), 3))
register(relative_buckets, example=lambda: (relative_buckets, 5, 7, 8, 11, True, 2))
register(RelativeBias, example=lambda: (RelativeBias(3, buckets=8, distance=11), 5, 7, 2))
register(alibi_slopes, example=lambda: (alibi_slopes, 3))
register(alibi_bias, example=lambda: (alibi_bias, 3, 5, 7, 2))
register(rotary_angles, example=lambda: (rotary_angles, 7 * torch.rand(2, 5), 6))
register(rotate, example=lambda: (rotate, torch.randn(2, 3, 5, 7), torch.randn(5, 3), "interleaved"))
register(
    Rotary,
    example=lambda: (
        Rotary(6, scaling=YaRNScaling(factor=4.0, context=11)),
        torch.randn(2, 5, 3, 7),
        torch.randn(2, 1, 3, 7),
        0,
        torch.tensor([[0, 1, 2], [3, 4, 5]]),
    ),
)
