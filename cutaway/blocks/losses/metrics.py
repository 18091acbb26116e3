r"""Metrics: how good predictions are, as one number that a person reads. More is better, and 1 is perfect.

    R² = 1 − Σ (ŷ − y)² / Σ (y − ȳ)²              numbers: the share of their variance that is predicted
    accuracy = share of ŷ = y                     classes
    balanced accuracy = mean over classes c of the accuracy on rows of c
    F1 = 2 TP / (2 TP + FP + FN)                  labels: the harmonic mean of precision and recall
    macro F1 = mean over classes or labels of their F1

Where 95 of 100 rows are of one class, always saying that class has an accuracy of 0.95 but a balanced accuracy of 1/C.
Metrics read the values and give a Python number; there is no gradient. Brodersen et al. 2010 (balanced accuracy).
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor

from cutaway.blocks.checks import expect_items, expect_same_shape


class Metric(NamedTuple):
    """A metric: its name, and the function of (predictions, targets) that measures it."""

    name: str
    function: Callable[[Tensor, Tensor], float]


def r_squared(predictions: Float[Tensor, "*b"], targets: Shaped[Tensor, "*b"]) -> float:
    r"""The share of the squared error of the mean that the predictions do away with.

        R² = 1 − Σ (ŷ − y)² / Σ (y − ȳ)²

    The first axis counts examples. Several outputs have a mean ȳ each and add up, so those that vary more count more.
    Constant targets: 1 for a perfect prediction, else −∞.

    >>> r_squared(torch.tensor([1.0, 2.0, 6.0]), torch.tensor([1.0, 2.0, 3.0]))  # 1 − 9/2
    -3.5
    """
    expect_same_shape("predictions", predictions, "targets", targets)
    expect_items("targets", targets)
    y = targets.to(predictions.dtype)
    error = (predictions - y).square().sum().item()
    spread = (y - y.mean(0)).square().sum().item()
    if spread == 0:
        return 1.0 if error == 0 else float("-inf")
    return 1 - error / spread


def accuracy(predictions: Shaped[Tensor, "*b"], targets: Shaped[Tensor, "*b"]) -> float:
    """The share of predictions that equal their target.

    >>> accuracy(torch.tensor([0, 2, 1, 1]), torch.tensor([0, 2, 2, 1]))
    0.75
    """
    expect_same_shape("predictions", predictions, "targets", targets)
    expect_items("targets", targets)
    return (predictions == targets).double().mean().item()


def f1(predictions: Bool[Tensor, "*b"], targets: Shaped[Tensor, "*b"]) -> float:
    r"""The harmonic mean of precision and recall, counted over all labels of all examples (micro-averaged).

        F1 = 2 TP / (2 TP + FP + FN)

    Rare labels make "none" right nearly always, so right negatives do not count. Nothing to find and nothing found: 1.

    >>> f1(torch.tensor([[True, False], [True, True]]), torch.tensor([[True, False], [False, True]]))
    0.8
    """
    expect_same_shape("predictions", predictions, "targets", targets)
    expect_items("targets", targets)
    truth = targets.bool()
    hits = (predictions & truth).sum().item()
    misses = (predictions != truth).sum().item()
    return 2 * hits / (2 * hits + misses) if hits + misses else 1.0


def balanced_accuracy(predictions: Shaped[Tensor, "*b"], targets: Shaped[Tensor, "*b"]) -> float:
    r"""The mean, over the classes that the targets have, of the share of their examples that is predicted right.

        1/C Σ_c  #{ŷ = y = c} / #{y = c}

    Every class counts the same, however rare. Two classes: the mean of sensitivity and specificity.

    >>> balanced_accuracy(torch.tensor([0, 0, 0, 0]), torch.tensor([0, 0, 0, 1]))  # accuracy 0.75
    0.5
    """
    expect_same_shape("predictions", predictions, "targets", targets)
    expect_items("targets", targets)
    hits, _, examples = _counts(predictions, targets)
    there = examples > 0
    return (hits[there] / examples[there]).mean().item()


def macro_f1(predictions: Shaped[Tensor, "*b"], targets: Shaped[Tensor, "*b"]) -> float:
    r"""The mean F1 of the classes, or of the labels if predictions are bools with an axis of labels at the end.

        1/C Σ_c F1(ŷ = c, y = c)

    The classes are those that occur among targets or predictions.

    >>> macro_f1(torch.tensor([0, 0, 0, 0]), torch.tensor([0, 0, 0, 1]))  # (6/7 + 0) / 2
    0.42857142857142855
    """
    expect_same_shape("predictions", predictions, "targets", targets)
    expect_items("targets", targets)
    if predictions.dtype == torch.bool and predictions.ndim > 1:
        scores = [f1(predictions[..., j], targets[..., j]) for j in range(targets.shape[-1])]
        return sum(scores) / len(scores)
    hits, said, examples = _counts(predictions, targets)
    return (2 * hits / (said + examples)).mean().item()  # FP + TP is what was said, FN + TP what there is


def _counts(predictions: Tensor, targets: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """For every class that occurs: how often it was predicted right, predicted, and the target."""
    classes, ids = torch.cat([predictions.flatten(), targets.flatten()]).unique(return_inverse=True)
    guess, truth = ids.chunk(2)
    hits, said, examples = (
        torch.bincount(x, minlength=len(classes)).double() for x in (guess[guess == truth], guess, truth)
    )
    return hits, said, examples


__all__ = ["Metric", "accuracy", "balanced_accuracy", "f1", "macro_f1", "r_squared"]
