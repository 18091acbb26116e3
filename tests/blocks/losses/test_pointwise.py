"""Losses by hand, against torch and scikit-learn, at the extremes, and what they say to bad input."""

import math

import pytest
import sklearn.metrics
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

from cutaway.blocks import (
    absolute_loss,
    cost,
    cross_entropy_loss,
    hinge_loss,
    kl_loss,
    log_loss,
    multiclass_hinge_loss,
    power_loss,
    squared_loss,
    zero_one_loss,
)

inf = math.inf


def test_regression_losses_by_hand():
    outputs, targets = torch.tensor([[1.0, 5.0], [0.0, 2.0]]), torch.tensor([[1.0, 2.0], [1.0, 0.0]])
    assert torch.equal(squared_loss(outputs, targets), torch.tensor([(0 + 9) / 2, (1 + 4) / 2]))
    assert torch.equal(absolute_loss(outputs, targets), torch.tensor([(0 + 3) / 2, (1 + 2) / 2]))
    assert torch.equal(power_loss(outputs, targets, 3), torch.tensor([(0 + 27) / 2, (1 + 8) / 2]))


def test_classification_losses_by_hand():
    """σ(log 3) = 3/4; softmax(0, log 2, 0) = (1/4, 1/2, 1/4)."""
    s = torch.tensor([[math.log(3)], [math.log(3)]])
    torch.testing.assert_close(log_loss(s, torch.tensor([[True], [False]])), torch.tensor([4 / 3, 4]).log())
    s = torch.tensor([[0.0, math.log(2), 0.0], [0.0, math.log(2), 0.0]])
    torch.testing.assert_close(cross_entropy_loss(s, torch.tensor([1, 2])), torch.tensor([2.0, 4.0]).log())
    # half of the mass is smoothed: y = (1/6, 4/6, 1/6), L = 2/6·log 4 + 4/6·log 2 = 8/6·log 2
    smooth = cross_entropy_loss(s[:1], torch.tensor([1]), label_smoothing=0.5)
    torch.testing.assert_close(smooth, torch.tensor([8 / 6 * math.log(2)]))
    # KL((1/2, 1/2, 0) ‖ (1/4, 1/2, 1/4)) = ½ log 2
    kl = kl_loss(s[:1], torch.tensor([[0.5, 0.5, 0.0]]))
    torch.testing.assert_close(kl, torch.tensor([0.5 * math.log(2)]))
    s = torch.tensor([[3.0, 2.5, -1.0], [0.0, 4.0, 1.0]])
    assert torch.equal(multiclass_hinge_loss(s, torch.tensor([0, 2])), torch.tensor([0.5, 4.0]))
    assert torch.equal(hinge_loss(s, s > 0), torch.tensor([(0 + 0 + 0) / 3, (1 + 0 + 0) / 3]))
    assert torch.equal(zero_one_loss(s, torch.tensor([0, 2])), torch.tensor([0.0, 1.0]))


def test_the_threshold_belongs_to_yes():
    """N3 §2.4.1: a threshold unit fires at s = 0."""
    s = torch.zeros(1, 1)
    assert zero_one_loss(s, torch.tensor([[True]])).item() == 0
    assert zero_one_loss(s, torch.tensor([[False]])).item() == 1


def test_same_as_torch(float64):
    y_hat, y = torch.randn(2, 5, 3), torch.randn(2, 5, 3)
    p = torch.rand(2, 5, 3)
    distribution = torch.randn(2, 5, 3).softmax(-1)
    classes = torch.randint(3, (2, 5))

    def entries(function, *tensors):
        return function(*tensors, reduction="none").mean(-1)

    torch.testing.assert_close(squared_loss(y_hat, y), entries(F.mse_loss, y_hat, y))
    torch.testing.assert_close(absolute_loss(y_hat, y), entries(F.l1_loss, y_hat, y))
    torch.testing.assert_close(log_loss(y_hat, p), entries(F.binary_cross_entropy_with_logits, y_hat, p))
    labels = p > 0.5
    torch.testing.assert_close(
        log_loss(y_hat, labels), entries(F.binary_cross_entropy_with_logits, y_hat, labels.double())
    )
    # torch wants classes on the second axis
    for smoothing in (0.0, 0.1, 1.0):
        for targets, theirs in ((classes, classes), (distribution, distribution.movedim(-1, 1))):
            expected = F.cross_entropy(y_hat.movedim(-1, 1), theirs, reduction="none", label_smoothing=smoothing)
            torch.testing.assert_close(cross_entropy_loss(y_hat, targets, smoothing), expected)
    expected = F.kl_div(y_hat.log_softmax(-1), distribution, reduction="none").sum(-1)
    torch.testing.assert_close(kl_loss(y_hat, distribution), expected)


