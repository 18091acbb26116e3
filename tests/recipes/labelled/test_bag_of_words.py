"""Baselines of labelled texts, and the metrics that everything is measured by, against scikit-learn's."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score, log_loss

from cutaway.data.labelled.labelled_texts import TextRows
from cutaway.recipes.labelled.bag_of_words import class_metrics, text_baseline, tfidf_probabilities


def test_metrics_against_scikit_learn():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(4), 50)
    truth = rng.integers(0, 4, 50)
    found = class_metrics(p, truth)
    assert found["loss"] == pytest.approx(log_loss(truth, p))
    assert found["accuracy"] == pytest.approx(accuracy_score(truth, p.argmax(1)))
    assert found["macro_f1"] == pytest.approx(f1_score(truth, p.argmax(1), average="macro"))


def test_a_class_that_is_neither_there_nor_guessed_says_nothing():
    p = np.array([[0.9, 0.1, 0.0], [0.2, 0.8, 0.0]])
    assert class_metrics(p, np.array([0, 1]))["macro_f1"] == 1.0


def rows(texts: list[str], labels: list[int]) -> TextRows:
    return TextRows(texts, np.array(labels))


TRAIN = rows(["good film", "good play", "bad film", "bad play", "good book"], [0, 0, 1, 1, 0])


def test_baseline():
    found = text_baseline(TRAIN, rows(["a good one", "a bad one"], [0, 1]), ("good", "bad"))
    assert found["metrics"]["accuracy"] == 1.0
    assert "always good, the most frequent class of training, is right in 50.0%" in found["rule"]


def test_without_words_it_is_the_most_frequent_class():
    signs = rows(["...", "---", ";;"], [1, 1, 0])
    found = text_baseline(signs, rows(["…", ":"], [1, 1]), ("a", "b"))
    assert found["rule"].startswith("always b")
    assert found["metrics"]["accuracy"] == 1.0
    assert found["metrics"]["loss"] == pytest.approx(-np.log(3 / 5))


def test_a_class_that_training_has_not_gets_no_probability():
    p = tfidf_probabilities(TRAIN, ["good"], 3)
    assert p is not None
    assert p.shape == (1, 3)
    assert p[0, 2] == 0
