"""What the notes say about depth (N3 §3.6–3.8), measured: what norms ignore, what weights and residuals keep."""

import pytest
import torch
from torch import Tensor, nn

from cutaway.blocks import (
    BatchNorm,
    Dense,
    LayerNorm,
    Linear,
    Residual,
    initialise,
    logistic,
    normal_,
    orthogonal_,
    relu,
    tanh,
    weight_norm,
)

# --- N3 §3.7.5, the table of invariances (Ba, Kiros, Hinton 2016, table 1) -------------------------------------------
# A layer φ(γ ⊙ norm(x W) + β) with ε = 0, and what is done to W (inputs, units) or to the data x (cases, inputs).

CASES, INPUTS, UNITS, FACTOR = 11, 5, 7, 3.0


def rescale_matrix(x: Tensor, W: Tensor) -> tuple[Tensor, Tensor]:
    return x, FACTOR * W


def recentre_matrix(x: Tensor, W: Tensor) -> tuple[Tensor, Tensor]:
    return x, W + torch.randn(INPUTS, 1)  # the same vector is added to the weights of every unit


def rescale_vector(x: Tensor, W: Tensor) -> tuple[Tensor, Tensor]:
    W = W.clone()
    W[:, 2] *= FACTOR  # the weights of one unit
    return x, W


def rescale_data(x: Tensor, W: Tensor) -> tuple[Tensor, Tensor]:
    return FACTOR * x, W


def recentre_data(x: Tensor, W: Tensor) -> tuple[Tensor, Tensor]:
    return x + torch.randn(INPUTS), W  # the same vector is added to every case


def rescale_case(x: Tensor, W: Tensor) -> tuple[Tensor, Tensor]:
    x = x.clone()
    x[4] *= FACTOR  # one case
    return x, W


