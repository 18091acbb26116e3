"""oneDNN's LSTM in float32 against the equation in float64: outputs, states, gradients, second gradients."""

import copy

import pytest
import torch

from cutaway.blocks import LSTM
from cutaway.blocks.recurrence import onednn_lstm


@pytest.fixture
def calls(monkeypatch):
    """Counts the calls of oneDNN; skips where torch has none."""
    if not torch.backends.mkldnn.is_available():
        pytest.skip("this torch has no oneDNN")
    counted = []
    forward = onednn_lstm._forward
    monkeypatch.setattr(onednn_lstm, "_forward", lambda *args: counted.append(args[-1]) or forward(*args))
    return counted


def results(layer, x, state):
    leaves = [part.clone().to(layer.layers[0]["forwards"].map_input.weight).requires_grad_() for part in (x, *state)]
    y, end = layer(leaves[0], type(state)(*leaves[1:]))
    loss = y.square().sum() + end.cell.sum() - 2 * end.hidden.sum()
    return y, *end, *torch.autograd.grad(loss, [*leaves, *layer.parameters()])


@pytest.mark.parametrize("bidirectional", [False, True])
def test_is_the_equation(bidirectional, calls):
    layer = LSTM(3, 5, 2, bidirectional)
    state = layer.State(*(torch.randn_like(part) for part in layer.initial_state(4)))
    x = torch.randn(4, 7, 3)
    ours = results(layer, x, state)
    assert calls == [True] * (4 if bidirectional else 2)
    exact = results(copy.deepcopy(layer).double(), x, state)
    for rough, fine in zip(ours, exact, strict=True):
        torch.testing.assert_close(rough.double(), fine, atol=1e-5, rtol=1e-4)


def test_without_gradients_it_keeps_no_workspace(calls):
    layer, x = LSTM(3, 5), torch.randn(4, 7, 3)
    y, _ = layer(x)
    with torch.no_grad():
        z, _ = layer(x)
    assert calls == [True, False]
    # Another kernel, which may round otherwise: sums of 8 products in each of 7 steps, each at most 1.
    torch.testing.assert_close(y, z, rtol=0, atol=7 * 8 * torch.finfo(y.dtype).eps)


@pytest.mark.parametrize("make", [lambda: LSTM(3, 5, peephole=True), lambda: LSTM(3, 5, coupled=True)])
def test_variants_go_elsewhere(make, calls):
    make()(torch.randn(4, 7, 3))
    LSTM(3, 5)(torch.randn(2, 7, 3), lengths=torch.tensor([3, 7]))
    LSTM(3, 5).double()(torch.randn(2, 7, 3, dtype=torch.float64))
    assert not calls


def test_a_gradient_can_be_differentiated_again(calls):
    layer, x = LSTM(3, 5), torch.randn(4, 7, 3, requires_grad=True)

    def penalty(layer, x):
        (gradient,) = torch.autograd.grad(layer(x)[0].square().sum(), x, create_graph=True)
        return torch.autograd.grad(gradient.square().sum(), list(layer.parameters()))

    ours, exact = penalty(layer, x), penalty(copy.deepcopy(layer).double(), x.double())
    assert calls == [True]
    for rough, fine in zip(ours, exact, strict=True):
        torch.testing.assert_close(rough.double(), fine, atol=1e-4, rtol=1e-3)
