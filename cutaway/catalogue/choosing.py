"""Choosing one of many, softly or hard."""

import torch

from cutaway.blocks.choosing import SoftmaxLayer, hard_argmax, softmax
from cutaway.registry import register

register(softmax, example=lambda: (softmax, torch.randn(2, 5, 3), 0.7, 1))
register(
    hard_argmax,
    example=lambda: (hard_argmax, torch.randn(2, 5, 3), 1),
    kinks="the output is a step; its straight-through gradient is that of softmax",
)
register(SoftmaxLayer, example=lambda: (SoftmaxLayer(3, 7, temperature=0.7), torch.randn(2, 5, 3)))
