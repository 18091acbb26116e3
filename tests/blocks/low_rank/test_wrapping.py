"""Wrappers around frozen modules: transparent to attributes and to the names of tensors."""

import copy
import pickle

import pytest
import torch
from torch import nn

from cutaway.blocks import Linear, LoRA


def test_attributes_are_those_of_the_base():
    layer = LoRA(nn.Linear(3, 4), rank=2)
    assert (layer.in_features, layer.out_features) == (3, 4)
    assert layer.weight is layer.base.weight
    with pytest.raises(AttributeError, match="'Linear' object has no attribute 'nothing'"):
        _ = layer.nothing


@pytest.mark.parametrize("again", [copy.deepcopy, lambda layer: pickle.loads(pickle.dumps(layer))])
def test_copies(again):
    layer = LoRA(Linear(3, 4), rank=2)
    twin = again(layer)
    twin.load_state_dict(layer.state_dict())
    assert list(twin.state_dict()) == list(layer.state_dict()) == [*_low(), "weight", "bias"]
    x = torch.randn(2, 3)
    assert torch.equal(twin(x), layer(x))


def _low():
    return [f"lora.default.whole.{name}" for name in "ab"]
