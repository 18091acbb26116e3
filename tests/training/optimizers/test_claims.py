"""What N0 §1.5 and N3 §3.4 claim of gradient descent, as laws. Where it can be, by counting all batches: exact."""

import itertools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cutaway.training import Schedule, descend, gradient_step, growing_batch, momentum_step, nesterov_step

# N0, Theorem 1.11: C(θ_t) − min C ≤ ‖θ₀ − θ*‖² / (2ηt) for convex C with gradient Lipschitz L and η < 1/L -----------


def squares(A, b):
    """½ ‖A θ − b‖², L = λ_max(AᵀA)."""
    return lambda theta: (A @ theta - b).square().sum() / 2


def log_cosh(A, b):
    """Σ log cosh(A θ − b): nearly straight far away. Its second derivative is at most 1: the same L."""
    return lambda theta: _log_cosh(A @ theta - b).sum()


def _log_cosh(r):
    return torch.logaddexp(r, -r) - math.log(2)


def problem(seed, rank=4):
    """A random A and θ*, with b = A θ*, so that the least cost is 0; with rank < 4 some directions are flat."""
    draw = torch.Generator().manual_seed(seed)
    A, start, best = (torch.randn(*s, generator=draw, dtype=torch.float64) for s in ((6, 4), (4,), (4,)))
    A[:, rank:] = 0
    return A, 5 * start, best


@pytest.mark.parametrize("make", [squares, log_cosh])
@given(seed=st.integers(0, 1000), share=st.floats(0.01, 0.999), rank=st.integers(1, 4))
@settings(max_examples=20)
def test_gradient_descent_stays_under_its_bound(make, seed, share, rank):
    A, start, best = problem(seed, rank)
    cost = make(A, A @ best)
    rate = share / torch.linalg.matrix_norm(A, 2).item() ** 2
    way = descend(cost, start, gradient_step, 60, rate=rate)
    t = torch.arange(1, 61)
    costs = torch.stack([cost(theta) for theta in way])
    assert (costs[1:] <= (start - best).square().sum() / (2 * rate * t) + 1e-12).all()
    assert (costs.diff() <= 1e-12).all()  # and it only goes down


def test_beyond_two_over_the_curvature_there_is_no_bound():
    A, start, best = problem(0)
    curvature = torch.linalg.matrix_norm(A, 2).item() ** 2
    cost = squares(A, A @ best)
    way = descend(cost, start, gradient_step, 60, rate=2.1 / curvature)
    assert cost(way[-1]) > (start - best).square().sum() / (2 * 2.1 / curvature * 60)
    assert cost(way[-1]) > cost(way[0])


# N3 §3.4.4: the speed of momentum grows up to 1/(1 − γ) of a gradient step ------------------------------------------


@pytest.mark.parametrize("rule", [momentum_step, nesterov_step])
@given(momentum=st.floats(0, 0.99), rate=st.floats(1e-3, 10))
@settings(max_examples=20)
def test_a_constant_gradient_is_sped_up_by_one_over_one_minus_momentum(rule, momentum, rate):
    """‖v_t‖ = ε ‖g‖ (1 − γ^t)/(1 − γ): rising, towards ε/(1 − γ), the effective rate."""
    g = torch.tensor([3.0, -4.0], dtype=torch.float64)
    way = descend(lambda x: x @ g, torch.zeros(2, dtype=torch.float64), rule, 50, rate=rate, momentum=momentum)
    speed = way.diff(dim=0).norm(dim=1) / (rate * 5)  # in gradient steps
    t = torch.arange(1, 51, dtype=torch.float64)
    torch.testing.assert_close(speed, (1 - momentum**t) / (1 - momentum), rtol=1e-7, atol=1e-7)


def test_the_whole_speed_up_is_reached():
    g = torch.tensor([1.0], dtype=torch.float64)
    way = descend(lambda x: x @ g, torch.zeros(1, dtype=torch.float64), momentum_step, 400, rate=0.1, momentum=0.9)
    assert (way[-2] - way[-1]).item() == pytest.approx(0.1 / (1 - 0.9))


@given(momentum=st.floats(0, 0.95), seed=st.integers(0, 1000))
@settings(max_examples=20)
def test_no_gradients_are_sped_up_by_more(momentum, seed):
    """Whatever gradients come, none longer than 1, the speed stays below ε/(1 − γ)."""
    draw = torch.Generator().manual_seed(seed)
    g = torch.nn.functional.normalize(torch.randn(50, 3, generator=draw, dtype=torch.float64), dim=1)
    gradients = iter(g)
    start = torch.zeros(3, dtype=torch.float64)
    way = descend(lambda x: x @ next(gradients), start, momentum_step, 50, rate=0.1, momentum=momentum)
    assert (way.diff(dim=0).norm(dim=1) <= 0.1 / (1 - momentum) + 1e-12).all()