def batch_normed(x: Tensor, W: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
    norm = BatchNorm(UNITS, epsilon=0.0)
    norm.weight.data, norm.bias.data = gain, bias
    return norm(x @ W)


def layer_normed(x: Tensor, W: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
    norm = LayerNorm(UNITS, epsilon=0.0)
    norm.weight.data, norm.bias.data = gain, bias
    return norm(x @ W)


def weight_normed(x: Tensor, W: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
    return x @ weight_norm(W, gain) + bias


CHANGES = [rescale_matrix, recentre_matrix, rescale_vector, rescale_data, recentre_data, rescale_case]
TABLE = {  # yes: invariant
    batch_normed: "yes no yes yes yes no",
    weight_normed: "yes no yes no no no",
    layer_normed: "yes yes no yes no yes",
}
CELLS = [(layer, change, word) for layer, row in TABLE.items() for change, word in zip(CHANGES, row.split())]


@pytest.mark.parametrize(
    ("layer", "change", "invariant"), CELLS, ids=[f"{layer.__name__}-{change.__name__}" for layer, change, _ in CELLS]
)
def test_invariances(layer, change, invariant, float64):
    x, W = torch.randn(CASES, INPUTS), torch.randn(INPUTS, UNITS)
    gain, bias = torch.rand(UNITS) + 0.5, torch.randn(UNITS)
    before = torch.tanh(layer(x, W, gain, bias))
    after = torch.tanh(layer(*change(x, W), gain, bias))
    difference = (after - before).abs().max().item()
    # in float64 what is equal is equal to about 1e-15, and what is not differs by the size of the values
    assert difference < 1e-12 if invariant == "yes" else difference > 0.05


# --- N3 §3.8, initial weights ----------------------------------------------------------------------------------------

DEPTH, WIDTH = 50, 256


def deep(activation, initialiser) -> nn.Sequential:
    """50 dense layers of one width, drawn by ``initialiser``, without biases."""
    net = nn.Sequential(*[Dense(WIDTH, WIDTH, activation, bias=False) for _ in range(DEPTH)])
    initialise(net, initialiser)
    return net


def growth(net: nn.Module) -> tuple[float, float]:
    """By which factor the mean square of the values grows on the way up, and that of the gradients on the way down."""
    x = torch.randn(64, WIDTH, requires_grad=True)
    y = net(x)
    delta = torch.randn_like(y)
    slope = torch.autograd.grad(y, x, delta)[0]
    return (y.square().mean() / x.square().mean()).item(), (slope.square().mean() / delta.square().mean()).item()


@pytest.mark.parametrize(
    ("activation", "initialiser", "log_deviation"),
    # One random layer changes the logarithm of the mean square by about √(2/n) for a linear layer, √(5/n) for a
    # rectifier (Hanin, Nica 2020), so 50 of them by √(100/n) and √(250/n).
    [
        (None, "fan_in", (100 / WIDTH) ** 0.5),
        (None, "xavier_normal", (100 / WIDTH) ** 0.5),
        (None, "xavier_uniform", (100 / WIDTH) ** 0.5),
        (relu, "kaiming_normal", (250 / WIDTH) ** 0.5),
    ],
)
def test_the_right_start_keeps_variances_over_50_layers(activation, initialiser, log_deviation, float64):
    for factor in growth(deep(activation, initialiser)):
        assert abs(torch.tensor(factor).log().item()) < 4 * log_deviation


def test_an_orthogonal_start_keeps_them_exactly(float64):
    forwards, backwards = growth(deep(None, "orthogonal"))
    assert forwards == pytest.approx(1, abs=1e-12)
    assert backwards == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(
    ("activation", "std", "factor"),
    # each layer multiplies the mean square by std² · width, and a rectifier halves it
    [
        (None, 0.02, 0.02**2 * WIDTH),
        (None, 1.0, WIDTH),
        (relu, WIDTH**-0.5, 0.5),
    ],
    ids=["dies out", "blows up", "1/fan in under a rectifier"],
)
def test_the_wrong_start_loses_them_exponentially(activation, std, factor, float64):
    log_expected = DEPTH * torch.tensor(factor).log().item()
    assert abs(log_expected) > 30  # a factor of 1e13 or more
    for found in growth(deep(activation, lambda w: normal_(w, std))):
        assert torch.tensor(found).log().item() == pytest.approx(log_expected, abs=4 * (250 / WIDTH) ** 0.5)


@pytest.mark.parametrize(
    ("initialiser", "forwards", "backwards"),
    # i = 800 inputs, o = 200 outputs, D = 500: variances times i·Var W on the way up, o·Var W on the way down
    [("fan_in", 1, 200 / 800), ("fan_out", 800 / 200, 1), ("xavier_normal", 800 / 500, 200 / 500)],
)
def test_forwards_and_backwards_ask_for_different_starts(initialiser, forwards, backwards, float64):
    layer = Linear(800, 200, bias=False)
    initialise(layer, initialiser)
    x, delta = torch.randn(500, 800), torch.randn(500, 200)
    assert (x @ layer.weight).var().item() == pytest.approx(forwards, rel=0.05)
    assert (delta @ layer.weight.T).var().item() == pytest.approx(backwards, rel=0.05)


def train(net: nn.Module, steps: int = 100) -> None:
    x = torch.randn(50, 3)
    y = torch.sin(x.sum(1, keepdim=True))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
    for _ in range(steps):
        optimizer.zero_grad()
        (net(x) - y).square().mean().backward()
        optimizer.step()


def logistic_net(start) -> nn.Sequential:
    net = nn.Sequential(Dense(3, 7, logistic), Dense(7, 5, logistic), Linear(5, 1))
    for p in net.parameters():
        nn.init.zeros_(p)
    if start is not None:
        initialise(net, start)
    return net


@pytest.mark.parametrize("start", [None, lambda w: w.fill_(0.3)], ids=["zeros", "a constant"])
def test_alike_units_stay_alike(start, float64):
    net = logistic_net(start)
    before = net[2].weight.detach().clone()
    train(net)
    for layer in (net[0].linear, net[1].linear):
        torch.testing.assert_close(layer.weight, layer.weight[:, :1].expand_as(layer.weight))
    assert (net[2].weight - before).abs().max() > 0.01  # it did learn, as a net of one unit a layer


def test_units_that_start_apart_stay_apart(float64):
    net = logistic_net("xavier_normal")
    train(net)
    assert net[0].linear.weight.std(dim=1).min() > 0.01


def test_with_zeros_a_tanh_net_learns_nothing_but_its_last_bias(float64):
    """δ = W δ′ = 0 on the way down, and the values are zero on the way up."""
    net = nn.Sequential(Dense(3, 7, tanh), Linear(7, 1))
    for p in net.parameters():
        nn.init.zeros_(p)
    train(net)
    assert [name for name, p in net.named_parameters() if p.abs().max() > 0] == ["1.bias"]


# --- N3 §3.6 and §3.7.2, vanishing gradients and residual connections ------------------------------------------------


def passing(net: nn.Module, x: Tensor) -> Tensor:
    """For each case, how much of the gradient's length arrives at the input."""
    x = x.clone().requires_grad_()
    y = net(x)
    delta = torch.randn_like(y)
    slope = torch.autograd.grad(y, x, delta)[0]
    return slope.norm(dim=1) / delta.norm(dim=1)


def stack(activation, depth: int, residual: bool = False) -> nn.Sequential:
    """Dense layers with orthogonal weights, which keep lengths: what is lost, the activation loses."""
    layers = [Dense(32, 32, activation, bias=False) for _ in range(depth)]
    for layer in layers:
        orthogonal_(layer.linear.weight)
    return nn.Sequential(*[Residual(layer) if residual else layer for layer in layers])


@pytest.mark.parametrize("depth", [1, 5, 20])
def test_each_logistic_layer_passes_at_most_a_quarter(depth, float64):
    found = passing(stack(logistic, depth), torch.randn(64, 32))
    assert found.max().item() <= 0.25**depth
    assert found.min().item() > 0


def test_tanh_passes_small_signals_and_starves_large_ones(float64):
    net = stack(tanh, 20)
    assert passing(net, 0.01 * torch.randn(64, 32)).min().item() > 0.95
    assert passing(net, 100 * torch.randn(64, 32)).median().item() < 0.05


@pytest.mark.parametrize("depth", [5, 50])
def test_residuals_keep_the_gradient(depth, float64):
    x = torch.randn(64, 32)
    plain, residual = passing(stack(logistic, depth), x), passing(stack(logistic, depth, residual=True), x)
    assert plain.max().item() <= 0.25**depth
    assert residual.min().item() > 0.1
    # I + J with ‖J‖ ≤ ¼: no layer can grow a gradient beyond 5/4 either
    assert residual.max().item() <= 1.25**depth
