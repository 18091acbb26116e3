"""Which layers are looked at, what is known of each, and where the axes of their values are."""

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations

import cutaway as cut
from cutaway.inside.address_globs import Site
from cutaway.look.gradient_flow.layers import Axes, axes_of, default_places, named_places, own_weights


def kinds(model: nn.Module) -> dict[str, str]:
    return {place.address: place.kind for place in default_places(model)}


def test_layers_own_weights_or_are_activations():
    model = nn.Sequential(nn.Linear(2, 3), nn.Dropout(), nn.GELU(), nn.Flatten(), nn.LayerNorm(3), nn.Identity())
    assert kinds(model) == {"0": "Linear", "2": "GELU", "4": "LayerNorm"}
    assert kinds(nn.MultiheadAttention(4, 2)) == {
        "": "MultiheadAttention",
        "out_proj": "NonDynamicallyQuantizableLinear",
    }


def test_a_shared_layer_is_looked_at_once():
    layer = nn.Linear(2, 2)
    assert kinds(nn.Sequential(layer, nn.Tanh(), layer)) == {"0": "Linear", "1": "Tanh"}


def test_recurrent_layers_have_their_input_too():
    assert kinds(nn.Sequential(nn.LSTM(2, 3))) == {"0.input": "input of LSTM", "0": "LSTM"}
    assert kinds(nn.LSTM(2, 3)) == {"input": "input of LSTM", "": "LSTM"}


def test_activations_inside_our_blocks():
    blocks = cut.blocks
    model = nn.ModuleDict(
        {
            "dense": blocks.Dense(2, 3, blocks.tanh),
            "plain": blocks.Dense(2, 3, None),
            "mlp": blocks.MLP(4, activation=blocks.relu_squared),
            "gated": blocks.GatedMLP(6),
        }
    )
    found = {place.address: place for place in default_places(model)}
    assert {a: p.kind for a, p in found.items()} == {
        "dense": "Dense, tanh",
        "dense.linear": "Linear",
        "plain.linear": "Linear",
        "mlp.hidden": "relu_squared",
        "mlp.up": "Linear",
        "mlp.down": "Linear",
        "gated.gates": "silu",
        "gated.up": "Linear",
        "gated.down": "Linear",
    }
    assert found["mlp.hidden"].rectifies
    assert found["dense"].bar == 3
    assert found["gated.gates"].bar is None
    named = named_places(model, ["mlp.hidden", "*.up"])
    assert named["mlp.hidden"][0] == found["mlp.hidden"]
    assert [place.address for place in named["*.up"]] == ["mlp.up", "gated.up"]


@pytest.mark.parametrize(
    ("module", "rectifies", "saturates"),
    [
        (nn.ReLU(), True, False),
        (nn.ReLU6(), True, False),
        (nn.LeakyReLU(), False, False),
        (nn.Tanh(), False, True),
        (nn.Sigmoid(), False, True),
        (nn.Softsign(), False, True),
        (nn.SiLU(), False, False),
        (nn.RNN(2, 3), False, True),
        (nn.RNN(2, 3, nonlinearity="relu"), True, False),
        (nn.LSTM(2, 3), False, False),
    ],
    ids=str,
)
def test_which_can_be_dead_or_saturated(module: nn.Module, rectifies: bool, saturates: bool):
    place = default_places(module)[-1]
    assert (place.rectifies, place.bar is not None) == (rectifies, saturates)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("module", "bar"), [(nn.Tanh(), 3.0), (nn.Sigmoid(), 5.0), (nn.Softsign(), 9.0)], ids=str)
