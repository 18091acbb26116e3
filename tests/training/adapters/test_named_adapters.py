"""Adapters by name: a choice that ends with its `with`, also when something fails inside, and removal in any order."""

import itertools
import threading

import pytest
import torch
from torch import nn

import cutaway as cut
from cutaway.training.adapters.records import adapters_of


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


def test_torchs_encoder_layers_do_not_go_around_an_adapter():
    """In evaluation without gradients they take a kernel that reads the weights of their linear layers."""
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    model, x = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval(), torch.randn(2, 5, 8)
    with torch.no_grad():
        base = model(x)
        summary = cut.lora(model, "**", rank=2)
        assert set(summary.targets) == {f"layers.{i}.linear{j}" for i in (0, 1) for j in (1, 2)}
        for module in model.modules():
            if isinstance(module, cut.blocks.LoRA):
                nn.init.normal_(module.updates("default")["whole"].b)
        tuned = model(x)
    torch.testing.assert_close(model(x), tuned)  # with gradients it never went around
    assert not torch.allclose(tuned, base)
    with torch.no_grad():
        cut.merge(model)
        torch.testing.assert_close(model(x), tuned, rtol=1e-4, atol=1e-5)
        cut.unmerge(model)
        summary.remove()
        assert torch.equal(model(x), base)


def test_two_threads_do_not_choose_at_once():
    """The choice is the model's: without the check, one thread would compute with the other's adapters."""
    model = nn.Sequential(nn.Linear(3, 3))
    cut.lora(model, "0", rank=1, name="a")
    cut.lora(model, "0", rank=1, name="b")
    told = []

    def choose(name):
        try:
            with cut.use(model, name):
                pass
        except ValueError as error:
            told.append(str(error))

    with cut.use(model, "a"), cut.use(model, "b"):  # one thread may nest them
        other = threading.Thread(target=choose, args=("a",))
        other.start()
        other.join()
        assert model[0].active == ("b",) or list(model[0].active) == ["b"]
    assert len(told) == 1
    assert "chosen for a model in all threads" in told[0]
    other = threading.Thread(target=choose, args=("a",))
    other.start()
    other.join()
    assert len(told) == 1


@pytest.mark.untyped
def test_names_are_texts():
    model = nn.Sequential(nn.Linear(3, 3))
    cut.lora(model, "0", rank=1)
    with pytest.raises(ValueError, match="an adapter must be one of the model's, got 5; it has default"):
        cut.use(model, 5)
