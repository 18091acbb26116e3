"""Metrics: worked by hand, against scikit-learn, and where they have no scale."""

import math

import pytest
import sklearn.metrics
import torch

from cutaway.blocks import accuracy, balanced_accuracy, f1, macro_f1, r_squared

inf = math.inf


def test_metrics_same_as_scikit_learn(float64):
    a, b = torch.randn(53, 3), torch.randn(53, 3)
    b[:, 0] *= 7
    expected = sklearn.metrics.r2_score(b, a, multioutput="variance_weighted")
    assert r_squared(a, b) == pytest.approx(expected, rel=1e-12)
    assert r_squared(a[:, 1], b[:, 1]) == pytest.approx(sklearn.metrics.r2_score(b[:, 1], a[:, 1]), rel=1e-12)
    classes, guesses = torch.randint(5, (2, 53))
    assert accuracy(guesses, classes) == pytest.approx(sklearn.metrics.accuracy_score(classes, guesses), rel=1e-12)
    expected = sklearn.metrics.f1_score(b > 0, a > 0, average="micro")
    assert f1(a > 0, b > 0) == pytest.approx(expected, rel=1e-12)
    assert f1(a > 0, (b > 0).long()) == f1(a > 0, b > 0)


def test_metrics_where_they_have_no_scale():
    y = torch.ones(3)
    assert r_squared(y, y) == 1
    assert r_squared(torch.zeros(3), y) == -inf
    nothing, something = torch.zeros(2, 3, dtype=torch.bool), torch.ones(2, 3, dtype=torch.bool)
    assert f1(nothing, nothing) == 1
    assert f1(something, nothing) == f1(nothing, something) == 0


def test_r_squared_compares_with_the_mean(float64):
    y = torch.randn(11, 3)
    assert r_squared(y.mean(0).expand_as(y), y) == pytest.approx(0, abs=1e-12)


def test_balanced_metrics_same_as_scikit_learn(float64):
    classes, guesses = torch.randint(5, (2, 53))
    classes[classes == 3] = 2  # a class that is said but is not there
    expected = sklearn.metrics.recall_score(classes, guesses, labels=classes.unique(), average="macro")
    assert balanced_accuracy(guesses, classes) == pytest.approx(expected, rel=1e-12)
    expected = sklearn.metrics.f1_score(classes, guesses, average="macro")
    assert macro_f1(guesses, classes) == pytest.approx(expected, rel=1e-12)
    a, b = torch.randn(53, 3) > 0, torch.randn(53, 3) > 0
    expected = sklearn.metrics.f1_score(b, a, average="macro")
    assert macro_f1(a, b) == pytest.approx(expected, rel=1e-12)
    assert macro_f1(a, b.long()) == macro_f1(a, b)


def test_always_the_frequent_class():
    truth = torch.tensor([0] * 95 + [1] * 5)
    guess = torch.zeros(100, dtype=torch.long)
    assert accuracy(guess, truth) == 0.95
    assert balanced_accuracy(guess, truth) == 0.5
    assert macro_f1(guess, truth) == pytest.approx((2 * 95 / 195 + 0) / 2)
    assert balanced_accuracy(truth, truth) == macro_f1(truth, truth) == 1


def test_nothing_to_measure():
    for metric in (r_squared, accuracy, balanced_accuracy, macro_f1):
        with pytest.raises(ValueError, match=r"targets must hold at least one element, got shape \(0,\); skip empty"):
            metric(torch.ones(0), torch.ones(0))


@pytest.mark.untyped
def test_wrong_shapes():
    for metric in (r_squared, accuracy, f1, balanced_accuracy, macro_f1):
        with pytest.raises(ValueError, match=r"predictions and targets must have one shape, got \(5,\) and \(5, 1\)"):
            metric(torch.ones(5), torch.ones(5, 1))
