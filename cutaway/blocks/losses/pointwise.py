r"""Losses measure how far one example's outputs are from its target; the cost is their mean over all examples.

    squared       L = (1/o) Σ_j (ŷ_j − y_j)²
    absolute      L = (1/o) Σ_j |ŷ_j − y_j|
    power         L = (1/o) Σ_j |ŷ_j − y_j|^p
    log loss      L = −(1/o) Σ_j [y_j log σ(s_j) + (1 − y_j) log σ(−s_j)]
    cross entropy L = −Σ_c y_c log softmax(s)_c
    hinge         L = (1/o) Σ_j max(0, 1 − t_j s_j),   t_j = ±1
    0–1           L = (1/o) Σ_j [ŷ_j ≠ y_j]
    cost          J = Σ_i w_i L_i / Σ_i w_i,           w_i = 1 by default

Every loss returns one number per example: the last axis holds the o outputs (or classes) of one example, all axes
before it count examples. A single output has a last axis of length 1. Classification starts from the logits s, never
from probabilities, so nothing overflows. Targets say by their dtype what they are: bools are labels (yes or no),
integers are classes, floats are values or probabilities.

Notes: N0 §1.3–1.4, N3 §2.5, §3 (✎ N3 swaps the two words: a *loss* is per example, a *cost* for all of them, with any
penalties added). Log loss: Good 1952. Hinge: Cortes, Vapnik 1995; several classes: Crammer, Singer 2001. Label
smoothing: Szegedy et al. 2016.
"""

import torch
from jaxtyping import Bool, Float, Integer
from torch import Tensor, nn

from cutaway.blocks.checks import (
    expect_choice,
    expect_float,
    expect_items,
    expect_probability,
    expect_same_shape,
)
from cutaway.blocks.losses.distances import log, log_softmax, p_log_q


def squared_loss(outputs: Float[Tensor, "*b o"], targets: Float[Tensor, "*b o"]) -> Float[Tensor, "*b"]:
    r"""The mean squared difference between outputs and targets, without the factor ½ that some books write.

        L = (1/o) Σ_j (ŷ_j − y_j)²

    >>> squared_loss(torch.tensor([[1.0, 5.0], [0.0, 0.0]]), torch.tensor([[1.0, 2.0], [0.0, 0.0]]))
    tensor([4.5000, 0.0000])
    """
    _expect_values(outputs, targets)
    return (outputs - targets).square().mean(-1)


def absolute_loss(outputs: Float[Tensor, "*b o"], targets: Float[Tensor, "*b o"]) -> Float[Tensor, "*b"]:
    r"""The mean absolute difference between outputs and targets. Its slope at 0 is taken as 0.

        L = (1/o) Σ_j |ŷ_j − y_j|

    >>> absolute_loss(torch.tensor([[1.0, 5.0]]), torch.tensor([[1.0, 2.0]]))
    tensor([1.5000])
    """
    _expect_values(outputs, targets)
    return (outputs - targets).abs().mean(-1)


def power_loss(outputs: Float[Tensor, "*b o"], targets: Float[Tensor, "*b o"], power: float) -> Float[Tensor, "*b"]:
    r"""The mean of a power p ≥ 1 of the differences, absolute at 1 and squared at 2. No p-th root is taken.

        L = (1/o) Σ_j |ŷ_j − y_j|^p

    >>> power_loss(torch.tensor([[1.0, 5.0]]), torch.tensor([[1.0, 2.0]]), power=3)
    tensor([13.5000])
    """
    _expect_values(outputs, targets)
    if not 1 <= power < float("inf"):
        raise ValueError(f"power must be a finite number from 1 up, got {power}; try power=1 or power=2")
    return (outputs - targets).abs().pow(power).mean(-1)


