"""Affine maps against torch.nn, by hand, and by their laws."""

import pytest
import torch
from torch import nn

import cutaway as cut
from cutaway.blocks import Dense, Linear, linear


def test_by_hand():
    x, W, b = (
        torch.tensor([[1.0, 2.0]]),
        torch.tensor([[1.0, -1.0, 0.5], [3.0, 0.0, 2.0]]),
        torch.tensor([0.0, 1.0, 2.0]),
    )
    assert torch.equal(linear(x, W, b), torch.tensor([[7.0, 0.0, 6.5]]))


def test_same_as_torch(float64):
    peer, ours = nn.Linear(3, 7), Linear(3, 7)
    ours.load_state_dict({"weight": peer.weight.T, "bias": peer.bias})
    x = torch.randn(2, 5, 3)
    torch.testing.assert_close(ours(x), peer(x))


def test_initial_weights_are_distributed_as_torchs():
    ours, peer = Linear(1000, 500).weight, nn.Linear(1000, 500).weight
    assert ours.abs().max().item() <= 1000**-0.5
    assert ours.std().item() == pytest.approx(peer.std().item(), rel=0.01)


def test_stacked_affine_maps_are_one_affine_map(float64):
    f, g = Linear(3, 5), Linear(5, 2)
    x = torch.randn(11, 3)
    collapsed = linear(x, f.weight @ g.weight, f.bias @ g.weight + g.bias)
    torch.testing.assert_close(g(f(x)), collapsed)


def test_taps_hold_the_values_of_the_equation():
    layer = Dense(3, 7, torch.tanh)
    x = torch.randn(5, 3)
    with cut.trace(layer, "sums", "output") as seen:
        y = layer(x)
    torch.testing.assert_close(seen["sums"], x @ layer.linear.weight + layer.linear.bias)
    assert torch.equal(seen["output"], y)
    with cut.patch(layer, {"sums": 0.0}):
        assert torch.equal(layer(x), torch.zeros(5, 7))


def test_bad_sizes():
    with pytest.raises(ValueError, match="inputs must be above 0, got 0; try inputs=1"):
        Linear(0, 3)


@pytest.mark.untyped
def test_bad_input():
    with pytest.raises(ValueError, match=r"the last axis of x must have width 3, got shape \(5, 4\); give it shape"):
        Linear(3, 7)(torch.randn(5, 4))
    with pytest.raises(ValueError, match=r"x must be a float tensor, got torch.int64; convert it with x.float\(\)"):
        Linear(3, 7)(torch.ones(5, 3, dtype=torch.long))