def test_saturated_is_what_the_sums_say(module: nn.Module, bar: float, dtype: torch.dtype):
    """From y alone, on both sides, at the bar too; the slope left there is at most 2.7 % of the steepest."""
    place = default_places(module)[0]
    assert place.bar == bar
    for chosen in (bar, 1.0, 0.5):
        v = torch.tensor([0.0, 0.3, chosen - 1e-3, chosen, chosen + 1e-3, 2 * chosen], dtype=dtype)
        v = torch.cat([v, -v])
        assert torch.equal(place.is_saturated(module(v), chosen), v.abs() >= chosen)
    v = torch.tensor([bar, 0.0], dtype=dtype, requires_grad=True)
    (slope,) = torch.autograd.grad(module(v).sum(), v)
    assert slope[0] / slope[1] < 0.027


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_saturated_in_half_precision(dtype: torch.dtype):
    v = torch.tensor([0.0, 4.0, 5.0, -5.0, 9.0], dtype=dtype)
    assert default_places(nn.Sigmoid())[0].is_saturated(v.sigmoid(), 5.0).tolist() == [False, False, True, True, True]


def test_an_activation_that_further_steps_follow_is_not_the_output():
    layer = nn.TransformerEncoderLayer(4, 2, 8)
    assert callable(layer.activation)
    assert "" not in kinds(layer)
    (place,) = named_places(nn.Sequential(layer), ["0"])["0"]
    assert (place.kind, place.activation) == ("TransformerEncoderLayer", "")


def test_a_wrapper_and_a_parametrisation_keep_weights_for_their_layer():
    class Wrapper(nn.Module):
        wraps = "base"

        def __init__(self, base: nn.Module) -> None:
            super().__init__()
            self.base, self.extra = base, nn.Parameter(torch.ones(1))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.base(x) * self.extra

    inner = nn.Linear(2, 3)
    assert {id(w) for w in own_weights(Wrapper(inner))} >= {id(inner.weight), id(inner.bias)}
    assert kinds(nn.Sequential(Wrapper(inner))) == {"0": "Wrapper"}
    normed = parametrizations.weight_norm(nn.Linear(2, 3))
    assert {tuple(w.shape) for w in own_weights(normed)} == {(3,), (3, 1), (3, 2)}
    assert kinds(nn.Sequential(normed)) == {"0": "ParametrizedLinear"}


def test_axes_of_values():
    layouts: dict[tuple[int, ...], int] = {}

    def axes(shape: tuple[int, ...], module: nn.Module, time: int = 1, is_input: bool = False) -> Axes:
        return axes_of(torch.zeros(shape), Site(module, is_input), layouts, time)

    assert axes((4, 3), nn.Linear(2, 3)) == Axes(1, None)
    assert axes((4, 7, 3), nn.Linear(2, 3)) == Axes(2, 1)
    assert axes((7, 4, 3), nn.Linear(2, 3), time=0) == Axes(2, 0)
    assert axes((4, 3, 9, 9), nn.Conv2d(1, 3, 3)) == Axes(1, None)
    assert axes((4, 6, 9), nn.Conv1d(1, 6, 3)) == Axes(1, 2)
    assert axes((4, 6, 9), nn.ReLU()) == Axes(1, 2)  # follows a convolution
    assert axes((4, 6, 11), nn.ReLU()) == Axes(2, 1)
    assert axes((4, 6, 8, 8), nn.ReLU()) == Axes(1, None)
    assert axes((4, 6, 8, 5), nn.Linear(2, 5)) == Axes(3, None)
    assert axes((4, 6, 8, 5), nn.ReLU()) == Axes(3, None)
    assert axes((4, 5, 13), nn.BatchNorm1d(5)) == Axes(1, 2)
    assert axes((7, 4, 3), nn.LSTM(2, 3)) == Axes(2, 0)
    assert axes((4, 7, 3), nn.LSTM(2, 3, batch_first=True), is_input=True) == Axes(2, 1)


def test_dead_channels_of_a_convolution():
    model = nn.Sequential(nn.Conv1d(2, 5, 3), nn.ReLU(), nn.Conv1d(5, 1, 1))
    model[0].weight.data.zero_()
    model[0].bias.data.copy_(torch.tensor([1.0, -1.0, 1.0, -1.0, 1.0]))
    with cut.flow(model) as flow:
        model(torch.randn(3, 2, 8)).sum().backward()
    assert flow["1"].dead_units == (1, 3)
    assert len(flow.times("1").activation) == 6
