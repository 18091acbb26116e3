"""Weight norm against torch.nn.utils, by hand, and by its laws."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

import cutaway as cut
from cutaway.blocks import Linear, WeightNormLinear, weight_norm


def test_by_hand():
    V = torch.tensor([[3.0, 0.0], [4.0, -2.0]])  # columns of length 5 and 2
    assert torch.equal(weight_norm(V, torch.tensor([10.0, 3.0])), torch.tensor([[6.0, 0.0], [8.0, -3.0]]))


def test_same_as_torch(float64):
    theirs = nn.utils.parametrizations.weight_norm(nn.Linear(3, 7))
    g, V = theirs.parametrizations.weight.original0, theirs.parametrizations.weight.original1
    nn.init.normal_(g)
    ours = WeightNormLinear(3, 7)
    ours.load_state_dict({"direction": V.T, "gain": g.flatten(), "bias": theirs.bias})
    x, y = torch.randn(2, 5, 3), torch.randn(2, 5, 7)
    torch.testing.assert_close(ours(x), theirs(x))
    (ours(x) * y).sum().backward()
    (theirs(x) * y).sum().backward()
    torch.testing.assert_close(ours.direction.grad, V.grad.T)
    torch.testing.assert_close(ours.gain.grad, g.grad.flatten())


def test_starts_as_a_linear_layer(float64):
    torch.manual_seed(3)
    plain = Linear(3, 7)
    torch.manual_seed(3)
    normed = WeightNormLinear(3, 7)
    x = torch.randn(5, 3)
    torch.testing.assert_close(normed(x), plain(x))
    nn.init.zeros_(normed.gain)
    torch.manual_seed(3)
    normed.reset_parameters()
    torch.testing.assert_close(normed(x), plain(x))


@given(scale=st.floats(0.01, 100), column=st.integers(0, 6))
def test_the_length_of_the_direction_does_not_matter(scale, column):
    V, g = torch.randn(3, 7, dtype=torch.float64), torch.randn(7, dtype=torch.float64)
    other = V.clone()
    other[:, column] *= scale
    torch.testing.assert_close(weight_norm(other, g), weight_norm(V, g))
    torch.testing.assert_close(weight_norm(V, g).norm(dim=0), g.abs())


def test_the_gradient_is_orthogonal_to_the_direction(float64):
    """Salimans, Kingma 2016, §2.1: so that ‖v‖ can only grow, which steadies the step."""
    layer = WeightNormLinear(3, 7)
    layer(torch.randn(5, 3)).square().sum().backward()
    torch.testing.assert_close((layer.direction.grad * layer.direction).sum(0), torch.zeros(7))
    assert layer.direction.grad.abs().min() > 0


def test_a_column_of_zeros_stays_zero():
    V = torch.tensor([[0.0, 3.0], [0.0, 4.0]], requires_grad=True)
    W = weight_norm(V, torch.ones(2))
    assert torch.equal(W[:, 0], torch.zeros(2))
    W.sum().backward()
    assert V.grad.isfinite().all()


def test_taps_hold_the_values_of_the_equation():
    layer = WeightNormLinear(3, 7)
    x = torch.randn(5, 3)
    with cut.trace(layer, "matrix", "output") as seen:
        y = layer(x)
    assert torch.equal(seen["matrix"], layer.weight)
    assert torch.equal(seen["output"], y)
    with cut.patch(layer, {"matrix": 0.0}):
        assert torch.equal(layer(x), layer.bias.expand(5, 7))


def test_made_on_the_meta_device():
    with torch.device("meta"):
        layer = WeightNormLinear(3, 7, bias=False)
    assert {name: p.is_meta for name, p in layer.named_parameters()} == {"direction": True, "gain": True}


def test_bad_sizes():
    with pytest.raises(ValueError, match="outputs must be above 0, got 0; try outputs=1"):
        WeightNormLinear(3, 0)


@pytest.mark.untyped
def test_bad_input():
    with pytest.raises(ValueError, match=r"the last axis of direction must have width 5, got shape \(3, 7\)"):
        weight_norm(torch.randn(3, 7), torch.ones(5))
    with pytest.raises(ValueError, match=r"direction must be a float tensor, got torch.int64"):
        weight_norm(torch.ones(3, 7, dtype=torch.long), torch.ones(7))
    with pytest.raises(ValueError, match=r"the last axis of x must have width 3, got shape \(5, 4\)"):
        WeightNormLinear(3, 7)(torch.randn(5, 4))
