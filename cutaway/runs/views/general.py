r"""Views of every run: how training went, its weights, and the graph of a pass."""

from typing import TYPE_CHECKING

from cutaway.look import curves, flow_pictures, histograms
from cutaway.look.graph_drawing.svg import graph_picture
from cutaway.look.graphs import graph as compute_graph
from cutaway.look.pages.picture import Picture
from cutaway.tasks.subjects import Subject
from cutaway.training.flow_log import read_flow

if TYPE_CHECKING:
    from cutaway.runs.run import Run

_HISTOGRAMS = 24  # matrices shown, spread over the depth of the model


def has_metrics(run: "Run") -> bool:
    """Runs that were trained here."""
    return any("loss" in row for row in run.metrics)


def losses(run: "Run", subject: Subject) -> Picture:
    """The loss over the steps of training."""
    return curves(run.metrics, unit=run.loss_unit)


def has_flow(run: "Run") -> bool:
    """Runs trained with flow_every."""
    return bool(read_flow(run.path))


def gradient_flow(run: "Run", subject: Subject) -> list[Picture]:
    """Gradients and updates of every layer over the steps of training."""
    return flow_pictures(read_flow(run.path))


def has_weights(run: "Run") -> bool:
    """All runs with matrices of weights."""
    return any(p.ndim > 1 for p in run.model.parameters())


def weights(run: "Run", subject: Subject) -> Picture:
    """Histograms of the matrices, all on one axis."""
    names = [name for name, p in run.model.named_parameters() if p.ndim > 1]
    shown = names
    if len(names) > _HISTOGRAMS:
        shown = [names[i * (len(names) - 1) // (_HISTOGRAMS - 1)] for i in range(_HISTOGRAMS)]
    picture = histograms(run.model, shown, title="Distribution of the weights, matrix by matrix")
    if shown is not names:
        picture.note += f" {len(shown)} of {len(names)} matrices, spread over the model."
    return picture


def has_parameters(run: "Run") -> bool:
    """All runs that can be given an input."""
    return any(True for _ in run.model.parameters())


def graph(run: "Run", subject: Subject) -> list[Picture]:
    """The operators of the forward pass, folded by module."""
    if not subject.arguments:
        return []
    recorded = compute_graph(run.model, *subject.arguments, keep="shapes", deltas=False)
    return [graph_picture(recorded, title="The forward pass, folded by module")]