def log_loss(
    logits: Float[Tensor, "*b o"], targets: Bool[Tensor, "*b o"] | Float[Tensor, "*b o"]
) -> Float[Tensor, "*b"]:
    r"""The log loss of yes-or-no questions, one per output: −log of the probability given to the right answer.

        L = −(1/o) Σ_j [y_j log σ(s_j) + (1 − y_j) log σ(−s_j)]

    One output is binary, several are multi-label classification. Targets are labels (bool) or probabilities (float).
    Averaged over the outputs; the negative log-likelihood of all labels together is o times as large.

    >>> log_loss(torch.tensor([[0.0], [1e4], [-1e4]]), torch.tensor([[True], [True], [True]]))
    tensor([6.9315e-01, 0.0000e+00, 1.0000e+04])
    """
    _expect_outputs("logits", logits)
    expect_same_shape("logits", logits, "targets", targets)
    if targets.dtype == torch.bool:
        return (-nn.functional.logsigmoid(_margins(logits, targets))).mean(-1)
    if not targets.is_floating_point():
        raise ValueError(
            f"targets must be labels (bool) or probabilities (float), got {targets.dtype}; "
            "convert labels with targets.bool(), for class indices use cross_entropy_loss"
        )
    # Two logarithms, not softplus(s) − y s: that cancels where the prediction is right and sure.
    yes, no = nn.functional.logsigmoid(logits), nn.functional.logsigmoid(-logits)
    return (-targets * yes - (1 - targets) * no).mean(-1)


def cross_entropy_loss(
    logits: Float[Tensor, "*b c"],
    targets: Integer[Tensor, "*b"] | Float[Tensor, "*b c"],
    label_smoothing: float = 0.0,
) -> Float[Tensor, "*b"]:
    r"""The cross entropy of the right class: −log of the probability that it was given.

        L = −Σ_c y_c log softmax(s)_c

    Targets are class indices (integers) or probability vectors (floats). ``label_smoothing`` α moves the share α of y
    to the uniform distribution: y ← (1 − α) y + α/c. To leave out padding, give it weight 0 in `cost`.

    >>> cross_entropy_loss(torch.tensor([[0.0, 0.0], [1e4, 0.0]]), torch.tensor([0, 1]))
    tensor([6.9315e-01, 1.0000e+04])
    """
    _expect_outputs("logits", logits)
    expect_probability(label_smoothing=label_smoothing)
    log_q = log_softmax(logits)
    if targets.is_floating_point():
        expect_same_shape("logits", logits, "probability targets", targets)
        loss = (-p_log_q(targets, log_q)).sum(-1)
    else:
        _expect_classes(logits, targets)
        loss = -_pick(log_q, targets)
    if label_smoothing:
        loss = (1 - label_smoothing) * loss - label_smoothing * log_q.mean(-1)
    return loss


def kl_loss(logits: Float[Tensor, "*b c"], targets: Float[Tensor, "*b c"]) -> Float[Tensor, "*b"]:
    r"""The divergence of the predicted distribution from the target y, a probability vector.

        L = KL(y ‖ softmax(s)) = Σ_c y_c (log y_c − log softmax(s)_c)

    It is the cross entropy less the entropy of y: same slope in s, but 0 where the prediction is perfect.

    >>> kl_loss(torch.tensor([0.0, 0.0]), torch.tensor([0.5, 0.5]))
    tensor(0.)
    """
    _expect_values(logits, targets, "logits")
    return (p_log_q(targets, log(targets)) - p_log_q(targets, log_softmax(logits))).sum(-1)


def hinge_loss(logits: Float[Tensor, "*b o"], targets: Bool[Tensor, "*b o"]) -> Float[Tensor, "*b"]:
    r"""What each output lacks of a margin of 1 on the right side of 0.

        L = (1/o) Σ_j max(0, 1 − t_j s_j)

    with t_j = +1 where the label is True and −1 where it is False.

    Labels are bools, so that −1/+1 and 0/1 cannot be mixed up: ``labels > 0`` makes them from either.

    >>> hinge_loss(torch.tensor([[2.0], [0.5], [0.5]]), torch.tensor([[True], [True], [False]]))
    tensor([0.0000, 0.5000, 1.5000])
    """
    _expect_outputs("logits", logits)
    if targets.dtype != torch.bool:
        raise ValueError(
            f"targets must be labels (bool), got {targets.dtype}; "
            "convert −1/+1 or 0/1 with targets > 0, for class indices use multiclass_hinge_loss"
        )
    expect_same_shape("logits", logits, "targets", targets)
    return (1 - _margins(logits, targets)).relu().mean(-1)


