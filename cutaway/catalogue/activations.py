"""Activations, at inputs that keep away from their kinks."""

import torch
from torch import Tensor

from cutaway.blocks.activations import (
    Activation,
    elu,
    gelu,
    gelu_tanh,
    identity,
    leaky_relu,
    logistic,
    relu,
    relu_squared,
    silu,
    tanh,
)
from cutaway.registry import register


def _inputs() -> Tensor:
    x = torch.randn(2, 5, 3)
    return x + 0.1 * x.sign()


def _add(activation: Activation) -> None:
    register(activation, name=activation.name, example=lambda: (activation, _inputs()))


for _activation in (identity, logistic, tanh, relu, leaky_relu, elu, gelu, gelu_tanh, silu, relu_squared):
    _add(_activation)
