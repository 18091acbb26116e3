r"""Baselines of labelled texts, without a network: the most frequent class, and a linear model of words.

    majority       ŷ = the most frequent class of training
    TF-IDF         logistic regression on the words and word pairs of a text, rare ones weighing more (scikit-learn)
    naive Bayes    the same features, each weighed by how often it comes with a class: where classes are so many that
                   the regression would take longer than a few seconds

A model is worth what it adds to that.
"""

import warnings
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from cutaway.data.labelled.labelled_texts import TextRows
from cutaway.extras import need
from cutaway.tasks.classes import answer_metrics
from cutaway.waiting import doing

_TEXTS = 20_000  # training texts that the linear model sees, at most: it stands beside the model, it must not slow it
_MANY = 50  # classes, from which on it sees the most frequent words alone
_WEIGHTS = 2_000_000  # of the linear model, at most, one for each word and class
_WORK = 30_000_000  # words of all texts times classes, at most: logistic regression passes over them some 50 times
_PROBABILITIES = 4_000_000  # that are held at once


def text_baseline(train: TextRows, rows: TextRows, labels: tuple[str, ...]) -> dict[str, Any]:
    """The rule of the linear model in words, with that of the most frequent class, and its metrics on some texts."""
    counts = np.bincount(train.labels, minlength=len(labels))
    majority = int(counts.argmax())
    share = float((rows.labels == majority).mean())
    always = f"always {labels[majority]}, the most frequent class of training, is right in {share:.1%}"
    with doing(f"measuring a baseline on {len(rows.texts):,} texts"):
        linear = LinearBaseline.of(train, len(labels))
        if linear is None:
            shares = (counts + 1) / (counts + 1).sum()
            chances, predicted = shares[rows.labels], np.full(len(rows.labels), majority)
            return {"rule": always, "metrics": answer_metrics(chances, predicted, rows.labels, len(labels))}
        return {"rule": f"{linear.rule}; {always}", "metrics": linear.metrics(rows)}


class NaiveBayes:
    """log p(c | x) = log p(c) + Σ_f x_f log p(f | c) + const, with counts smoothed by 0.1.

    scikit-learn's makes a dense matrix of texts times classes, which takes gigabytes for 10,000 classes.
    """

    def fit(self, x: Any, labels: Int[np.ndarray, "n"]) -> "NaiveBayes":
        sparse = need("scipy.sparse", "tables", "a baseline for texts")
        self.classes_, places = np.unique(labels, return_inverse=True)
        members = sparse.csr_matrix((np.ones(len(places)), (places, np.arange(len(places)))))
        counts = (members @ x).toarray() + 0.1
        self.log_p = np.log(counts / counts.sum(1, keepdims=True))
        self.log_share = np.log(np.bincount(places) / len(places))
        return self

    def predict_proba(self, x: Any) -> Float[np.ndarray, "n c"]:
        scores = x @ self.log_p.T + self.log_share
        p = np.exp(scores - scores.max(1, keepdims=True))
        return p / p.sum(1, keepdims=True)


class LinearBaseline(NamedTuple):
    """A linear model of words: what turns texts into features, the model, and what it is, in words."""

    vectorizer: Any
    model: Any
    classes: int
    rule: str

    @classmethod
    def of(cls, train: TextRows, classes: int) -> "LinearBaseline | None":
        """The model of some texts; None without scikit-learn, or where texts have no words, or one class alone."""
        try:
            extraction = need("sklearn.feature_extraction.text", "tables", "a baseline for texts")
            linear = need("sklearn.linear_model", "tables", "a baseline for texts")
        except ModuleNotFoundError:
            return None
        step = -(-len(train.texts) // _TEXTS)
        seen = np.unique(train.labels[::step])
        if len(seen) < 2:
            return None
        vectorizer = extraction.TfidfVectorizer(
            ngram_range=(1, 2),
            sublinear_tf=True,
            token_pattern=r"(?u)\b\w+\b|[!?]",
            max_features=max(_WEIGHTS // len(seen), 1000) if len(seen) > _MANY else None,
        )
        try:
            x = vectorizer.fit_transform(train.texts[::step])
        except ValueError:  # nothing but signs
            return None
        small = x.nnz * len(seen) <= _WORK
        model = linear.LogisticRegression(C=10.0, max_iter=200) if small else NaiveBayes()
        name = "logistic regression" if small else "naive Bayes"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that classes are many, or that it would take more steps: it is a baseline
            model.fit(x, train.labels[::step])
        return cls(vectorizer, model, classes, f"{name} on TF-IDF of words and word pairs (scikit-learn)")

    def probabilities(self, texts: list[str]) -> Float[np.ndarray, "n c"]:
        p = np.zeros((len(texts), self.classes))
        p[:, self.model.classes_] = self.model.predict_proba(self.vectorizer.transform(texts))
        return p

    def metrics(self, rows: TextRows) -> dict[str, float]:
        """Those of some texts, of which few enough are taken at once that their probabilities take little memory."""
        chances, predicted = [], []
        size = max(1, _PROBABILITIES // self.classes)
        for first in range(0, len(rows.texts), size):
            p = self.probabilities(rows.texts[first : first + size])
            truth = rows.labels[first : first + size]
            chances.append(p[np.arange(len(truth)), truth])
            predicted.append(p.argmax(1))
        return answer_metrics(np.concatenate(chances), np.concatenate(predicted), rows.labels, self.classes)


__all__ = ["LinearBaseline", "text_baseline"]
