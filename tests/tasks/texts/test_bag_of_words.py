"""Baselines of labelled texts, and the metrics that everything is measured by, against scikit-learn's."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.metrics import accuracy_score, f1_score, log_loss
from sklearn.naive_bayes import MultinomialNB

from cutaway.data.labelled.labelled_texts import TextRows
from cutaway.tasks.classes import class_metrics
from cutaway.tasks.texts import bag_of_words
from cutaway.tasks.texts.bag_of_words import LinearBaseline, NaiveBayes, text_baseline


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
    linear = LinearBaseline.of(TRAIN, 3)
    assert linear is not None
    p = linear.probabilities(["good"])
    assert p.shape == (1, 3)
    assert p[0, 2] == 0


def test_many_classes_have_a_baseline_that_counts_instead_of_one_that_iterates(monkeypatch: pytest.MonkeyPatch):
    """Its cost does not grow with classes times words times passes, nor its memory with classes times texts."""
    monkeypatch.setattr(bag_of_words, "_WORK", 10)
    monkeypatch.setattr(bag_of_words, "_PROBABILITIES", 4)
    held = rows(["a good one", "a bad one", "good good", "bad"], [0, 1, 0, 1])
    found = text_baseline(TRAIN, held, ("good", "bad"))
    assert found["rule"].startswith("naive Bayes on TF-IDF")
    assert found["metrics"]["accuracy"] == 1.0
    linear = LinearBaseline.of(TRAIN, 2)
    assert linear is not None
    assert found["metrics"] == pytest.approx(class_metrics(linear.probabilities(held.texts), held.labels))


def test_naive_bayes_is_that_of_scikit_learn():
    draw = np.random.default_rng(0)
    x, y = scipy.sparse.random(60, 9, 0.4, "csr", rng=0), draw.choice([0, 2, 3], 60)
    ours, theirs = NaiveBayes().fit(x, y), MultinomialNB(alpha=0.1).fit(x, y)
    np.testing.assert_allclose(ours.predict_proba(x), theirs.predict_proba(x), atol=1e-12)
    assert ours.classes_.tolist() == theirs.classes_.tolist()
