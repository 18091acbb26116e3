"""Modules that act for another: wrappers, and what TorchScript made."""

import pytest
import torch
from looking import assert_nothing_left
from torch import nn

import cutaway as cut
from cutaway.inside.wrappers import inner_name, kind_of

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")


def with_script() -> nn.Sequential:
    torch.manual_seed(0)
    scripted = torch.jit.script(nn.Sequential(nn.Linear(3, 5), nn.Tanh()))
    return nn.Sequential(nn.Linear(3, 3), scripted, nn.Linear(5, 2))


def test_a_scripted_module_has_an_address_and_nothing_inside_it_has():
    model = with_script()
    assert repr(cut.addresses(model, torch.ones(4, 3))).splitlines()[1] == "1  Sequential  (4, 5)"
    assert list(cut.addresses(model)) == ["0", "1", "2"]
    with pytest.raises(ValueError, match=r"got '1.0'; the nearest known are: 1"):
        cut.trace(model, "1.0")


def test_a_scripted_module_is_read_changed_and_differentiated():
    model, x = with_script(), torch.randn(4, 3)
    plain = model(x)
    with cut.trace(model, "1", "1.input", "2.input.input", gradients=True) as seen:
        y = model(x)
        y.sum().backward()
    assert torch.equal(y, plain)
    assert torch.equal(seen["1"], seen["2.input.input"])
    expected = torch.ones(4, 2) @ model[2].weight
    torch.testing.assert_close(seen.gradient["1"], expected.detach())
    assert seen.gradient["1.input"].shape == (4, 3)
    with cut.patch(model, {"1": 0.0}):
        assert torch.equal(model(x), model[2].bias.expand(4, 2))
    assert_nothing_left(model)


def test_a_scripted_root():
    model, x = with_script()[1], torch.randn(4, 3)
    with cut.trace(model, "", "input") as seen:
        y = model(x)
    assert seen[""] is y
    assert seen["input"] is x


def test_kinds():
    assert (kind_of(nn.Tanh()), kind_of(with_script()[1])) == ("Tanh", "Sequential")
    assert inner_name(nn.Tanh()) is None
