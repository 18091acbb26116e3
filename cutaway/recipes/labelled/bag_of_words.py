r"""What one reaches on labelled texts without a network: the most frequent class, and a linear model of words.

    majority     ŷ = the most frequent class of training
    TF-IDF       logistic regression on the words and word pairs of a text, rare ones weighing more (scikit-learn)

A model is worth what it adds to that.
"""

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from cutaway.data.labelled.labelled_texts import TextRows
from cutaway.extras import need

_TEXTS = 20_000  # training texts that the linear model sees, at most: it stands beside the model, it must not slow it
_MANY = 50  # classes, from which on it sees the most frequent words alone
_WEIGHTS = 2_000_000  # of the linear model, at most, one for each word and class


def class_metrics(p: Float[np.ndarray, "n c"], truth: Int[np.ndarray, "n"]) -> dict[str, float]:
    """Mean −log p of the true class, share of right answers, and the mean of the classes' F1.

    >>> class_metrics(np.array([[0.5, 0.5], [0.25, 0.75]]), np.array([1, 1]))["accuracy"]
    0.5
    """
    predicted, classes = p.argmax(1), p.shape[1]
    right = float((predicted == truth).mean())
    found = np.bincount(predicted, minlength=classes) + np.bincount(truth, minlength=classes)
    hits = np.bincount(truth[predicted == truth], minlength=classes)
    f1 = 2 * hits[found > 0] / found[found > 0]  # a class that is neither there nor guessed says nothing
    loss = -np.log(np.clip(p[np.arange(len(truth)), truth], 1e-12, None)).mean()
    return {"loss": float(loss), "accuracy": right, "macro_f1": float(f1.mean())}


def text_baseline(train: TextRows, rows: TextRows, labels: tuple[str, ...]) -> dict[str, Any]:
    """The rule of the linear model in words, with that of the most frequent class, and its metrics on some texts."""
    counts = np.bincount(train.labels, minlength=len(labels))
    majority = int(counts.argmax())
    share = float((rows.labels == majority).mean())
    always = f"always {labels[majority]}, the most frequent class of training, is right in {share:.1%}"
    p = tfidf_probabilities(train, rows.texts, len(labels))
    if p is None:
        constant = np.tile((counts + 1) / (counts + 1).sum(), (len(rows.labels), 1))
        return {"rule": always, "metrics": class_metrics(constant, rows.labels)}
    rule = f"logistic regression on TF-IDF of words and word pairs (scikit-learn); {always}"
    return {"rule": rule, "metrics": class_metrics(p, rows.labels)}


def tfidf_probabilities(train: TextRows, texts: list[str], classes: int) -> Float[np.ndarray, "n c"] | None:
    """The probabilities that the linear model gives; None without scikit-learn, or where texts have no words."""
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
    model = linear.LogisticRegression(C=10.0, max_iter=200).fit(x, train.labels[::step])
    p = np.zeros((len(texts), classes))
    p[:, model.classes_] = model.predict_proba(vectorizer.transform(texts))
    return p


__all__ = ["class_metrics", "text_baseline", "tfidf_probabilities"]
