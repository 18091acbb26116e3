"""Distances between distributions: by hand, by their laws, against SciPy, and without a NaN anywhere."""

import itertools
import math

import pytest
import scipy.spatial.distance
import scipy.special
import scipy.stats
import torch
from hypothesis import given
from hypothesis import strategies as st

from cutaway.blocks import (
    cross_entropy,
    cross_entropy_from_logits,
    entropy,
    entropy_from_logits,
    kl_divergence,
    kl_from_logits,
    lp_distance,
    total_variation,
)

inf = math.inf
TINY = 1e-12  # what rounding may do to a sum of a few float64 numbers of size 1 to 30


def normalised(weights: list[float]) -> torch.Tensor:
    p = torch.tensor(weights, dtype=torch.float64)
    return p / p.sum()


def distributions(count: int, zeros: bool = True):
    """``count`` distributions on the same 1 to 10 outcomes; with zeros among them, or all inside the simplex."""
    weight = st.floats(1e-6, 1) | st.just(0.0) if zeros else st.floats(1e-6, 1)
    one = lambda n: st.lists(weight, min_size=n, max_size=n).filter(any).map(normalised)
    return st.integers(1, 10).flatmap(lambda n: st.tuples(*[one(n)] * count))


orders = st.floats(1, 20) | st.just(inf)


def test_by_hand():
    p, q = torch.tensor([0.5, 0.5, 0.0]), torch.tensor([0.25, 0.25, 0.5])
    torch.testing.assert_close(lp_distance(p, q, 1), torch.tensor(1.0))
    torch.testing.assert_close(lp_distance(p, q, 2), torch.tensor(math.sqrt(1 / 16 + 1 / 16 + 1 / 4)))
    torch.testing.assert_close(lp_distance(p, q, inf), torch.tensor(0.5))
    torch.testing.assert_close(total_variation(p, q), torch.tensor(0.5))
    torch.testing.assert_close(entropy(p), torch.tensor(math.log(2)))
    torch.testing.assert_close(entropy(q), torch.tensor(1.5 * math.log(2)))
    torch.testing.assert_close(cross_entropy(p, q), torch.tensor(2 * math.log(2)))
    torch.testing.assert_close(kl_divergence(p, q), torch.tensor(math.log(2)))
    assert kl_divergence(q, p).item() == cross_entropy(q, p).item() == inf


def test_impossible_outcomes():
    """0·log 0 = 0·log(0/0) = 0, and +∞ only where q = 0 < p."""
    p = torch.tensor([[0.0, 1.0], [0.0, 1.0], [0.5, 0.5]])
    q = torch.tensor([[0.0, 1.0], [0.5, 0.5], [0.0, 1.0]])
    torch.testing.assert_close(kl_divergence(p, q), torch.tensor([0.0, math.log(2), inf]))
    torch.testing.assert_close(cross_entropy(p, q), torch.tensor([0.0, math.log(2), inf]))
    torch.testing.assert_close(entropy(p), torch.tensor([0.0, 0.0, math.log(2)]))


@given(distributions(2))
def test_same_as_scipy(pair):
    p, q = pair
    H, KL = scipy.stats.entropy(p.numpy()), scipy.special.rel_entr(p.numpy(), q.numpy()).sum()
    for ours, theirs in ((entropy(p), H), (kl_divergence(p, q), KL), (cross_entropy(p, q), H + KL)):
        assert ours.item() == pytest.approx(theirs, rel=TINY, abs=TINY)


@given(distributions(2), orders)
def test_lp_same_as_scipy(pair, order):
    p, q = pair
    theirs = scipy.spatial.distance.minkowski(p.numpy(), q.numpy(), order)
    assert lp_distance(p, q, order).item() == pytest.approx(theirs, rel=1e-9, abs=TINY)


@given(distributions(2))
def test_cross_entropy_is_entropy_plus_divergence(pair):
    p, q = pair
    assert cross_entropy(p, q).item() == pytest.approx((entropy(p) + kl_divergence(p, q)).item(), rel=TINY, abs=TINY)


@given(distributions(2))
def test_divergence_is_positive_between_different_distributions(pair):
    """Pinsker: KL ≥ 2 TV², so it is 0 only where they are equal."""
    p, q = pair
    assert kl_divergence(p, q).item() >= 2 * total_variation(p, q).item() ** 2 - TINY
    assert kl_divergence(p, p).item() == 0