# N3 §3.4.2: the gradient of a batch, counted over all batches --------------------------------------------------------

EXAMPLES = 4


def gradients(theta):
    """∇L_i of a small logistic regression, one row for each example."""
    draw = torch.Generator().manual_seed(1)
    x = torch.randn(EXAMPLES, 3, generator=draw, dtype=torch.float64)
    y = torch.tensor([1.0, 0.0, 0.0, 1.0], dtype=torch.float64)
    return (torch.sigmoid(x @ theta) - y)[:, None] * x


def all_batches(each, size, loss="mean", replace=True):
    """The gradient of every batch of that size there is, all of them equally likely."""
    draws = itertools.product(range(len(each)), repeat=size)
    if not replace:
        draws = itertools.permutations(range(len(each)), size)
    batches = each[torch.tensor(list(draws))]
    return batches.mean(1) if loss == "mean" else batches.sum(1)


def variance(g):
    """var[g] = E ‖g − E g‖²."""
    return (g - g.mean(0)).square().sum(1).mean()


THETA = torch.tensor([0.3, -0.2, 0.5], dtype=torch.float64)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_a_batch_has_the_gradient_in_expectation_and_one_over_its_size_of_the_variance(size):
    each = gradients(THETA)
    g = all_batches(each, size)
    assert len(g) == EXAMPLES**size
    torch.testing.assert_close(g.mean(0), each.mean(0))
    torch.testing.assert_close(variance(g), variance(each) / size)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_drawn_without_putting_back_the_variance_is_smaller_still(size):
    """The claim is for independent draws. Within an epoch: times (N − B)/(N − 1), none left for the whole data."""
    each = gradients(THETA)
    g = all_batches(each, size, replace=False)
    torch.testing.assert_close(g.mean(0), each.mean(0))
    torch.testing.assert_close(variance(g), variance(each) / size * (EXAMPLES - size) / (EXAMPLES - 1))


# N3 §3.4.3: the table ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loss", "step", "batch", "length", "spread"),
    [
        ("mean", 2, 1, 2, 1),
        ("mean", 1, 2, 1, 1 / 2),
        ("mean", 2, 1 / 2, 2, 2),
        ("sum", 2, 1, 2, 1),
        ("sum", 1, 2, 2, 2),
        ("sum", 2, 1 / 2, 1, 1 / 2),
    ],
)
def test_the_table_of_step_length_and_variance(loss, step, batch, length, spread):
    """L = ‖ε E[g]‖ and V = var[g], both against a step of 0.1 and a batch of 2: all twelve cells."""
    each = gradients(THETA)

    def measure(rate, size):
        g = all_batches(each, size, loss)
        return (rate * g.mean(0)).norm(), variance(g)

    (L, V), (L0, V0) = measure(0.1 * step, int(2 * batch)), measure(0.1, 2)
    torch.testing.assert_close(L, length * L0)
    torch.testing.assert_close(V, spread * V0)


# N3 §3.4.3: raising the batch size does what decaying the rate does, in fewer updates ----------------------------


def spread_after(rates, batches, curvature=1.0, noise=1.0, start=4.0):
    """E[θ²] of SGD on ½ λ θ² with gradient noise of variance σ²/B: E[θ²] ← (1 − ελ)² E[θ²] + ε² σ²/B, exactly."""
    for rate, batch in zip(rates, batches, strict=True):
        start = (1 - rate * curvature) ** 2 * start + rate**2 * noise / batch
    return start


def test_a_growing_batch_is_a_falling_rate_in_fewer_updates():
    """As many examples in each stage: rate halved twice at a batch of 8, or batch doubled twice at the full rate."""
    falling = Schedule(2100, "step", factor=0.5)  # three stages of 700
    decayed = spread_after([0.02 * falling(t) for t in range(2100)], [8] * 2100)
    stages = [(700, 8), (350, 16), (175, 32)]
    grown = [size for steps, size in stages for _ in range(steps)]
    assert sum(grown) == 8 * 2100
    assert len(grown) == 1225
    assert spread_after([0.02] * 1225, grown) == pytest.approx(decayed, rel=0.02)
    assert spread_after([0.02] * 2100, [8] * 2100) > 3.9 * decayed  # neither: the noise stays
    # our schedule doubles by updates, not by examples: it ends at the same noise
    batch = growing_batch(8, 32, 1225)
    assert spread_after([0.02] * 1225, [batch(t) for t in range(1225)]) == pytest.approx(decayed, rel=0.02)
