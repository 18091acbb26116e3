"""Softmax by N0's lemma and N3's example, hard argmax, and the softmax layer as multinomial logistic regression."""

import math

import numpy as np
import pytest
import scipy.special
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import cutaway as cut
from cutaway.blocks import SoftmaxLayer, hard_argmax, softmax

logits = st.lists(st.floats(-300, 300), min_size=1, max_size=7)
lemma = settings(max_examples=60)


@given(logits)
@lemma
def test_lemma_1_entries_are_above_0_and_at_most_1(numbers: list[float]):
    y = softmax(torch.tensor(numbers, dtype=torch.float64))
    assert bool(((y > 0) & (y <= 1)).all())  # exp(−600) is above 0 in float64


@given(logits, st.floats(0.01, 100))
@lemma
def test_lemma_2_entries_add_up_to_1(numbers: list[float], temperature: float):
    assert softmax(torch.tensor(numbers, dtype=torch.float64), temperature).sum().item() == pytest.approx(1, abs=1e-12)


@given(logits, st.floats(-300, 300))
@lemma
def test_lemma_3_only_differences_matter(numbers: list[float], c: float):
    x = torch.tensor(numbers, dtype=torch.float64)
    torch.testing.assert_close(softmax(x + c), softmax(x), rtol=1e-9, atol=1e-12)


@given(logits)
@lemma
def test_lemma_4_tends_to_the_one_hot_of_the_largest(numbers: list[float]):
    """The proof's bound: softmax(λx)_i ≤ exp(λ(x_i − max x)) elsewhere; λ = 1/T."""
    x = torch.tensor(numbers, dtype=torch.float64)
    top = x.sort(descending=True).values
    gap = (top[0] - top[1]).item() if len(numbers) > 1 else 1.0
    assume(gap > 1e-3)
    for temperature in (gap, gap / 10, gap / 100):
        off = (softmax(x, temperature) - hard_argmax(x)).abs().max().item()
        assert off <= len(numbers) * math.exp(-gap / temperature) + 1e-12


@given(logits, st.floats(0.05, 20), st.integers(0, 6))
@lemma
def test_same_as_scipy(numbers: list[float], temperature: float, roll: int):
    x = torch.tensor([numbers, numbers], dtype=torch.float64).roll(roll, -1)
    peer = torch.from_numpy(scipy.special.softmax(x.numpy() / temperature, axis=-1))
    torch.testing.assert_close(softmax(x, temperature), peer, rtol=1e-9, atol=1e-14)
    torch.testing.assert_close(softmax(x.T, temperature, axis=0), peer.T, rtol=1e-9, atol=1e-14)


def test_example_of_the_notes():
    """N3 §2.4.6, η = (3, 0, 1): nearly uniform when hot, spiky when cold."""
    η = torch.tensor([3.0, 0.0, 1.0], dtype=torch.float64)
    for T in (100.0, 2.0, 1.0, 0.1):
        by_hand = [math.exp(3 / T), 1.0, math.exp(1 / T)]
        expected = torch.tensor([e / sum(by_hand) for e in by_hand], dtype=torch.float64)
        torch.testing.assert_close(softmax(η, T), expected, rtol=1e-12, atol=1e-15)
    assert (softmax(η, 100.0) - 1 / 3).abs().max().item() < 0.01
    assert softmax(η, 0.1)[0].item() > 0.999
    largest = [softmax(η, T)[0].item() for T in (100.0, 10.0, 2.0, 1.0, 0.5, 0.1)]
    assert largest == sorted(largest)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("temperature", [1e-30, 0.01, 1.0, 100.0])
def test_stable_for_large_logits(dtype: torch.dtype, temperature: float):
    x = torch.tensor([1e4, -1e4, 0.0, 1e4], dtype=dtype, requires_grad=True)
    y = softmax(x, temperature)
    rest = 1 / (2 + math.exp(-1e4 / temperature) + math.exp(-2e4 / temperature))
    assert y[0].item() == y[3].item() == pytest.approx(rest, rel=1e-6)
    (slope,) = torch.autograd.grad(y[0], x)
    assert bool(slope.isfinite().all())


def test_temperature_divides_before_half_precision_overflows():
    x = torch.tensor([6e4, 5.9e4, -6e4], dtype=torch.float16)  # x/T = 6e6, the largest half is 65504
    y = softmax(x, 0.01)
    assert y.dtype == torch.float16
    assert y.tolist() == [1.0, 0.0, 0.0]


def test_masked_entries_get_nothing():
    """N4's row: scores 3 5 −1 | −∞ −∞ → .119 .879 .002 0 0; at a temperature too."""
    x = torch.tensor([3.0, 5.0, -1.0, -torch.inf, -torch.inf])
    assert softmax(x).mul(1000).round().tolist() == [119, 879, 2, 0, 0]
    torch.testing.assert_close(softmax(2 * x, 2.0), softmax(x))
    assert hard_argmax(x).tolist() == [0, 1, 0, 0, 0]


