r"""Heads of tasks: each task has the output unit, the loss and the metric that fit its targets.

    task           outputs                 prediction             loss             metric
    regression     ŷ = s                   s                      squared loss     R²
    binary         ŷ = σ(s)                s ≥ 0                  log loss         accuracy
    multi-class    ŷ = softmax(s)          argmax s               cross entropy    accuracy
    multi-label    ŷ_j = σ(s_j)            s_j ≥ 0 each           log loss         F1 over all labels

In all of them s = x W + b. The task is found from the targets alone: floats are values to predict, two distinct
integers or bools are a binary choice, other integers are classes 0 … C−1, the columns of a matrix of 0
and 1 are labels. What the data cannot tell (floats that stand for classes) the caller says with ``kind=``.

McCullagh, Nelder 1989 (an output unit and its loss as a pair). Notes: N3 §2.4–2.5.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from cutaway.blocks.checks import expect_choice, expect_items, expect_positive, expect_same_shape
from cutaway.blocks.dense.affine import Linear
from cutaway.blocks.losses.metrics import Metric, accuracy, balanced_accuracy, f1, macro_f1, r_squared
from cutaway.blocks.losses.pointwise import cross_entropy_loss, log_loss, squared_loss
from cutaway.inside.taps import Tap
from cutaway.overriding import override

KINDS = ("regression", "binary", "multi-class", "multi-label")


@dataclass(frozen=True)
class Task:
    """What to predict: the ``kind``, how many ``outputs`` the head has, and the two ``labels`` of a binary choice.

    Made by `find_task`, or by hand: ``Task("multi-class", outputs=10)``.
    """

    kind: str
    outputs: int = 1
    labels: tuple[float, float] = (0, 1)

    def __post_init__(self) -> None:
        expect_choice("kind", self.kind, KINDS)
        expect_positive(outputs=self.outputs)
        if self.kind == "binary" and self.outputs != 1:
            raise ValueError(
                f"a binary task has outputs=1, got outputs={self.outputs}; for two classes with an output each use "
                "kind='multi-class', for several yes-or-no labels kind='multi-label'"
            )
        if self.labels[0] == self.labels[1]:
            raise ValueError(f"the two labels must differ, got {self.labels[0]} twice; the default is labels=(0, 1)")
        if self.kind == "multi-class" and self.outputs < 2:
            raise ValueError(
                f"a multi-class task needs outputs=2 or more, got outputs={self.outputs}; for one use kind='binary'"
            )


def find_task(targets: Shaped[Tensor, "..."], kind: str | None = None) -> Task:
    """The task that targets (examples,) or (examples, outputs) ask for; ``kind`` says what the data cannot tell.

    >>> find_task(torch.tensor([0, 2, 1, 2]))
    Task(kind='multi-class', outputs=3, labels=(0, 1))
    >>> find_task(torch.tensor([0.0, 2.0, 1.0, 2.0]))
    Task(kind='regression', outputs=1, labels=(0, 1))
    """
    if kind is not None:
        expect_choice("kind", kind, KINDS)
    _expect_targets(targets)
    if kind is None:
        kind = _guess(targets)
    if kind == "regression":
        return Task(kind, targets.shape[1] if targets.ndim == 2 else 1)
    if targets.is_floating_point() and (targets != targets.round()).any():
        raise ValueError(f"targets of a {kind} task must be whole numbers, got fractions; use kind='regression'")
    if kind == "multi-label":
        return Task(kind, _count_labels(targets))
    if targets.ndim != 1:
        raise ValueError(
            f"targets of a {kind} task must have shape (examples,), got {tuple(targets.shape)}; "
            "from one-hot rows take targets.argmax(-1)"
        )
    if kind == "binary":
        values = targets.unique().tolist()
        if len(values) != 2:
            raise ValueError(f"a binary task has 2 distinct targets, got {len(values)}; use kind='multi-class'")
        return Task(kind, labels=(values[0], values[1]))
    return Task(kind, _count_classes(targets))


class Head(nn.Module):
    r"""The output layer of a task, with the loss, predictions and metric that belong to it.

        s = x W + b

    ``forward`` returns s, shape (..., outputs): values for regression, else logits. The other methods take s.
    Targets and predictions have shape (...) for one output and for classes, (..., outputs) otherwise. Tap: ``output``.
    """

    output_layers = ("linear",)

    def __init__(self, width: int, task: Task) -> None:
        super().__init__()
        expect_positive(width=width)
        self.task = task
        self.linear = Linear(width, task.outputs)
        self.output = Tap()

    @override
    def forward(self, x: Float[Tensor, "*b i"]) -> Float[Tensor, "*b o"]:
        s = self.linear(x)
        if self.output.live:
            s = self.output(s)
        return s

    def loss(self, outputs: Float[Tensor, "*b o"], targets: Shaped[Tensor, "..."]) -> Float[Tensor, "*b"]:
        """The loss of every example; `cost` makes one number of them."""
        kind = self.task.kind
        if kind == "multi-class":
            return cross_entropy_loss(outputs, targets.long())
        if self._scalar:
            expect_same_shape("outputs[..., 0]", outputs[..., 0], "targets", targets)
            targets = targets[..., None]
        if kind == "regression":
            return squared_loss(outputs, targets.to(outputs.dtype))
        return log_loss(outputs, targets == self.task.labels[1])

    def predict(self, outputs: Float[Tensor, "*b o"]) -> Shaped[Tensor, "..."]:
        """Predictions in the form of the targets: values, one of the two labels, a class, or a bool for every label."""
        kind = self.task.kind
        if kind == "multi-class":
            return outputs.argmax(-1)
        s = outputs[..., 0] if self._scalar else outputs
        if kind == "regression":
            return s
        if kind == "multi-label":
            return s >= 0
        no, yes = self.task.labels
        return torch.where(s >= 0, yes, no)

    def probabilities(self, outputs: Float[Tensor, "*b o"]) -> Float[Tensor, "..."]:
        """P(second label), P(class c) for every class, or P(label j) for every label."""
        kind = self.task.kind
        if kind == "regression":
            raise ValueError("probabilities need a classification task, got kind='regression'; use predict")
        if kind == "multi-class":
            return outputs.softmax(-1)
        return (outputs[..., 0] if self._scalar else outputs).sigmoid()

    @property
    def metric(self) -> Metric:
        """The measure of the task; more is better, and 1 is perfect."""
        return self.metrics[0]

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The metric of the task, then those in which a rare class or label counts as much as a frequent one."""
        if self.task.kind == "regression":
            return (Metric("R²", r_squared),)
        if self.task.kind == "multi-label":
            return (Metric("F1", f1), Metric("macro F1", macro_f1))
        return (
            Metric("accuracy", accuracy),
            Metric("balanced accuracy", balanced_accuracy),
            Metric("macro F1", macro_f1),
        )

    @property
    def _scalar(self) -> bool:
        """Whether targets have no axis for the single output."""
        return self.task.outputs == 1 and self.task.kind != "multi-label"

    @override
    def extra_repr(self) -> str:
        return self.task.kind