@given(distributions(4), st.floats(0, 1))
def test_divergence_is_jointly_convex(four, t):
    """✎ N0 §1.4 writes Q for the last Q′."""
    p, q, p2, q2 = four
    mixed = kl_divergence(t * p + (1 - t) * p2, t * q + (1 - t) * q2).item()
    parts = [weight * kl_divergence(a, b).item() for weight, a, b in ((t, p, q), (1 - t, p2, q2)) if weight]
    assert mixed <= sum(parts) + TINY


def test_the_convexity_law_as_the_notes_print_it_fails():
    """For P = P′ = Q = (1, 0) and Q′ = (½, ½), it bounds KL(P ‖ (¾, ¼)) = log(4/3) by 0."""
    p = q = torch.tensor([1.0, 0.0])
    q2 = torch.tensor([0.5, 0.5])
    mixed = kl_divergence((p + p) / 2, (q + q2) / 2)
    assert mixed.item() == pytest.approx(math.log(4 / 3))
    assert (kl_divergence(p, q) + kl_divergence(p, q)).item() / 2 == 0


def test_divergence_is_no_metric():
    p, q = torch.tensor([0.5, 0.5]), torch.tensor([0.9, 0.1])
    assert kl_divergence(p, q).item() != pytest.approx(kl_divergence(q, p).item(), rel=0.1)


@given(distributions(3), orders)
def test_metric_axioms(three, order):
    p, q, r = three
    for d in (lambda x, y: lp_distance(x, y, order).item(), lambda x, y: total_variation(x, y).item()):
        assert d(p, p) == 0
        assert d(p, q) == d(q, p)
        assert d(p, q) > 0 or torch.equal(p, q)
        assert d(p, r) <= d(p, q) + d(q, r) + TINY


@given(distributions(2))
def test_total_variation_is_the_largest_difference_over_events(pair):
    p, q = pair
    events = torch.tensor(list(itertools.product((0.0, 1.0), repeat=len(p))), dtype=torch.float64)
    largest = (events @ (p - q)).abs().max().item()
    assert total_variation(p, q).item() == pytest.approx(largest, abs=TINY)
    assert total_variation(p, q).item() == pytest.approx(lp_distance(p, q, 1).item() / 2, abs=TINY)


@given(distributions(1, zeros=False), st.data())
def test_one_hot_gives_the_surprise(one, data):
    (q,) = one
    i = data.draw(st.integers(0, len(q) - 1))
    p = torch.eye(len(q), dtype=torch.float64)[i]
    assert cross_entropy(p, q).item() == kl_divergence(p, q).item() == pytest.approx(-math.log(q[i].item()), abs=TINY)


@given(distributions(1))
def test_entropy_is_largest_for_the_uniform_distribution(one):
    (p,) = one
    assert -TINY <= entropy(p).item() <= math.log(len(p)) + TINY


def test_from_logits_same_as_from_probabilities(float64):
    a, b = 3 * torch.randn(2, 2, 5, 7)
    p, q = a.softmax(-1), b.softmax(-1)
    torch.testing.assert_close(entropy_from_logits(a), entropy(p))
    torch.testing.assert_close(cross_entropy_from_logits(a, b), cross_entropy(p, q))
    torch.testing.assert_close(kl_from_logits(a, b), kl_divergence(p, q))
    for ours, slow in (
        (kl_from_logits, lambda a, b: kl_divergence(a.softmax(-1), b.softmax(-1))),
        (cross_entropy_from_logits, lambda a, b: cross_entropy(a.softmax(-1), b.softmax(-1))),
    ):
        slopes = [
            torch.autograd.grad(f(x, y).sum(), (x, y))
            for f in (ours, slow)
            for x, y in [(a.clone().requires_grad_(), b.clone().requires_grad_())]
        ]
        torch.testing.assert_close(slopes[0], slopes[1])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_logits_of_ten_thousand(dtype):
    """p = (1, 0) and q = (0, 1) to all digits, and yet log q_1 = −2·10⁴."""
    a = torch.tensor([1e4, -1e4], dtype=dtype, requires_grad=True)
    b = torch.tensor([-1e4, 1e4], dtype=dtype, requires_grad=True)
    assert kl_from_logits(a, b).item() == cross_entropy_from_logits(a, b).item() == 2e4
    assert entropy_from_logits(a).item() == 0
    slopes = torch.autograd.grad(kl_from_logits(a, b) + entropy_from_logits(a), (a, b))
    assert slopes[0].tolist() == [0, 0]
    assert slopes[1].tolist() == [-1, 1]  # q − p


