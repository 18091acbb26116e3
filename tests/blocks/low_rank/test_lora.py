"""LoRA around a linear layer: its equation on every kind of layer, its parts, names, precision and all of its paths."""

import copy

import pytest
import torch
from torch import nn
from transformers.pytorch_utils import Conv1D

import cutaway as cut
from cutaway.blocks import Linear, LoRA, LowRank
from cutaway.blocks.low_rank.linear_layers import bias_of, matrix_of
from cutaway.inside.quiet import equation_of

BASES = {"ours": lambda: Linear(5, 6), "torch": lambda: nn.Linear(5, 6, bias=False), "Conv1D": lambda: Conv1D(6, 5)}


def drawn(layer: LoRA) -> LoRA:
    for update in layer.lora.modules():
        if isinstance(update, LowRank):
            nn.init.normal_(update.b)
    return layer


@pytest.mark.parametrize("kind", BASES)
def test_it_is_the_matrix_with_the_update_added(kind):
    base = BASES[kind]().double()
    layer = drawn(LoRA(base, rank=2, alpha=3).double())
    x = torch.randn(4, 7, 5, dtype=torch.float64)
    update = layer.updates("default")["whole"]
    W = matrix_of(base) + 3 / 2 * update.a @ update.b
    expected = x @ W + (0 if bias_of(base) is None else bias_of(base))
    torch.testing.assert_close(layer(x), expected)
    torch.testing.assert_close(layer(x[0, 0]), expected[0, 0])
    torch.testing.assert_close(layer.merged_matrix(), W)
    with torch.no_grad():
        torch.testing.assert_close(equation_of(layer)(x), expected)
        torch.testing.assert_close(equation_of(layer)(x[0, 0]), expected[0, 0])


def test_updates_of_parts_change_their_columns_alone():
    base = Linear(5, 9).double()
    layer = LoRA(base, rank=0, parts={"queries": 4, "keys": 2, "values": 3})
    layer.add("default", {"queries": LowRank(5, 4, 2, alpha=6), "values": LowRank(5, 3, 3)})
    drawn(layer.double())
    x = torch.randn(2, 5, dtype=torch.float64)
    change = layer(x) - base(x)
    updates = layer.updates("default")
    torch.testing.assert_close(change[:, :4], 3 * x @ updates["queries"].a @ updates["queries"].b)
    assert torch.equal(change[:, 4:6], torch.zeros(2, 2).double())
    torch.testing.assert_close(change[:, 6:], x @ updates["values"].a @ updates["values"].b)
    with cut.patch(layer, {"lora.default.values.low": lambda low: 2 * low}):  # written out
        torch.testing.assert_close(layer(x)[:, 6:] - base(x)[:, 6:], 2 * change[:, 6:])
        torch.testing.assert_close(layer(x)[:, :6], (base(x) + change)[:, :6])


def test_adapters_add_up_and_are_chosen():
    layer = LoRA(Linear(5, 6), rank=2, name="a")
    layer.add("b", {"whole": LowRank(5, 6, 3)})
    drawn(layer)
    x = torch.randn(3, 5)
    both = layer(x) - layer.base(x)
    layer.choose(["a"])
    one = layer(x) - layer.base(x)
    assert [p.requires_grad for p in layer.lora.parameters()] == [True, True, False, False]
    layer.choose(["b"])
    torch.testing.assert_close(one + layer(x) - layer.base(x), both)
    layer.choose([])
    assert torch.equal(layer(x), layer.base(x))


def test_dropout_is_of_the_input_and_in_training_alone():
    layer = LoRA(Linear(50, 6), rank=2, dropout=0.5)
    nn.init.constant_(layer.updates("default")["whole"].a, 1.0)
    nn.init.constant_(layer.updates("default")["whole"].b, 1.0)
    x = torch.ones(1000, 50)
    drawn_values = layer(x) - layer.base(x)
    assert drawn_values.std(0).max() > 1  # not always the same entries
    assert drawn_values.mean().item() == pytest.approx(100, rel=0.02)
    torch.testing.assert_close(layer.eval()(x) - layer.base(x), torch.full((1000, 6), 100.0))


def test_the_base_keeps_its_names_in_a_state_dict():
    base = nn.Sequential(Linear(5, 6), Linear(6, 2))
    layer = nn.Sequential(LoRA(copy.deepcopy(base[0]), rank=2), base[1])
    assert set(layer.state_dict()) == set(base.state_dict()) | {f"0.lora.default.whole.{x}" for x in "ab"}
    other = copy.deepcopy(layer)
    for p in other.parameters():
        nn.init.zeros_(p)
    other.load_state_dict(layer.state_dict())
    assert all(torch.equal(x, y) for x, y in zip(other.parameters(), layer.parameters(), strict=True))
    missing, surplus = other.load_state_dict(base.state_dict(), strict=False)
    assert (set(missing), surplus) == ({f"0.lora.default.whole.{x}" for x in "ab"}, [])
    with pytest.raises(RuntimeError, match=r"Unexpected key.*0.base.other"):
        other.load_state_dict(layer.state_dict() | {"0.other": torch.zeros(1)})


def test_a_half_precision_base_has_updates_in_float32():
    layer = LoRA(Linear(5, 6).to(torch.bfloat16), rank=2)
    drawn(layer).lora.float()
    x = torch.randn(3, 5, dtype=torch.bfloat16)
    assert layer(x).dtype == torch.bfloat16
    torch.testing.assert_close(layer(x).double(), x.double() @ layer.merged_matrix() + layer.bias, rtol=0.02, atol=0.05)


def test_gradients_reach_the_updates_and_nothing_else():
    layer = drawn(LoRA(Linear(5, 6), rank=2))
    layer(torch.randn(3, 5)).sum().backward()
    assert layer.base.weight.grad is None
    assert layer.base.bias.grad is None
    assert all(p.grad is not None for p in layer.lora.parameters())


def test_only_linear_layers_are_wrapped():
    with pytest.raises(ValueError, match="LoRA wraps a linear layer, got Embedding"):
        LoRA(nn.Embedding(3, 3))


def test_an_update_is_read_and_changed_by_its_own_address():
    torch.manual_seed(0)
    model = nn.Sequential(LoRA(Linear(5, 3), rank=2))
    update = model[0].updates("default")["whole"]
    nn.init.normal_(update.b)
    x = torch.randn(4, 5)
    plain, base = model(x), model[0].base(x)
    address = "0.lora.default.whole"
    with cut.trace(model, address) as seen:
        assert torch.equal(model(x), plain)
    torch.testing.assert_close(seen[address], plain - base)
    with cut.patch(model, {address: 0.0}):
        torch.testing.assert_close(model(x), base)
    handle = update.register_forward_hook(lambda module, args, output: 2 * output)
    torch.testing.assert_close(model(x), 2 * plain - base)
    handle.remove()
    assert torch.equal(model(x), plain)
