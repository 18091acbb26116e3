"""Piecewise linear functions as networks."""

import torch

from cutaway.blocks.linear_regions.networks import approximate, relu_network
from cutaway.registry import register

register(
    relu_network, example=lambda: (relu_network([-2.0, -0.5, 0.3, 1.1], [1.0, -1.0, 0.7, 0.2]), torch.randn(11, 5, 1))
)
register(
    approximate,
    example=lambda: (approximate(torch.sin, -3.0, 2.0, knots=5, curvature=1.0).network, torch.randn(11, 5, 1)),
)
