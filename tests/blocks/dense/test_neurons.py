"""Binary neurons: their values, their odds, and the gradients that they pass."""

import copy
import pickle

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from representative import slow_but

import cutaway as cut
from cutaway.blocks import (
    Constant,
    Dense,
    Linear,
    StochasticBinary,
    bernoulli,
    find_activation,
    linear,
    logistic,
    stochastic_binary,
    straight_through,
    threshold,
)


def test_threshold_by_hand():
    s = torch.tensor([-3.0, -1e-30, -0.0, 0.0, 1e-30, 7.0])
    assert torch.equal(threshold(s), torch.tensor([0.0, 0.0, 1.0, 1.0, 1.0, 1.0]))
    assert threshold(-1).item() == 0
    assert threshold(0).item() == 1


def test_threshold_passes_the_gradient_of_the_identity():
    s = torch.randn(5, 3, requires_grad=True)
    delta = torch.randn(5, 3)
    threshold(s).backward(delta)
    assert torch.equal(s.grad, delta)
    assert torch.equal(threshold.derivative(s), torch.ones(5, 3))


def test_a_threshold_unit_learns_through_its_gradient():
    """AND of two inputs, by gradient descent on the squared loss: without straight-through nothing would move."""
    x = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    y = torch.tensor([[0.0], [0.0], [0.0], [1.0]])
    layer = Dense(2, 1, threshold)
    with torch.no_grad():
        layer.linear.weight.fill_(0.1)
        layer.linear.bias.fill_(0.0)
    assert not torch.equal(layer(x), y)
    descent = torch.optim.SGD(layer.parameters(), lr=0.1)
    for _ in range(100):
        descent.zero_grad()
        ((layer(x) - y) ** 2).mean().backward()
        descent.step()
    assert torch.equal(layer(x), y)


@given(st.lists(st.floats(width=32, allow_nan=False), min_size=1, max_size=5))
def test_threshold_is_zero_or_one_for_any_number(numbers: list[float]):
    """Infinite ones and the largest included, exactly."""
    s = torch.tensor(numbers, requires_grad=True)
    y = threshold(s)
    assert y.tolist() == [float(number >= 0) for number in numbers]
    y.sum().backward()
    assert s.grad.tolist() == [float(abs(number) != float("inf")) for number in numbers]


def test_not_a_number_stays_visible():
    assert threshold(torch.tensor(float("nan"))).isnan()
    assert stochastic_binary(torch.tensor(float("nan"))).isnan()


def test_rounding_the_logistic_unit_is_the_threshold_unit():
    """N3 §2.4.5; at s = 0 the logistic is ½ and rounding leaves it open."""
    s = torch.randn(1000)
    assert torch.equal(logistic(s).round(), threshold(s))


def test_scaled_logistic_sharpens_to_the_threshold():
    """N3 §2.4.5: |σ(cs) − 𝟙(s ≥ 0)| = σ(−c|s|) ≤ exp(−c|s|) for s ≠ 0."""
    s = torch.tensor([-2.0, -0.5, -0.1, 0.1, 0.5, 2.0], dtype=torch.float64)
    for c in (1, 10, 100, 1000):
        assert bool(((logistic(c * s) - threshold(s)).abs() <= torch.exp(-c * s.abs()) + 1e-15).all())


# ---------------------------------------------------------------------------------------------------------------------


def test_spikes_as_often_as_the_logistic_says():
    """The share of 1s in n draws lies within 5 standard deviations √(p(1−p)/n) of p."""
    n = 40_000
    for s in (-3.0, -0.5, 0.0, 1.0, 4.0):
        y = stochastic_binary(torch.full((n,), s))
        assert bool(((y == 0) | (y == 1)).all())
        p = logistic(s).item()
        assert abs(y.mean().item() - p) < 5 * (p * (1 - p) / n) ** 0.5


def test_passes_the_gradient_of_the_mean():
    s = torch.randn(5, 3, dtype=torch.float64, requires_grad=True)
    delta = torch.randn(5, 3, dtype=torch.float64)
    stochastic_binary(s).backward(delta)
    torch.testing.assert_close(s.grad, logistic.derivative(s) * delta)
    torch.testing.assert_close(stochastic_binary.derivative(s), logistic.derivative(s))


def test_gradient_of_a_linear_readout_is_unbiased():
    """E[aᵀy] = aᵀσ(s), so there straight-through is exact whatever was drawn."""
    a = torch.randn(7, dtype=torch.float64)
    s = torch.randn(7, dtype=torch.float64, requires_grad=True)
    (exact,) = torch.autograd.grad(a @ torch.sigmoid(s), s)
    for _ in range(3):
        torch.testing.assert_close(torch.autograd.grad(a @ stochastic_binary(s), s)[0], exact)