def test_same_as_scikit_learn(float64):
    s, classes = torch.randn(53, 7), torch.randint(7, (53,))
    labels = torch.randn(53) > 0

    def ours(losses):
        return cost(losses).item()

    assert ours(squared_loss(s, s.flip(0))) == pytest.approx(
        sklearn.metrics.mean_squared_error(s, s.flip(0)), rel=1e-12
    )
    assert ours(absolute_loss(s, s.flip(0))) == pytest.approx(
        sklearn.metrics.mean_absolute_error(s, s.flip(0)), rel=1e-12
    )
    expected = sklearn.metrics.log_loss(classes, s.softmax(-1), labels=range(7))
    assert ours(cross_entropy_loss(s, classes)) == pytest.approx(expected, rel=1e-12)
    expected = sklearn.metrics.log_loss(labels, s[:, 0].sigmoid())
    assert ours(log_loss(s[:, :1], labels[:, None])) == pytest.approx(expected, rel=1e-12)
    expected = sklearn.metrics.hinge_loss(classes, s, labels=range(7))
    assert ours(multiclass_hinge_loss(s, classes)) == pytest.approx(expected, rel=1e-12)
    expected = sklearn.metrics.hinge_loss(labels, s[:, 0])
    assert ours(hinge_loss(s[:, :1], labels[:, None])) == pytest.approx(expected, rel=1e-12)
    expected = sklearn.metrics.zero_one_loss(classes, s.argmax(-1))
    assert ours(zero_one_loss(s, classes)) == pytest.approx(expected, rel=1e-12)
    many = torch.randn(53, 7) > 0
    assert ours(zero_one_loss(s, many)) == pytest.approx(sklearn.metrics.hamming_loss(many, s >= 0), rel=1e-12)


@given(power=st.floats(1, 5), seed=st.integers(0, 1000))
def test_powers_agree_with_numpy(power, seed):
    generator = torch.Generator().manual_seed(seed)
    a, b = torch.randn(2, 3, 5, generator=generator, dtype=torch.float64)
    expected = (abs(a.numpy() - b.numpy()) ** power).mean(-1)
    torch.testing.assert_close(power_loss(a, b, power), torch.from_numpy(expected))


def test_power_one_and_two_are_absolute_and_squared():
    a, b = torch.randn(2, 7, 3)
    torch.testing.assert_close(power_loss(a, b, 1), absolute_loss(a, b))
    torch.testing.assert_close(power_loss(a, b, 2), squared_loss(a, b))


def test_slopes_are_finite_where_output_and_target_agree():
    for power in (1, 1.5, 2, 3):
        y_hat = torch.zeros(1, 1, requires_grad=True)
        power_loss(y_hat, torch.zeros(1, 1), power).sum().backward()
        assert y_hat.grad.item() == 0


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_logits_of_ten_thousand(dtype):
    """Wrong and sure costs 10⁴ (2·10⁴ between two classes at ±10⁴), right and sure nothing; the slopes are ∓1 and 0."""
    s = torch.tensor([[1e4], [-1e4]], dtype=dtype, requires_grad=True)
    for labels in (torch.tensor([[True], [True]]), torch.ones(2, 1, dtype=dtype)):
        loss = log_loss(s, labels)
        (slope,) = torch.autograd.grad(loss.sum(), s)
        assert loss.tolist() == [0, 1e4]
        assert slope.flatten().tolist() == [0, -1]
    s = torch.tensor([[1e4, -1e4]] * 2, dtype=dtype, requires_grad=True)
    for targets in (torch.tensor([0, 1]), torch.eye(2, dtype=dtype)):
        loss = cross_entropy_loss(s, targets)
        (slope,) = torch.autograd.grad(loss.sum(), s)
        assert loss.tolist() == [0, 2e4]
        assert slope.tolist() == [[0, 0], [1, -1]]
    assert kl_loss(s, torch.eye(2, dtype=dtype)).tolist() == [0, 2e4]
    assert multiclass_hinge_loss(s, torch.tensor([0, 1])).tolist() == [0, 2e4 + 1]
    assert hinge_loss(s, torch.tensor([[True, True]] * 2)).tolist() == [(1e4 + 1) / 2] * 2


@given(st.floats(1, 80))
def test_small_losses_keep_their_digits(size):
    """−log σ(s) = log(1 + e^−s), though σ(s) rounds to 1 in float32 from s = 17 on."""
    exact = math.log1p(math.exp(-size))
    s = torch.tensor([[size], [-size]], dtype=torch.float32)
    labels = torch.tensor([[True], [False]])
    rounded = math.log1p(math.exp(-s[0].item()))
    assert rounded == pytest.approx(exact, rel=1e-4)
    for targets in (labels, labels.float()):
        torch.testing.assert_close(log_loss(s, targets), torch.tensor([rounded] * 2), rtol=1e-5, atol=0)


