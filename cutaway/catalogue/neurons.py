"""Binary neurons and the constant neuron."""

import torch

from cutaway.blocks.neurons import (
    Constant,
    StochasticBinary,
    bernoulli,
    stochastic_binary,
    straight_through,
    threshold,
)
from cutaway.registry import register

STEP = "the output is a step; its straight-through gradient is that of another function"

register(
    straight_through,
    example=lambda: (straight_through, torch.randn(2, 5, 3).round(), torch.randn(2, 5, 3)),
    kinks=STEP,
)
register(threshold, example=lambda: (threshold, torch.randn(2, 5, 3)), kinks=STEP)
register(bernoulli, example=lambda: (bernoulli, torch.rand(2, 5, 3)), kinks=STEP)
register(stochastic_binary, example=lambda: (stochastic_binary, torch.randn(2, 5, 3)), kinks=STEP)
register(StochasticBinary, example=lambda: (StochasticBinary(), torch.randn(2, 5, 3)), kinks=STEP)
register(Constant, example=lambda: (Constant(torch.randn(5, 3), learned=True),))
