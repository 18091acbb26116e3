"""The digest of a base: it follows from names and values, and adapters play no part in it."""

import torch
from torch import nn

import cutaway as cut
from cutaway.hub.adapter_names import AdapterNames
from cutaway.hub.base_digest import base_digest


def make():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))


def digest(model, but=()):
    return base_digest(AdapterNames(model), but)


def test_it_is_of_the_weights_without_adapters():
    model, other = make(), make()
    first = digest(model)
    assert digest(other) == first
    cut.lora(model, "**", rank=2)
    assert digest(model) == first
    with torch.no_grad():
        other[1].bias[0] += 1e-6
    assert digest(other) != first
    assert digest(other, ["1.bias"]) == digest(model, ["1.bias"]) != first
    assert digest(make().double()) != first
    assert digest(nn.Sequential(*reversed(make()))) != first
