"""Adapters by name: a choice that ends with its `with`, also when something fails inside, and removal in any order."""

import itertools

import pytest
import torch
from torch import nn

import cutaway as cut
from cutaway.training.tuning.records import adapters_of


def model_with(*names):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    for name in names:
        cut.lora(model, "**", rank=2, name=name, train="2.bias" if name == "a" else ())
        for module in model.modules():
            if isinstance(module, cut.blocks.LoRA):
                nn.init.normal_(module.updates(name)["whole"].b)
    return model


def test_a_choice_ends_with_its_block_even_after_a_failure():
    model = model_with("a", "b")
    with pytest.raises(RuntimeError, match="inside"), cut.use(model, "b"):
        assert [record.in_use for record in adapters_of(model).values()] == [False, True]
        raise RuntimeError("inside")
    assert [record.in_use for record in adapters_of(model).values()] == [True, True]


@pytest.mark.parametrize("order", list(itertools.permutations("abc")))
def test_removal_in_any_order_leaves_the_base(order):
    x = torch.randn(5, 3)
    model, base = model_with(*"abc"), model_with()
    for name in order:
        assert not torch.equal(model(x), base(x))
        cut.remove_adapter(model, name)
    assert torch.equal(model(x), base(x))
    assert all(p.requires_grad for p in model.parameters())
    assert [type(layer) for layer in model] == [nn.Linear, nn.Tanh, nn.Linear]
