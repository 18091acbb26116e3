r"""Views of runs that classify whole series: mistakes, which part of a series spoke for its class, hardest series."""

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from cutaway.look import confusion_matrix
from cutaway.look.pages.picture import Picture
from cutaway.look.series.evidence import evidence_picture
from cutaway.tasks.subjects import Subject

if TYPE_CHECKING:
    from cutaway.runs.run import Run

_PANELS = 6


def classifies_series(run: "Run") -> bool:
    """Runs of models that give a whole series one class."""
    return run.recipe.task_kind == "series/classify"


def mistakes(run: "Run", subject: Subject) -> list[Picture]:
    """How many held-out series of each class are taken for which."""
    rows = run.task.parts.validation
    if rows is None:
        return []
    learner: Any = run.learner
    labels = learner.task.labels
    counts = np.zeros((len(labels),) * 2, dtype=np.int64)
    np.add.at(counts, (rows.targets, learner.outputs(rows).argmax(1)), 1)
    return [
        confusion_matrix(counts, labels, title=f"What each class is taken for: {len(rows.targets):,} held-out series")
    ]


def speaking_parts(run: "Run", subject: Subject) -> Picture:
    """Which part of a series speaks for the class that the model gives it."""
    values, *rest = subject.arguments
    return _evidence(run, values, rest[0] if rest else None, "Which part of a series speaks for its class")


def hardest(run: "Run", subject: Subject) -> list[Picture]:
    """The held-out series whose true class the model finds least likely."""
    rows = run.task.parts.validation
    if rows is None:
        return []
    learner: Any = run.learner
    likely = learner.outputs(rows)[np.arange(len(rows.targets)), rows.targets]
    chosen = rows.take(np.argsort(likely)[:_PANELS])
    lengths = torch.from_numpy(chosen.lengths)
    picture = _evidence(run, torch.from_numpy(chosen.values), lengths, "The hardest held-out series", chosen.targets)
    return [picture.captioned("The true class of these was least likely to the model: mistakes, or close to one.")]


def _evidence(run: "Run", values: Any, lengths: Any, title: str, truth: Any = None) -> Picture:
    """The evidence for the predicted class at every step: exact terms of the logit, or gradient × input."""
    model: Any = run.model
    labels = run.task.labels
    values = values[:_PANELS].to(model.device)
    lengths = torch.full((len(values),), values.shape[1]) if lengths is None else lengths[:_PANELS].cpu()
    inputs = (values, lengths.to(model.device))
    with torch.no_grad():
        p = model(*inputs).softmax(-1).cpu()
    best = p.argmax(-1)
    if model.spec.design == "conv":
        with torch.no_grad():
            terms = model.evidence(*inputs).cpu()
        # against the mean of all classes: what all classes have in common decides nothing
        terms = (terms - terms.mean(-1, keepdim=True)).gather(-1, best[:, None, None].expand(-1, terms.shape[1], 1))[
            ..., 0
        ]
        of = "evidence"
    else:
        asked = values.clone().requires_grad_()
        (slope,) = torch.autograd.grad(model(asked, inputs[1]).cpu().gather(-1, best[:, None]).sum(), asked)
        terms, of = (slope * (values - model.mean)).sum(-1).cpu(), "gradient × value"
    names = []
    for i, j in enumerate(best.tolist()):
        told = "" if truth is None or truth[i] == j else f" (is {labels[truth[i]]})"
        names.append(f"{labels[j]}, {p[i, j]:.0%}{told}")
    cut = [int(n) for n in lengths]
    return evidence_picture(
        [values[i, :n].cpu() for i, n in enumerate(cut)],
        [terms[i, :n] for i, n in enumerate(cut)],
        names,
        title=title,
        of=of,
    )


__all__ = ["classifies_series", "hardest", "mistakes", "speaking_parts"]
