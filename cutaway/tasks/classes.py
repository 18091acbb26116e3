r"""Classes: the metrics of probabilities, and the rows that people read them from.

loss = mean −log p_y        accuracy = share of argmax p = y        macro F1 = mean over classes of 2 TP / (P + T)
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int


def class_metrics(p: Float[np.ndarray, "n c"], truth: Int[np.ndarray, "n"]) -> dict[str, float]:
    """Mean −log p of the true class, share of right answers, and the mean of the classes' F1.

    >>> class_metrics(np.array([[0.5, 0.5], [0.25, 0.75]]), np.array([1, 1]))["accuracy"]
    0.5
    """
    return answer_metrics(p[np.arange(len(truth)), truth], p.argmax(1), truth, p.shape[1])


def answer_metrics(
    p: Float[np.ndarray, "n"], predicted: Int[np.ndarray, "n"], truth: Int[np.ndarray, "n"], classes: int
) -> dict[str, float]:
    """The same of the probability of each true class, and of the class that is most probable."""
    right = float((predicted == truth).mean())
    found = np.bincount(predicted, minlength=classes) + np.bincount(truth, minlength=classes)
    hits = np.bincount(truth[predicted == truth], minlength=classes)
    f1 = 2 * hits[found > 0] / found[found > 0]  # a class that is neither there nor guessed says nothing
    loss = -np.log(np.clip(p, 1e-12, None)).mean()
    return {"loss": float(loss), "accuracy": right, "macro_f1": float(f1.mean())}


def label_rows(
    inputs: Sequence[Mapping[str, Any]], target: str, labels: Sequence[str], p: Float[np.ndarray, "n c"]
) -> list[dict[str, Any]]:
    """A row for each input: what it is, the most probable label under the name of the target, and P(label) for all.

    >>> label_rows([{"text": "fine"}], "tone", ["bad", "good"], np.array([[0.25, 0.75]]))
    [{'text': 'fine', 'tone': 'good', 'P(bad)': 0.25, 'P(good)': 0.75}]
    """
    return [
        dict(row)
        | {target: labels[int(own.argmax())]}
        | {f"P({label})": float(value) for label, value in zip(labels, own, strict=True)}
        for row, own in zip(inputs, p, strict=True)
    ]
