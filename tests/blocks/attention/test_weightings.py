"""Weights by hand, by their laws, and for rows that may look nowhere."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from cutaway.blocks import hard_weights, linear_weights, soft_weights
from cutaway.blocks.attention.weightings import WEIGHTINGS, find_weighting

INF = torch.inf


def test_masked_scores_of_the_notes():
    """N3 §5.9.1: element 3 of 5, with a causal mask."""
    a = soft_weights(torch.tensor([3.0, 5.0, -1.0, -INF, -INF], dtype=torch.float64))
    assert a.round(decimals=3).tolist() == [0.119, 0.879, 0.002, 0.0, 0.0]


def test_soft_is_softmax(float64):
    e = torch.randn(2, 5, 7)
    assert torch.equal(soft_weights(e), torch.softmax(e, -1))


@given(st.lists(st.floats(-1e4, 1e4), min_size=1, max_size=9), st.floats(-100, 100))
def test_soft_weights_are_a_distribution_that_sees_differences_only(scores, shift):
    e = torch.tensor(scores, dtype=torch.float64)
    a = soft_weights(e)
    assert a.sum().item() == pytest.approx(1)
    assert (a >= 0).all()
    torch.testing.assert_close(soft_weights(e + shift), a, rtol=1e-6, atol=1e-9)


def test_a_masked_key_counts_as_absent(float64):
    e = torch.randn(5, 7)
    without = soft_weights(e[:, [0, 1, 4, 6]])
    e[:, [2, 3, 5]] = -INF
    a = soft_weights(e)
    assert torch.equal(a[:, [2, 3, 5]], torch.zeros(5, 3))
    torch.testing.assert_close(a[:, [0, 1, 4, 6]], without)


@pytest.mark.parametrize("name", WEIGHTINGS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
def test_blind_rows_give_zeros_forwards_and_backwards(name, dtype):
    e = torch.randn(3, 5).to(dtype)
    e[1] = -INF
    e[2, :4] = -INF
    e.requires_grad_()
    a = WEIGHTINGS[name](e)
    assert a.dtype == dtype
    assert torch.equal(a[1], torch.zeros(5, dtype=dtype))
    assert torch.equal(a[2, :4], torch.zeros(4, dtype=dtype))
    (a * torch.arange(5)).sum().backward()
    assert not e.grad.isnan().any()
    assert torch.equal(e.grad[1], torch.zeros(5, dtype=dtype))
    assert torch.equal(e.grad[2, :4], torch.zeros(4, dtype=dtype))


def test_blind_rows_have_second_derivatives_too(float64):
    e = torch.randn(3, 4)
    e[1] = -INF
    visible = e.isfinite()

    def weights(x):  # moves the finite scores only: a difference of infinities is no number
        return soft_weights(torch.where(visible, x, -INF))

    x = torch.randn(3, 4, requires_grad=True)
    assert torch.autograd.gradcheck(weights, x)
    assert torch.autograd.gradgradcheck(weights, x)


def test_hard_is_exactly_one_hot_and_takes_the_first_of_equals():
    e = torch.randn(200, 7)
    a = hard_weights(e)
    assert torch.equal(a, torch.nn.functional.one_hot(e.argmax(-1), 7).float())
    assert torch.equal(hard_weights(torch.tensor([1.0, 5.0, 5.0])), torch.tensor([0.0, 1.0, 0.0]))


def test_hard_goes_backwards_as_soft(float64):
    e = torch.randn(5, 7, requires_grad=True)
    w = torch.randn(5, 7)
    hard = torch.autograd.grad((hard_weights(e) * w).sum(), e)[0]
    soft = torch.autograd.grad((soft_weights(e) * w).sum(), e)[0]
    torch.testing.assert_close(hard, soft)


def test_linear_is_the_score():
    e = torch.tensor([3.0, -2.0, -INF])
    assert torch.equal(linear_weights(e), torch.tensor([3.0, -2.0, 0.0]))


@pytest.mark.parametrize("name", WEIGHTINGS)
def test_no_keys_no_weights(name):
    assert WEIGHTINGS[name](torch.zeros(3, 0)).shape == (3, 0)


def test_names():
    assert find_weighting("hard") is hard_weights
    assert find_weighting(torch.sigmoid) is torch.sigmoid
    with pytest.raises(ValueError, match="weight must be one of soft, hard, linear, got 'medium'; pick one of these"):
        find_weighting("medium")