def _guess(targets: Tensor) -> str:
    if targets.is_floating_point():
        return "regression"
    if targets.ndim == 2:
        if (targets.sum(1) == 1).all():
            raise ValueError(
                f"targets must tell classes from labels, got shape {tuple(targets.shape)} with one 1 in every row; "
                "pass targets.argmax(-1) for classes, or kind='multi-label'"
            )
        return "multi-label"
    return "binary" if targets.dtype == torch.bool or len(targets.unique()) == 2 else "multi-class"


def _expect_targets(targets: Tensor) -> None:
    shape = tuple(targets.shape)
    if targets.is_complex():
        raise ValueError(f"targets must be real, got {targets.dtype}; predict real and imaginary parts as two outputs")
    if targets.ndim not in (1, 2):
        raise ValueError(
            f"targets must have shape (examples,) or (examples, outputs), got {shape}; flatten them, or make the Task "
            "by hand"
        )
    if targets.ndim == 2 and targets.shape[1] == 1:
        raise ValueError(f"targets of one column must have shape (examples,), got {shape}; pass targets[:, 0]")
    expect_items("targets", targets)
    if targets.is_floating_point() and not targets.isfinite().all():
        bad = int((~targets.isfinite()).sum())
        raise ValueError(
            f"targets must be finite, got {bad} NaN or infinite of {targets.numel()}; leave those examples out"
        )
    if (targets == targets[0]).all():
        value = targets.flatten()[0].item()
        got = f"{value} in all {targets.numel()}" if targets.ndim == 1 else f"one row in all {len(targets)}"
        raise ValueError(f"targets must differ, got {got}; there is nothing to learn, check how they were read")


def _count_labels(targets: Tensor) -> int:
    least, most = (int(x) for x in targets.long().aminmax())
    if targets.ndim != 2 or not (least >= 0 and most <= 1):
        raise ValueError(
            f"labels must be a matrix of 0 and 1, got shape {tuple(targets.shape)} with values from {least} to {most}; "
            "for numbers to predict pass targets.float(), for classes a vector"
        )
    return targets.shape[1]


def _count_classes(targets: Tensor) -> int:
    ids = targets.long().unique().tolist()
    least, most = ids[0], ids[-1]
    if least < 0:
        raise ValueError(
            f"class ids must be 0 or more, got {least}; "
            "renumber them with torch.unique(targets, return_inverse=True)[1]"
        )
    if most >= 10 * len(ids):  # codes or years rather than classes: nearly all outputs would be idle
        raise ValueError(
            f"class ids must run from 0 to C−1, got {len(ids)} distinct ids up to {most}; renumber them with "
            "torch.unique(targets, return_inverse=True)[1], or for numbers to predict pass targets.float()"
        )
    return most + 1