def multiclass_hinge_loss(logits: Float[Tensor, "*b c"], targets: Integer[Tensor, "*b"]) -> Float[Tensor, "*b"]:
    r"""What the right class y lacks of a margin of 1 over the best of the others (Crammer, Singer 2001).

        L = max(0, 1 + max_{c≠y} s_c − s_y)

    torch.nn.MultiMarginLoss is another one: it adds up the margins missed with every class (Weston, Watkins 1999).

    >>> multiclass_hinge_loss(torch.tensor([[3.0, 2.5, 9.0]]), torch.tensor([0]))
    tensor([7.])
    """
    _expect_outputs("logits", logits)
    if logits.shape[-1] < 2:
        raise ValueError(
            f"the margin is over another class, so logits must have at least 2, got shape {tuple(logits.shape)}; "
            "for one output per example use hinge_loss"
        )
    _expect_classes(logits, targets)
    rivals = logits.scatter(-1, targets.long()[..., None], float("-inf")).amax(-1)
    return (1 + rivals - _pick(logits, targets)).relu()


def zero_one_loss(
    logits: Float[Tensor, "*b o"], targets: Bool[Tensor, "*b o"] | Integer[Tensor, "*b"]
) -> Float[Tensor, "*b"]:
    r"""The share of wrong answers. Its slope is 0, so nothing can train on it.

        L = (1/o) Σ_j [ŷ_j ≠ y_j]

    For labels (bool) the prediction is s_j ≥ 0, as of the threshold unit; for classes (integers) it is argmax s.

    >>> zero_one_loss(torch.tensor([[2.0, -1.0], [2.0, 1.0]]), torch.tensor([[True, True], [True, True]]))
    tensor([0.5000, 0.0000])
    """
    _expect_outputs("logits", logits)
    if targets.dtype == torch.bool:
        expect_same_shape("logits", logits, "targets", targets)
        return ((logits >= 0) != targets).to(logits.dtype).mean(-1)
    _expect_classes(logits, targets)
    return (logits.argmax(-1) != targets).to(logits.dtype)


def cost(
    losses: Float[Tensor, "*b"],
    reduction: str = "mean",
    weights: Float[Tensor, "*b"] | Bool[Tensor, "*b"] | None = None,
) -> Float[Tensor, ""]:
    r"""One number from the losses of all examples, their mean or sum.

        J = Σ_i w_i L_i / Σ_i w_i      "mean"
        J = Σ_i w_i L_i                "sum"

    ``weights`` may be a mask. Where all of them are 0 there is nothing to learn from, and the cost is 0. Penalties on
    the parameters are not part of it: add them in the training code.

    >>> cost(torch.tensor([1.0, 2.0, 9.0]), weights=torch.tensor([True, True, False]))
    tensor(1.5000)
    """
    expect_choice("reduction", reduction, ("mean", "sum"))
    expect_float("losses", losses)
    if reduction == "mean":
        expect_items("losses", losses)
    if weights is None:
        return losses.mean() if reduction == "mean" else losses.sum()
    expect_same_shape("losses", losses, "weights", weights)
    w = weights.to(losses.dtype)
    total = (w * losses).sum()
    if reduction == "sum":
        return total
    return total / w.sum().masked_fill(w.sum() == 0, 1)


def _margins(logits: Tensor, labels: Tensor) -> Tensor:
    """t s, with t = ±1: how far each logit is on the right side."""
    return torch.where(labels, logits, -logits)


def _pick(scores: Tensor, classes: Tensor) -> Tensor:
    return scores.gather(-1, classes.long()[..., None]).squeeze(-1)


def _expect_outputs(name: str, x: Tensor) -> None:
    expect_float(name, x)
    if x.ndim == 0 or x.shape[-1] == 0:
        raise ValueError(
            f"the last axis of {name} must hold the outputs of one example, got shape {tuple(x.shape)}; "
            "for a single output give it length 1"
        )


def _expect_values(outputs: Tensor, targets: Tensor, name: str = "outputs") -> None:
    _expect_outputs(name, outputs)
    expect_float("targets", targets)
    expect_same_shape(name, outputs, "targets", targets)


def _expect_classes(logits: Tensor, targets: Tensor) -> None:
    if targets.is_floating_point() or targets.is_complex() or targets.dtype == torch.bool:
        raise ValueError(
            f"class indices must be integers, got {targets.dtype}; convert whole numbers with targets.long(), "
            "for yes-or-no labels use log_loss or hinge_loss"
        )
    if targets.shape != logits.shape[:-1]:
        raise ValueError(
            f"class indices must have the shape of the logits without its last axis, got {tuple(targets.shape)} for "
            f"logits of {tuple(logits.shape)}; from one-hot rows take targets.argmax(-1)"
        )
