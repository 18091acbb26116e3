"""Exact networks of piecewise linear functions, and approximations that keep their promise."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import cutaway as cut
from cutaway.blocks import Dense, Linear, approximate, relu_network


def reference(knots: np.ndarray, values: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Interpolation inside by numpy, and the outer segments extended."""
    left, right = np.diff(values)[[0, -1]] / np.diff(knots)[[0, -1]]
    inside = np.interp(x, knots, values)
    inside = np.where(x < knots[0], values[0] + left * (x - knots[0]), inside)
    return np.where(x > knots[-1], values[-1] + right * (x - knots[-1]), inside)


def test_weights_by_hand():
    # slopes 2 and −2, so c₀ = 1 and one kink of −4 at 1
    network = relu_network([0.0, 1.0, 3.0], [1.0, 3.0, -1.0])
    assert network.hidden.linear.weight.tolist() == [[2.0, -2.0, 1.0]]
    assert network.hidden.linear.bias.tolist() == [1.0, -1.0, -1.0]
    assert network.output.weight.flatten().tolist() == [1.0, -1.0, -4.0]
    assert network.output.bias.tolist() == [0.0]
    x = torch.tensor([-2.0, 0.0, 0.5, 1.0, 2.0, 3.0, 5.0])
    assert network(x[:, None]).flatten().tolist() == [-3.0, 1.0, 2.0, 3.0, 1.0, -1.0, -5.0]


def test_is_a_plain_module_of_our_layers():
    network = relu_network(torch.linspace(0, 1, 11), torch.rand(11))
    assert [type(layer) for layer in network] == [Dense, Linear]
    assert network.hidden.linear.outputs == 11 - 2 + 2  # interior knots, and two for the first segment
    x = torch.rand(7, 1)
    with cut.trace(network, "hidden.output") as seen:
        y = network(x)
    assert torch.equal(network.output(seen["hidden.output"]), y)
    network(x).sum().backward()
    assert network.output.weight.grad is not None


def test_two_knots_make_an_affine_map(float64):
    x = torch.randn(13, 1) * 10
    torch.testing.assert_close(relu_network([1.0, 3.0], [5.0, -1.0])(x), 8 - 3 * x)


numbers = st.floats(-10, 10).map(lambda x: round(x, 2))


@settings(max_examples=60)
@given(st.lists(numbers, min_size=2, max_size=12, unique=True), st.randoms())
def test_same_as_interpolation(knots, random):
    knots = np.array(sorted(knots))
    values = np.array([random.uniform(-5, 5) for _ in knots])
    x = np.concatenate([knots, np.linspace(-15, 15, 101)])
    y = relu_network(torch.from_numpy(knots), torch.from_numpy(values))(torch.from_numpy(x)[:, None])
    # slopes are at most 10/0.01 and x − t at most 25, in at most 12 terms
    np.testing.assert_allclose(y.detach().numpy()[:, 0], reference(knots, values, x), atol=1e-9)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_keeps_dtype_and_random_state(dtype):
    before = torch.get_rng_state()
    network = relu_network(torch.tensor([0, 1, 2], dtype=dtype), torch.tensor([0, 1, 0], dtype=dtype))
    assert {parameter.dtype for parameter in network.parameters()} == {dtype}
    assert torch.equal(torch.get_rng_state(), before)
    assert relu_network([0, 1, 2], [0, 1, 0])(torch.tensor([1.5])).item() == 0.5


def test_collinear_knots_keep_their_unit():
    network = relu_network([0.0, 1.0, 2.0], [0.0, 1.0, 2.0])
    assert network.output.weight.flatten().tolist() == [1.0, -1.0, 0.0]


def test_messages_of_knots():
    with pytest.raises(ValueError, match=r"strictly increasing, got 2 before 1.5 at position 1; sort them"):
        relu_network([0.0, 2.0, 1.5], [0.0, 1.0, 2.0])
    with pytest.raises(ValueError, match=r"strictly increasing, got 1 before 1 at position 0"):
        relu_network([1.0, 1.0], [0.0, 1.0])
    with pytest.raises(ValueError, match=r"at least 2, got shapes \(1,\) and \(1,\); give each knot its value"):
        relu_network([1.0], [0.0])
    with pytest.raises(ValueError, match=r"of one length, at least 2, got shapes \(3,\) and \(2,\)"):
        relu_network([0.0, 1.0, 2.0], [0.0, 1.0])
    with pytest.raises(ValueError, match=r"must be finite, got an infinite one or NaN; leave such points out"):
        relu_network([0.0, 1.0], [0.0, math.inf])


def sup_error(function, network: nn.Module, low: float, high: float) -> float:
    x = torch.linspace(low, high, 20_001)
    return (function(x) - network(x[:, None])[:, 0]).abs().max().item()


