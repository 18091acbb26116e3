"""The perceptron and its learning rule."""

import torch
from torch import nn

from cutaway.blocks.perceptrons import Perceptron, perceptron_step
from cutaway.registry import register

STEP = "threshold units are steps; their straight-through gradient is that of the identity"


def _perceptron() -> Perceptron:
    perceptron = Perceptron(3, 7)
    for parameter in perceptron.parameters():
        nn.init.normal_(parameter)  # at its initial zeros all sums are 0
    return perceptron


register(
    perceptron_step,
    example=lambda: (
        perceptron_step,
        torch.randn(3, 7),
        torch.randn(7),
        torch.randn(3),
        torch.randint(2, (7,)).to(torch.get_default_dtype()),
        0.5,
    ),
    kinks=STEP,
)
register(Perceptron, example=lambda: (_perceptron(), torch.randn(2, 5, 3)), kinks=STEP)
