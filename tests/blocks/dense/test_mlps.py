"""The network of a transformer layer: by hand, its taps, its dropout."""

import pytest
import torch
from torch import nn

import cutaway as cut
from cutaway.blocks import MLP, GatedMLP, gelu, relu, silu


def test_by_hand():
    mlp = MLP(2, 2, relu)
    with torch.no_grad():
        mlp.up.weight.copy_(torch.tensor([[1.0, 0.0], [0.0, -1.0]]))
        mlp.up.bias.copy_(torch.tensor([1.0, 0.0]))
        mlp.down.weight.copy_(torch.tensor([[2.0, 0.0], [0.0, 3.0]]))
        mlp.down.bias.copy_(torch.tensor([0.0, 10.0]))
    # sums (1 + 1, −2), hidden (2, 0), output (4, 10)
    assert torch.equal(mlp(torch.tensor([1.0, 2.0])), torch.tensor([4.0, 10.0]))


def test_same_as_torch(float64):
    mlp, peer = MLP(3, 7), nn.Sequential(nn.Linear(3, 7), nn.GELU(), nn.Linear(7, 3))
    peer.load_state_dict(
        {
            "0.weight": mlp.up.weight.T,
            "0.bias": mlp.up.bias,
            "2.weight": mlp.down.weight.T,
            "2.bias": mlp.down.bias,
        }
    )
    x = torch.randn(2, 5, 3)
    torch.testing.assert_close(mlp(x), peer(x))


@pytest.mark.parametrize("activation", [silu, gelu])
def test_gates(activation, float64):
    mlp, x = GatedMLP(3, 7, activation, bias=True), torch.randn(2, 5, 3)
    W_g, W_u = mlp.up.weight.split(7, 1)
    b_g, b_u = mlp.up.bias.split(7)
    hidden = activation(x @ W_g + b_g) * (x @ W_u + b_u)
    torch.testing.assert_close(mlp(x), hidden @ mlp.down.weight + mlp.down.bias)


def test_widths_by_default():
    assert MLP(6).up.outputs == 24
    plain, gated = (sum(p.numel() for p in mlp.parameters()) for mlp in (MLP(6, bias=False), GatedMLP(6)))
    assert plain == gated == 2 * 6 * 24


@pytest.mark.parametrize("make", [MLP, GatedMLP])
def test_each_token_by_itself(make, float64):
    mlp, x = make(3, 7), torch.randn(2, 5, 3)
    torch.testing.assert_close(mlp(x)[1, 2], mlp(x[1, 2]))


def test_taps_hold_the_values_of_the_equation(float64):
    x = torch.randn(2, 5, 3)
    mlp = MLP(3, 7)
    with cut.trace(mlp, "sums", "hidden", "output") as seen:
        y = mlp(x)
    torch.testing.assert_close(seen["sums"], x @ mlp.up.weight + mlp.up.bias)
    torch.testing.assert_close(seen["hidden"], gelu(seen["sums"]))
    assert torch.equal(seen["output"], y)
    mlp = GatedMLP(3, 7)
    with cut.trace(mlp, "gates", "ups", "hidden", "output") as seen:
        y = mlp(x)
    torch.testing.assert_close(seen["gates"], silu(x @ mlp.up.weight[:, :7]))
    torch.testing.assert_close(seen["ups"], x @ mlp.up.weight[:, 7:])
    torch.testing.assert_close(seen["hidden"], seen["gates"] * seen["ups"])
    assert torch.equal(seen["output"], y)
    with cut.patch(mlp, {"gates": 0.0}):
        assert torch.equal(mlp(x), torch.zeros(2, 5, 3))


@pytest.mark.parametrize("make", [MLP, GatedMLP])
def test_dropout_of_hidden_units_in_training_only(make, float64):
    mlp, x = make(3, 7, dropout=0.5), torch.randn(2, 5, 3)
    with cut.trace(mlp, "hidden") as seen:
        torch.manual_seed(1)
        y = mlp(x)
    torch.manual_seed(1)
    torch.testing.assert_close(y, mlp.down(nn.functional.dropout(seen["hidden"], 0.5)))
    mlp.eval()
    assert torch.equal(mlp(x), mlp.down(seen["hidden"]))


def test_it_prints_its_activation():
    assert repr(MLP(3, 7, dropout=0.5)).startswith("MLP(\n  activation=gelu, dropout=0.5\n")
    assert repr(GatedMLP(3, 7)).startswith("GatedMLP(\n  activation=silu\n")
    assert "(activation): Tanh()" in repr(MLP(3, 7, nn.Tanh()))


@pytest.mark.parametrize("make", [MLP, GatedMLP])
def test_bad_sizes(make):
    with pytest.raises(ValueError, match="width must be above 0, got 0; try width=1"):
        make(0)
    with pytest.raises(ValueError, match="hidden must be above 0, got -7; try hidden=1"):
        make(3, -7)
    with pytest.raises(ValueError, match="dropout must be a probability from 0 to 1, got 50"):
        make(3, 7, dropout=50)


@pytest.mark.untyped
@pytest.mark.parametrize("make", [MLP, GatedMLP])
def test_bad_input(make):
    with pytest.raises(ValueError, match=r"the last axis of x must have width 3, got shape \(5, 4\)"):
        make(3, 7)(torch.randn(5, 4))
