"""Gradients of inner values: equal to autograd's, whatever comes after, and a reason where there is none."""

import pytest
import torch
from looking import Layers, chain
from torch import nn

import cutaway as cut


def test_equal_to_autograd():
    model, x = chain(), torch.randn(7, 3)
    with cut.trace(model, "0", "1", "2.input", gradients=True) as seen:
        loss = model(x).square().sum()
    expected = torch.autograd.grad(loss, [seen["0"], seen["1"]], retain_graph=True)
    assert torch.equal(seen.gradient["0"], expected[0])  # autograd.grad is a backward pass as well
    loss.backward()
    assert torch.equal(seen.gradient["0"], 2 * expected[0])
    assert torch.equal(seen.gradient["1"], 2 * expected[1])
    assert torch.equal(seen.gradient["2.input"], seen.gradient["1"])


def test_backward_may_run_inside_or_after_the_trace():
    model, x = chain(), torch.randn(7, 3)
    with cut.trace(model, "0", gradients=True) as inside:
        model(x).sum().backward()
        assert inside.gradient["0"].shape == (7, 5)
    with cut.trace(model, "0", gradients=True) as after:
        loss = model(x).sum()
    loss.backward()
    assert torch.equal(inside.gradient["0"], after.gradient["0"])


def test_several_backward_passes_add_up():
    model, x = chain(), torch.randn(7, 3)
    with cut.trace(model, "0", gradients=True) as seen:
        y = model(x)
    y.sum().backward(retain_graph=True)
    once = seen.gradient["0"].clone()
    (3 * y.sum()).backward()
    torch.testing.assert_close(seen.gradient["0"], 4 * once)


def test_a_list_for_several_calls_with_none_where_nothing_came():
    model, x = chain(), torch.randn(7, 3)
    with cut.trace(model, "0", gradients=True) as seen:
        model(x)
        model(x).sum().backward()
    first, second = seen.gradient["0"]
    assert first is None
    assert second.shape == (7, 5)


def test_values_and_gradients_before_an_operation_in_place():
    torch.manual_seed(3)
    model, x = nn.Sequential(nn.Linear(3, 5), nn.ReLU(inplace=True), nn.Linear(5, 2)), torch.randn(7, 3)
    with cut.trace(model, "0", gradients=True, clone=True) as seen:
        model(x).sum().backward()
    h = model[0](x).detach().requires_grad_()
    model[2](torch.relu(h)).sum().backward()
    assert torch.equal(seen["0"], h)
    assert torch.equal(seen.gradient["0"], h.grad)  # of the value before, so zero where it was negative
    assert (seen.gradient["0"][h < 0] == 0).all()
    assert (h < 0).any()


def test_a_view_changed_in_place_has_no_gradient_and_says_so():
    model = nn.Sequential(nn.Linear(3, 4), nn.Flatten(0), nn.ReLU(inplace=True))
    with cut.trace(model, "1", gradients=True, clone=True) as seen:
        model(torch.randn(7, 3)).sum().backward()
    with pytest.raises(
        ValueError, match=r"got none through '1'; .* and make later operations in place on it, a view, or"
    ):
        seen.gradient["1"]


def test_frozen_parts_and_plain_inputs_have_gradients():
    model, x = chain(), torch.randn(7, 3)
    model[0].requires_grad_(False)
    with cut.trace(model, "input", "0", gradients=True) as seen:
        y = model(x)
        y.sum().backward()
    free = x.clone().requires_grad_()
    h = model[0](free)
    h.retain_grad()
    model[2](torch.tanh(h)).sum().backward()
    torch.testing.assert_close(seen.gradient["input"], free.grad, rtol=0, atol=0)
    torch.testing.assert_close(seen.gradient["0"], h.grad, rtol=0, atol=0)
    assert not x.requires_grad
    with cut.trace(model.requires_grad_(False), "0", gradients=True) as seen:
        model(x).sum().backward()
    torch.testing.assert_close(seen.gradient["0"], h.grad, rtol=0, atol=0)


def test_a_plain_value_may_still_be_changed_in_place():
    model, x = nn.Sequential(nn.Identity(), nn.ReLU(inplace=True)), torch.tensor([-1.0, 2.0])
    with cut.trace(model, "0", gradients=True, clone=True) as seen:
        model(x).sum().backward()
    assert torch.equal(seen["0"], torch.tensor([-1.0, 2.0]))
    assert torch.equal(seen.gradient["0"], torch.tensor([0.0, 1.0]))


def test_an_earlier_reading_trace_sees_the_value_in_the_graph():
    model, x = chain().requires_grad_(False), torch.randn(7, 3)
    with cut.trace(model, "0") as reading, cut.trace(model, "0", gradients=True):
        y = model(x)
    assert torch.autograd.grad(y.sum(), reading["0"])[0].shape == (7, 5)


def test_a_patched_value_has_the_gradient_of_what_flowed_on():
    model, x = Layers(), torch.randn(5, 3)
    with cut.trace(model, "b", gradients=True) as seen, cut.patch(model, {"b": 1.0}):
        model(x).sum().backward()
    h = torch.ones(5, 3, requires_grad=True)
    model.c(torch.tanh(h)).sum().backward()
    assert torch.equal(seen.gradient["b"], h.grad)


def test_device_and_detach_apply_to_gradients_too():
    model, x = chain(), torch.randn(7, 3)
    with cut.trace(model, "0", gradients=True, device="meta") as moved:
        model(x).sum().backward()
    assert moved.gradient["0"].is_meta
    for detach in (False, True):
        with cut.trace(model, "0", gradients=True, detach=detach) as seen:
            torch.autograd.grad(model(x).sum(), model[0].weight, create_graph=True)
        assert seen.gradient["0"].requires_grad is not detach


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_without_a_graph_there_is_a_reason(mode):
    model = chain()
    with mode(), cut.trace(model, "0", gradients=True) as seen:
        model(torch.randn(7, 3))
    message = (
        r"a gradient needs a pass with gradients enabled, got '0' under torch.no_grad\(\) or inference_mode\(\); run"
    )
    with pytest.raises(ValueError, match=message):
        seen.gradient["0"]


def test_other_reasons():
    model = nn.Sequential(nn.Embedding(11, 3), nn.Linear(3, 2))
    with cut.trace(model, "input", "0", gradients=True) as seen:
        y = model(torch.tensor([1, 2]))
    with pytest.raises(ValueError, match="a gradient needs a value made of floats, got 'input' without one; ask for a"):
        seen.gradient["input"]
    message = r"needs a backward pass from a result that depends on the value, got none through '0'; call backward\(\)"
    with pytest.raises(ValueError, match=message):
        seen.gradient["0"]
    y.sum().backward()
    assert seen.gradient["0"].shape == (2, 3)
    with cut.trace(model, "0") as seen:
        model(torch.tensor([1, 2]))
    with pytest.raises(
        ValueError, match=r"gradients must be asked for, got a trace without; use trace\(..., gradients="
    ):
        _ = seen.gradient
