"""Affine maps, dense layers, MLPs, activations, neurons, softmaxes, tensors."""

import torch
from torch import Tensor, nn

from cutaway.blocks.dense.activations import (
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
from cutaway.blocks.dense.affine import Dense, Linear, linear
from cutaway.blocks.dense.mlps import MLP, GatedMLP
from cutaway.blocks.dense.neurons import (
    Constant,
    StochasticBinary,
    bernoulli,
    stochastic_binary,
    straight_through,
    threshold,
)
from cutaway.blocks.dense.perceptrons import Perceptron, perceptron_step
from cutaway.blocks.dense.softmaxes import SoftmaxLayer, hard_argmax, softmax
from cutaway.blocks.dense.tensors import matricise, outer, pure_tensor
from cutaway.registry import register

register(linear, example=lambda: (linear, torch.randn(2, 5, 3), torch.randn(3, 7), torch.randn(7)))
register(Linear, example=lambda: (Linear(3, 7), torch.randn(2, 5, 3)))
register(Dense, example=lambda: (Dense(3, 7, torch.tanh), torch.randn(2, 5, 3)))
register(MLP, example=lambda: (MLP(3, 7), torch.randn(2, 5, 3)))
register(GatedMLP, example=lambda: (GatedMLP(3, 7), torch.randn(2, 5, 3)))


def _inputs() -> Tensor:
    x = torch.randn(2, 5, 3)
    return x + 0.1 * x.sign()


def _add(activation: Activation) -> None:
    register(activation, name=activation.name, example=lambda: (activation, _inputs()))


for _activation in (identity, logistic, tanh, relu, leaky_relu, elu, gelu, gelu_tanh, silu, relu_squared):
    _add(_activation)

register(softmax, example=lambda: (softmax, torch.randn(2, 5, 3), 0.7, 1))
register(
    hard_argmax,
    example=lambda: (hard_argmax, torch.randn(2, 5, 3), 1),
    kinks="the output is a step; its straight-through gradient is that of softmax",
)
register(SoftmaxLayer, example=lambda: (SoftmaxLayer(3, 7, temperature=0.7), torch.randn(2, 5, 3)))

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

register(outer, example=lambda: (outer, torch.randn(2, 3), torch.randn(5), torch.randn(7, 2)))
register(pure_tensor, example=lambda: (pure_tensor, torch.randn(2), torch.randn(3), torch.randn(5)))
register(matricise, example=lambda: (matricise, torch.randn(2, 3, 5), 1))