@pytest.mark.parametrize("draw", [stochastic_binary, StochasticBinary(), StochasticBinary().eval()])
def test_generator(draw):
    """A generator repeats the draw and leaves the global state alone; without one the global seed decides."""
    s = torch.randn(1000)
    before = torch.get_rng_state()
    one, two = (draw(s, torch.Generator().manual_seed(3)) for _ in range(2))
    assert torch.equal(one, two)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(5)
    three, four = draw(s), draw(s)
    torch.manual_seed(5)
    assert torch.equal(draw(s), three)
    assert not torch.equal(three, four)


def test_one_seed_gives_one_outcome_in_every_dtype():
    s = torch.randn(1000)
    draws = [stochastic_binary(s.to(d), torch.Generator().manual_seed(0)) for d in (torch.float32, torch.float64)]
    assert torch.equal(draws[0].double(), draws[1])


def test_sure_things():
    assert torch.equal(bernoulli(torch.tensor([0.0, 1.0]).repeat(1000)), torch.tensor([0.0, 1.0]).repeat(1000))
    assert torch.equal(
        stochastic_binary(torch.tensor([-1e4, 1e4, -torch.inf, torch.inf])), torch.tensor([0.0, 1, 0, 1])
    )


def test_taps_hold_probability_and_spike():
    layer, s = StochasticBinary(), torch.randn(5, 3)
    with cut.trace(layer, "probability", "spike") as seen:
        y = layer(s)
    assert torch.equal(seen["probability"], torch.sigmoid(s))
    assert torch.equal(seen["spike"], y)
    with cut.patch(layer, {"probability": 1.0}):
        assert torch.equal(layer(s), torch.ones(5, 3))


def test_are_activations():
    """They are values like the others: found by name, copied, drawn."""
    for neuron in (threshold, stochastic_binary):
        assert find_activation(str(neuron)) is neuron
        assert pickle.loads(pickle.dumps(neuron)) == copy.deepcopy(neuron) == neuron
    assert "threshold′(x) = 1, straight through" in threshold.to_svg()
    assert stochastic_binary.to_svg() == stochastic_binary.to_svg()  # its mean, not a draw
    assert "mean, the probability of a spike: σ(x)" in stochastic_binary.to_svg()


# ---------------------------------------------------------------------------------------------------------------------


def test_straight_through_has_one_value_and_another_gradient(float64):
    s = torch.tensor([0.3, -1.2], requires_grad=True)
    y = straight_through(s.detach().round(), s**2)
    assert torch.equal(y, torch.tensor([0.0, -1.0]))
    y.sum().backward()
    assert torch.equal(s.grad, 2 * s)


def test_constant():
    c = Constant(2.5)
    assert c().item() == 2.5
    assert list(c.parameters()) == []
    assert repr(c).startswith("Constant(\n  2.5")
    assert next(Constant(1, learned=True).parameters()).item() == 1
    start = torch.ones(3)
    learned = Constant(start, learned=True)
    start += 1  # its own copy
    assert torch.equal(learned(), torch.ones(3))
    assert "shape=(3,), learned" in repr(learned)
    with cut.patch(c, {"output": 7.0}):
        assert c().item() == 7
    with torch.device("meta"):
        assert Constant(1.0, learned=True).value.is_meta


def test_constant_moves_and_saves_with_its_model():
    model = torch.nn.ModuleDict({"one": Constant(1.0), "b": Constant(torch.zeros(2), learned=True)})
    assert set(model.state_dict()) == {"one.value", "b.value"}
    assert model.double()["one"]().dtype == torch.float64


def test_a_bias_is_a_learned_constant(float64):
    x, layer = torch.randn(5, 3), Linear(3, 7)
    b = Constant(layer.bias, learned=True)
    torch.testing.assert_close(linear(x, layer.weight) + b(), layer(x))


@pytest.mark.untyped
@pytest.mark.parametrize("dynamic", slow_but("any shape", {"one shape": False, "any shape": True}))
def test_compiled_gradients_are_straight_through_too(dynamic: bool):
    torch._dynamo.reset()
    s = torch.randn(5, 3)
    for neuron in (threshold, stochastic_binary, StochasticBinary()):
        slopes = []
        for f in (neuron, torch.compile(neuron, fullgraph=True, dynamic=dynamic, backend="aot_eager")):
            torch.manual_seed(0)
            leaf = s.clone().requires_grad_()
            y = f(leaf)
            (slope,) = torch.autograd.grad((y * torch.arange(3.0)).sum(), leaf)
            slopes.append(torch.stack([y.detach(), slope]))
        assert torch.equal(slopes[0][0], slopes[1][0])
        torch.testing.assert_close(slopes[0], slopes[1])


@pytest.mark.untyped
def test_bad_input():
    whole = torch.tensor([1, 2])
    with pytest.raises(ValueError, match=r"x must be a float tensor, got torch.int64"):
        threshold(whole)
    with pytest.raises(ValueError, match=r"s must be a float tensor, got torch.int64"):
        StochasticBinary()(whole)
    with pytest.raises(ValueError, match=r"value must be a float tensor, got torch.int64; convert it with value.float"):
        Constant(whole)
