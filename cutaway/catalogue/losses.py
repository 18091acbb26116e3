"""Losses per example, and the cost of them all."""

import torch
from torch import Tensor

from cutaway.blocks.losses import (
    absolute_loss,
    cost,
    cross_entropy_loss,
    hinge_loss,
    kl_loss,
    log_loss,
    multiclass_hinge_loss,
    power_loss,
    squared_loss,
    zero_one_loss,
)
from cutaway.registry import register


def _values() -> tuple[Tensor, Tensor]:
    return torch.randn(2, 5, 3), torch.randn(2, 5, 3)


def _labels() -> tuple[Tensor, Tensor]:
    return torch.randn(2, 5, 3), torch.randn(2, 5, 3) > 0


def _classes() -> tuple[Tensor, Tensor]:
    return torch.randn(2, 5, 7), torch.randint(7, (2, 5))


def _surely_wrong() -> tuple[Tensor, Tensor]:
    """Logits of ±1e4, for a target with zeros in it."""
    return 1e4 * torch.tensor([[1.0, -1.0, -1.0], [0.0, 0.0, 1.0]]), torch.tensor([[0.0, 1.0, 0.0], [0.5, 0.5, 0.0]])


register(squared_loss, example=lambda: (squared_loss, *_values()))
register(absolute_loss, example=lambda: (absolute_loss, *_values()))
register(power_loss, example=lambda: (power_loss, *_values(), 2.5))
register(log_loss, example=lambda: (log_loss, torch.randn(2, 5, 3), torch.rand(2, 5, 3)))
register(cross_entropy_loss, example=lambda: (cross_entropy_loss, *_classes(), 0.1))
register(
    kl_loss,
    example=lambda: (kl_loss, torch.randn(2, 5, 3), torch.randn(2, 5, 3).softmax(-1)),
    extreme=lambda: (kl_loss, *_surely_wrong()),
)
register(hinge_loss, example=lambda: (hinge_loss, *_labels()))
register(multiclass_hinge_loss, example=lambda: (multiclass_hinge_loss, *_classes()))
register(
    zero_one_loss, example=lambda: (zero_one_loss, *_classes()), kinks="a step function: its slope is 0 or undefined"
)
register(cost, example=lambda: (cost, torch.rand(2, 5), "mean", torch.rand(2, 5)))