# ---------------------------------------------------------------------------------------------------------------------


def test_hard_argmax_by_hand():
    x = torch.tensor([[3.0, 0.0, 3.0], [0.0, 0.0, 0.0], [-5.0, -4.0, -4.0]])
    assert torch.equal(hard_argmax(x), torch.tensor([[1.0, 0, 0], [1, 0, 0], [0, 1, 0]]))
    assert torch.equal(hard_argmax(x, axis=0), torch.tensor([[1.0, 1, 1], [0, 0, 0], [0, 0, 0]]))
    assert torch.equal(hard_argmax(torch.tensor(2.0)), torch.tensor(1.0))


@given(st.lists(st.integers(-2, 2), min_size=1, max_size=9))
@lemma
def test_ties_go_to_the_first(numbers: list[int]):
    y = hard_argmax(torch.tensor(numbers, dtype=torch.float32))
    assert y.tolist() == np.eye(len(numbers))[np.argmax(numbers)].tolist()


def test_hard_argmax_goes_backward_as_softmax():
    x = torch.randn(2, 5, 3, dtype=torch.float64, requires_grad=True)
    delta = torch.randn(2, 5, 3, dtype=torch.float64)
    (hard,) = torch.autograd.grad(hard_argmax(x, axis=1), x, delta)
    (soft,) = torch.autograd.grad(softmax(x, axis=1), x, delta)
    assert torch.equal(hard, soft)


# ---------------------------------------------------------------------------------------------------------------------


def test_layer_is_its_equation(float64):
    layer, x = SoftmaxLayer(3, 7, temperature=2.0), torch.randn(5, 3)
    with cut.trace(layer, "logits", "output") as seen:
        y = layer(x)
    assert torch.equal(seen["logits"], layer.linear(x))
    assert torch.equal(seen["output"], y)
    torch.testing.assert_close(y, torch.softmax((x @ layer.linear.weight + layer.linear.bias) / 2, -1))
    with cut.patch(layer, {"logits": 0.0}):
        torch.testing.assert_close(layer(x), torch.full((5, 7), 1 / 7))
    assert "temperature=2" in repr(layer)


def test_layer_with_log_loss_is_multinomial_logistic_regression(float64):
    """The optimum of log loss + ½‖W‖² on iris is scikit-learn's (C = 1: sum of losses, bias free)."""
    datasets = pytest.importorskip("sklearn.datasets")
    from sklearn.linear_model import LogisticRegression

    X, y = datasets.load_iris(return_X_y=True)
    X = (X - X.mean(0)) / X.std(0)
    peer = LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000).fit(X, y)
    x, target = torch.from_numpy(X), torch.from_numpy(y)
    layer = SoftmaxLayer(4, 3)
    descent = torch.optim.LBFGS(
        layer.parameters(), max_iter=500, tolerance_grad=1e-9, tolerance_change=1e-14, line_search_fn="strong_wolfe"
    )

    def cost():
        descent.zero_grad()
        J = -layer(x)[torch.arange(len(x)), target].log().sum() + layer.linear.weight.square().sum() / 2
        J.backward()
        return J

    descent.step(cost)
    torch.testing.assert_close(layer(x).detach(), torch.from_numpy(peer.predict_proba(X)), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(layer.linear.weight.detach(), torch.from_numpy(peer.coef_.T), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("temperature", [0.0, -1.0, float("nan")])
def test_bad_temperature(temperature: float):
    with pytest.raises(ValueError, match=f"temperature must be above 0, got {temperature}; its limit at 0 is hard_arg"):
        softmax(torch.randn(3), temperature)
    with pytest.raises(ValueError, match=f"temperature must be above 0, got {temperature}"):
        SoftmaxLayer(3, 7, temperature)


def test_bad_axis():
    for f in (softmax, hard_argmax):
        with pytest.raises(ValueError, match="axis must be from -2 to 1 for x, got axis=2; try axis=-1"):
            f(torch.randn(5, 3), axis=2)
        with pytest.raises(
            ValueError, match=r"axis 0 of x must hold at least one entry, got shape \(0, 3\); choose an"
        ):
            f(torch.randn(0, 3), axis=0)
    assert softmax(torch.randn(0, 3), 2.0).shape == hard_argmax(torch.randn(0, 3)).shape == (0, 3)


@pytest.mark.untyped
def test_bad_dtype():
    with pytest.raises(ValueError, match=r"x must be a float tensor, got torch.int64; convert it with x.float\(\)"):
        softmax(torch.tensor([1, 2]))