def test_masked_logits():
    """A logit of −∞ rules an outcome out."""
    a, b = torch.tensor([0.0, 0.0, -inf]), torch.tensor([-inf, 0.0, 0.0])
    torch.testing.assert_close(entropy_from_logits(a), torch.tensor(math.log(2)))
    torch.testing.assert_close(kl_from_logits(a, a), torch.tensor(0.0))
    torch.testing.assert_close(cross_entropy_from_logits(a, a), torch.tensor(math.log(2)))
    assert kl_from_logits(a, b).item() == inf


def test_entropy_below_a_saturated_softmax():
    """exp(−1000) = 0: the slope of −p log p is infinite there, that of softmax 0, and their product goes to 0."""
    z = torch.tensor([1000.0, 0.0, 0.0], requires_grad=True)
    for value in (entropy(z.softmax(-1)), kl_divergence(z.softmax(-1), torch.tensor([0.5, 0.25, 0.25]))):
        (slope,) = torch.autograd.grad(value, z)
        assert slope.tolist() == [0, 0, 0]


def test_slopes_at_the_edge_of_the_simplex():
    """∂CE/∂p_i = −log q_i also at p_i = 0; only where a logarithm is infinite is there none."""
    p = torch.tensor([1.0, 0.0, 0.0], requires_grad=True)
    q = torch.tensor([0.5, 0.5, 0.0], requires_grad=True)
    by_p, by_q = torch.autograd.grad(cross_entropy(p, q), (p, q))
    torch.testing.assert_close(by_p, torch.tensor([math.log(2), math.log(2), 0.0]))
    torch.testing.assert_close(by_q, torch.tensor([-2.0, 0.0, 0.0]))


@pytest.mark.parametrize("order", [1, 1.5, 2, 3, 50, inf])
def test_high_orders_and_equal_distributions(order):
    p = (torch.tensor([3.0, 61.0]) / 64).requires_grad_()
    q = torch.tensor([2.0, 62.0]) / 64  # both differ by 1/64, and (1/64)⁵⁰ = 2⁻³⁰⁰ is no float32
    d = lp_distance(p, q, order)
    assert d.item() == pytest.approx(2 ** (1 / order) / 64, rel=1e-5)
    (slope,) = torch.autograd.grad(d, p)
    share = 2 ** (1 / order - 1)  # the two shares are equal, and (Euler) d = share·1/64 + share·1/64
    torch.testing.assert_close(slope, torch.tensor([share, -share]), rtol=1e-5, atol=0)
    (slope,) = torch.autograd.grad(lp_distance(p, p.detach(), order), p)
    assert slope.tolist() == [0, 0]


def test_order_below_one():
    with pytest.raises(ValueError, match=r"order must be at least 1, got 0.5; below 1 the triangle inequality fails"):
        lp_distance(torch.ones(2) / 2, torch.ones(2) / 2, 0.5)


def test_no_outcomes():
    with pytest.raises(
        ValueError, match=r"the last axis of p must hold at least one outcome, got shape \(3, 0\); give it"
    ):
        entropy(torch.ones(3, 0))


@pytest.mark.untyped
def test_wrong_shapes_and_dtypes():
    p = torch.ones(5, 2) / 2
    for function in (total_variation, kl_divergence, cross_entropy):
        with pytest.raises(ValueError, match=r"p and q must have one shape, got \(5, 2\) and \(2,\); reshape one"):
            function(p, p[0])
    with pytest.raises(ValueError, match=r"p_logits and q_logits must have one shape, got \(5, 2\) and \(2,\)"):
        kl_from_logits(p, p[0])
    with pytest.raises(ValueError, match=r"q must be a float tensor, got torch.int64; convert it with q.float\(\)"):
        kl_divergence(p, p.long())
    with pytest.raises(ValueError, match=r"the last axis of logits must hold at least one outcome, got shape \(\)"):
        entropy_from_logits(torch.tensor(1.0))