def test_classes_that_are_ruled_out():
    """A logit of −∞ is a probability of 0: no loss where the target gives it none, else +∞, and never NaN."""
    s = torch.tensor([[0.0, 0.0, -inf]] * 2, requires_grad=True)
    y = torch.tensor([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]], requires_grad=True)
    for loss in (cross_entropy_loss(s, torch.tensor([0, 2])), cross_entropy_loss(s, y)):
        torch.testing.assert_close(loss, torch.tensor([math.log(2), inf]))
    loss = kl_loss(s, y)
    torch.testing.assert_close(loss, torch.tensor([0.0, inf]), atol=1e-6, rtol=0)
    loss.sum().backward()
    assert not s.grad.isnan().any()
    assert not y.grad.isnan().any()


def test_kl_is_cross_entropy_less_entropy(float64):
    s, y = torch.randn(5, 3), torch.randn(5, 3).softmax(-1)
    entropy = -(y * y.log()).sum(-1)
    torch.testing.assert_close(kl_loss(s, y), cross_entropy_loss(s, y) - entropy)
    torch.testing.assert_close(kl_loss(y.log() + 3, y), torch.zeros(5), atol=1e-14, rtol=0)


def test_a_constant_on_all_logits_changes_nothing(float64):
    s, y = torch.randn(5, 3), torch.randint(3, (5,))
    torch.testing.assert_close(cross_entropy_loss(s + 1000, y), cross_entropy_loss(s, y), atol=1e-12, rtol=0)
    torch.testing.assert_close(multiclass_hinge_loss(s + 1000, y), multiclass_hinge_loss(s, y), atol=1e-12, rtol=0)


def test_log_loss_is_the_cross_entropy_of_two_classes(float64):
    s, labels = torch.randn(11, 1), torch.randn(11, 1) > 0
    two = torch.cat((torch.zeros_like(s), s), -1)
    torch.testing.assert_close(log_loss(s, labels), cross_entropy_loss(two, labels[:, 0].long()))
    torch.testing.assert_close(hinge_loss(s, labels), multiclass_hinge_loss(two, labels[:, 0].long()))


def test_bounds_of_the_zero_one_loss(float64):
    """Hinge and log loss (in bits) lie above the 0–1 loss: this is why one may train on them."""
    s, labels = torch.randn(997, 1), torch.randn(997, 1) > 0
    wrong = zero_one_loss(s, labels)
    assert (hinge_loss(s, labels) >= wrong).all()
    assert (log_loss(s, labels) / math.log(2) >= wrong).all()
    assert (log_loss(s, labels) < wrong).any(), "in nats it does not: log 2 < 1 just beside the threshold"


def test_leading_axes_are_kept():
    s, labels, classes = torch.randn(2, 5, 3), torch.randn(2, 5, 3) > 0, torch.randint(3, (2, 5))
    for function, targets in (
        (squared_loss, s.flip(0)),
        (log_loss, labels),
        (hinge_loss, labels),
        (cross_entropy_loss, classes),
        (multiclass_hinge_loss, classes),
        (zero_one_loss, classes),
        (zero_one_loss, labels),
    ):
        whole = function(s, targets)
        assert whole.shape == (2, 5)
        torch.testing.assert_close(whole[1, 3], function(s[1, 3], targets[1, 3]))
        assert function(s[:0], targets[:0]).shape == (0, 5)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int32])
def test_any_integers_are_classes(dtype):
    s, y = torch.randn(5, 3), torch.tensor([0, 1, 2, 1, 0])
    for function in (cross_entropy_loss, multiclass_hinge_loss, zero_one_loss):
        assert torch.equal(function(s, y.to(dtype)), function(s, y))


def test_half_precision_is_summed_in_single():
    s, y = torch.randn(5, 1000).bfloat16(), torch.randint(1000, (5,))
    loss = cross_entropy_loss(s, y)
    assert loss.dtype == torch.float32
    torch.testing.assert_close(loss, cross_entropy_loss(s.float(), y))


def test_cost_by_hand():
    L, w = torch.tensor([1.0, 2.0, 9.0]), torch.tensor([1.0, 2.0, 0.0])
    assert cost(L).item() == 4
    assert cost(L, "sum").item() == 12
    assert cost(L, weights=w).item() == pytest.approx((1 + 4) / 3)
    assert cost(L, "sum", w).item() == 5
    assert cost(L, weights=w > 0).item() == 1.5
    assert cost(L[:0], "sum").item() == 0


def test_cost_without_any_weight_is_nothing():
    L = torch.tensor([1.0, 2.0], requires_grad=True)
    J = cost(L, weights=torch.zeros(2))
    J.backward()
    assert J.item() == 0
    assert torch.equal(L.grad, torch.zeros(2))


