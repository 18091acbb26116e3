r"""What one reaches on a text without a model: each token by how often it occurs, whatever stands around it.

    p(v) = (n_v + 1) / (n + V)          counts n_v of the training text, smoothed so that no token is impossible
    loss = −mean log p(x_t)             over the validation text

A language model is worth what it adds to that. Laplace's rule of succession; a Markov chain of order 0.
"""

from typing import Any

import numpy as np
from jaxtyping import Float64

from cutaway.data.text.token_files import Tokens

_COUNTED = 5_000_000  # tokens of each text, at most: more change nothing that is shown


def token_shares(tokens: Tokens, vocabulary: int) -> Float64[np.ndarray, "v"]:
    """p(v) of every token of a vocabulary.

    >>> token_shares(Tokens(np.array([0, 0, 0, 1])), vocabulary=2).round(3).tolist()
    [0.667, 0.333]
    """
    counts = np.bincount(tokens[:_COUNTED], minlength=vocabulary).astype(np.float64)
    return (counts + 1) / (counts.sum() + vocabulary)


def unigram_baseline(train: Tokens, validation: Tokens | None, vocabulary: int) -> dict[str, Any]:
    """The rule in words, and its loss and accuracy on the validation text; {} if there is none.

    >>> train, validation = Tokens(np.array([0, 0, 0, 1])), Tokens(np.array([0, 1]))
    >>> found = unigram_baseline(train, validation, vocabulary=2)  # p = 4/6, 2/6
    >>> round(found["metrics"]["loss"], 4), found["metrics"]["accuracy"]
    (0.752, 0.5)
    """
    if validation is None or not len(validation):
        return {}
    p = token_shares(train, vocabulary)
    seen = np.bincount(validation[:_COUNTED], minlength=vocabulary) / min(len(validation), _COUNTED)
    metrics = {"loss": float(-(seen * np.log(p)).sum()), "accuracy": float(seen[p.argmax()])}
    return {"rule": "to guess each token by how often it occurs, whatever stands around it", "metrics": metrics}