FUNCTIONS = {
    "parabola": (torch.square, -1.0, 2.0, {"curvature": 2.0}),
    "sine": (torch.sin, 0.0, 7.0, {"curvature": 1.0}),
    "exponential": (torch.exp, -1.0, 1.0, {"curvature": math.e}),
    "sine, by its slope": (torch.sin, 0.0, 7.0, {"lipschitz": 1.0}),
    "kinked": (lambda x: (x - 1 / 3).abs(), -1.0, 1.0, {"lipschitz": 1.0}),
    "rough": (lambda x: sum(torch.sin(4**k * x) / 4**k for k in range(6)), -1.0, 1.0, {"lipschitz": 6.0}),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("error", [0.3, 0.01])
def test_the_bound_holds(float64, name, error):
    function, low, high, known = FUNCTIONS[name]
    network, bound, knots = approximate(function, low, high, error=error, **known)
    assert bound <= error
    assert sup_error(function, network, low, high) <= bound + 1e-12
    assert (knots[0].item(), knots[-1].item()) == (low, high)
    if len(knots) > 2:  # and no knot is wasted: with one fewer, the theorem promises less than was asked for
        assert approximate(function, low, high, knots=len(knots) - 1, **known).bound > error


def test_the_bounds_are_attained(float64):
    # (x − a)(b − x) is greatest in the middle, h²/4 = 2 h²/8
    network, bound, _ = approximate(torch.square, 0.0, 3.0, knots=7, curvature=2.0)
    assert bound == pytest.approx(0.5**2 / 4, rel=1e-12)
    x = torch.linspace(0, 3, 7)[:-1] + 0.25
    torch.testing.assert_close(network(x[:, None])[:, 0] - x**2, torch.full((6,), bound))
    # a hat of slope 1 on one segment, interpolated by zero
    network, bound, _ = approximate(lambda x: 1 - (x - 1).abs(), 0.0, 2.0, knots=2, lipschitz=1.0)
    assert bound == 1.0
    assert network(torch.tensor([1.0])).item() == 0.0


def test_the_better_of_two_bounds_is_taken(float64):
    both = dict(lipschitz=1.0, curvature=1.0)
    coarse, fine = (
        approximate(torch.sin, 0.0, 8.0, knots=2, **both),
        approximate(torch.sin, 0.0, 8.0, knots=101, **both),
    )
    assert coarse.bound == 8 / 2
    assert fine.bound == pytest.approx(0.08**2 / 8)
    assert len(approximate(torch.sin, 0.0, 8.0, error=1e-4, **both).knots) == 1 + math.ceil(8 / math.sqrt(8e-4))


def test_a_straight_line_needs_two_knots(float64):
    network, bound, knots = approximate(lambda x: 3 * x - 1, 0.0, 5.0, error=1e-3, curvature=0.0)
    assert (bound, len(knots)) == (0.0, 2)
    assert sup_error(lambda x: 3 * x - 1, network, 0.0, 5.0) < 1e-13


def test_single_precision_adds_rounding_only():
    network, bound, _ = approximate(torch.sin, 0.0, 6.0, error=1e-3, curvature=1.0)
    assert network.output.weight.dtype == torch.float32
    assert sup_error(torch.sin, network, 0.0, 6.0) <= bound + 1e-5


def test_more_units_are_better_by_the_square(float64):
    errors = [
        sup_error(torch.exp, approximate(torch.exp, 0.0, 1.0, knots=n, curvature=3.0)[0], 0, 1) for n in (11, 21, 41)
    ]
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.1)
    assert errors[1] / errors[2] == pytest.approx(4, rel=0.1)


def test_messages_of_approximate():
    ask = dict(error=0.1, curvature=1.0)
    with pytest.raises(ValueError, match=r"low must be below high, both finite, got low=1.0, high=0.0; swap or change"):
        approximate(torch.sin, 1.0, 0.0, **ask)
    with pytest.raises(ValueError, match=r"one of error and knots must be given, got error=0.1, knots=5; drop or add"):
        approximate(torch.sin, 0.0, 1.0, knots=5, **ask)
    with pytest.raises(ValueError, match=r"got error=None, knots=None"):
        approximate(torch.sin, 0.0, 1.0, curvature=1.0)
    with pytest.raises(ValueError, match=r"a bound needs lipschitz or curvature, got neither; give the largest"):
        approximate(torch.sin, 0.0, 1.0, error=0.1)
    for wrong in (-1.0, math.inf, math.nan):
        with pytest.raises(ValueError, match=rf"must be 0 or more and finite, got {wrong}; take the largest"):
            approximate(torch.sin, 0.0, 1.0, error=0.1, lipschitz=wrong)
    with pytest.raises(ValueError, match=r"error must be above 0, got 0.0; try error=1"):
        approximate(torch.sin, 0.0, 1.0, error=0.0, curvature=1.0)
    with pytest.raises(ValueError, match=r"knots must be at least 2, the two ends, got 1; try knots=2"):
        approximate(torch.sin, 0.0, 1.0, knots=1, curvature=1.0)
    with pytest.raises(ValueError, match=r"one number for each x, got \(\) for x of shape \(5,\); apply it entry by"):
        approximate(torch.sum, 0.0, 1.0, knots=5, curvature=1.0)