def test_weighted_cost_same_as_torch(float64):
    """torch weighs classes; the weighted mean over examples is the same number."""
    s, y, w = torch.randn(11, 3), torch.randint(3, (11,)), torch.rand(3)
    torch.testing.assert_close(cost(cross_entropy_loss(s, y), weights=w[y]), F.cross_entropy(s, y, w))


def test_messages():
    L = torch.ones(3)
    with pytest.raises(
        ValueError, match=r"losses must hold at least one element, got shape \(0,\); skip empty batches"
    ):
        cost(L[:0])
    with pytest.raises(ValueError, match="reduction must be one of mean, sum, got 'max'; pick one of these"):
        cost(L, "max")
    with pytest.raises(ValueError, match=r"power must be a finite number from 1 up, got 0.5; try power=1 or power=2"):
        power_loss(torch.ones(2, 1), torch.ones(2, 1), 0.5)
    with pytest.raises(ValueError, match="power must be a finite number from 1 up, got inf"):
        power_loss(torch.ones(2, 1), torch.ones(2, 1), inf)
    with pytest.raises(ValueError, match="label_smoothing must be a probability from 0 to 1, got 10"):
        cross_entropy_loss(torch.ones(2, 3), torch.tensor([0, 1]), label_smoothing=10)
    with pytest.raises(
        ValueError, match=r"outputs must hold the outputs of one example, got shape \(5, 0\); for a single"
    ):
        squared_loss(torch.ones(5, 0), torch.ones(5, 0))
    with pytest.raises(ValueError, match=r"at least 2, got shape \(2, 1\); for one output per example use hinge_loss"):
        multiclass_hinge_loss(torch.ones(2, 1), torch.tensor([0, 0]))


@pytest.mark.untyped
def test_messages_for_wrong_shapes_and_dtypes():
    s = torch.ones(5, 3)
    for function in (squared_loss, absolute_loss, log_loss, kl_loss):
        with pytest.raises(ValueError, match=r"targets must have one shape, got \(5, 3\) and \(5, 1\); reshape one"):
            function(s, torch.ones(5, 1))
    with pytest.raises(ValueError, match=r"logits must hold the outputs of one example, got shape \(\); for a single"):
        log_loss(torch.tensor(1.0), torch.tensor(True))
    with pytest.raises(ValueError, match=r"targets must be a float tensor, got torch.int64; convert it with"):
        squared_loss(s, torch.ones(5, 3, dtype=torch.long))
    with pytest.raises(ValueError, match=r"outputs must be a float tensor, got torch.int64"):
        absolute_loss(torch.ones(5, 3, dtype=torch.long), s)
    with pytest.raises(
        ValueError, match=r"labels \(bool\) or probabilities \(float\), got torch.int64; .*targets.bool\(\)"
    ):
        log_loss(s, torch.ones(5, 3, dtype=torch.long))
    for labels in (s, s.long()):
        with pytest.raises(ValueError, match=rf"labels \(bool\), got {labels.dtype}; convert −1/\+1 or 0/1 with"):
            hinge_loss(s, labels)
    with pytest.raises(ValueError, match=r"logits and targets must have one shape, got \(5, 3\) and \(5, 1\)"):
        hinge_loss(s, torch.ones(5, 1, dtype=torch.bool))
    with pytest.raises(ValueError, match=r"logits and targets must have one shape, got \(5, 3\) and \(5,\)"):
        zero_one_loss(s, torch.ones(5, dtype=torch.bool))
    with pytest.raises(
        ValueError, match=r"logits and probability targets must have one shape, got \(5, 3\) and \(5,\)"
    ):
        cross_entropy_loss(s, torch.ones(5))
    with pytest.raises(ValueError, match=r"class indices must be integers, got torch.bool; convert whole numbers with"):
        cross_entropy_loss(s, torch.ones(5, dtype=torch.bool))
    with pytest.raises(ValueError, match=r"class indices must be integers, got torch.float32"):
        multiclass_hinge_loss(s, torch.ones(5))
    with pytest.raises(ValueError, match=r"class indices must be integers, got torch.float32"):
        zero_one_loss(s, torch.ones(5))
    with pytest.raises(
        ValueError, match=r"without its last axis, got \(5, 3\) for logits of \(5, 3\); from one-hot rows"
    ):
        cross_entropy_loss(s, torch.ones(5, 3, dtype=torch.long))
    with pytest.raises(ValueError, match=r"losses and weights must have one shape, got \(5,\) and \(5, 1\)"):
        cost(torch.ones(5), weights=torch.ones(5, 1))
    with pytest.raises(ValueError, match=r"losses must be a float tensor, got torch.int64"):
        cost(torch.ones(5, dtype=torch.long))
