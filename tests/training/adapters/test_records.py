"""What a model remembers of its adapters, and names of parameters that do not depend on them."""

import copy

import torch
from torch import nn

import cutaway as cut
from cutaway.training.adapters.records import adapters_of, named_parameters, unwrapped


def test_parameters_keep_their_names():
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
    before = dict(model.named_parameters())
    cut.lora(model, "0", rank=2)
    named = named_parameters(model)
    assert all(named[name] is p for name, p in before.items())
    assert set(named) - set(before) == {"0.lora.default.whole.a", "0.lora.default.whole.b"}


def test_records_belong_to_the_model_and_go_with_its_copies():
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
    assert adapters_of(model) == {}
    cut.lora(torch.compile(model), "0", rank=2, biases="lora")
    record = adapters_of(model)["default"]
    assert (record.kind, set(record.other_values)) == ("LoRA", {"0.bias"})
    twin = copy.deepcopy(model)
    cut.remove_adapter(twin)
    assert list(adapters_of(model)) == ["default"]
    assert adapters_of(twin) == {}


def test_wrappers_are_looked_through():
    model = nn.Sequential(nn.Linear(3, 4))
    assert unwrapped(torch.compile(model)) is model
    assert unwrapped(nn.DataParallel(torch.compile(model))) is model
