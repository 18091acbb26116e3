r"""What a base and the model that was tuned from it answer to held-out vertices and graphs.

The base has no head for the task: its answer is the class whose mean vector of training vertices (or graphs) is
nearest, by the cosine.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from cutaway.blocks.losses.contrastive import prototypes
from cutaway.data.graphs.graph_set import GraphRows, GraphSet
from cutaway.tasks.graphs.graph_networks import batch_of, outcome_outputs
from cutaway.tuning.comparison import Answers, nearest_mean

if TYPE_CHECKING:
    from cutaway.tasks.graphs.learners.vertices import VertexNetwork

_ANSWERED = 400  # whose answers are compared
_LEARNED = 600  # training graphs that a class's mean is taken of


@torch.no_grad()
def vertex_answers(base: Any, learner: "VertexNetwork") -> Answers | None:
    """The classes of held-out vertices by class means in the base's states, and those that the tuned model gives."""
    data = learner.task.parts
    if data.validation is None or not data.classes or data.targets is None:
        return None
    rows = data.validation[:_ANSWERED]
    graph = learner.task.graph.to(next(base.parameters()).device)
    every = base.every_state(graph)
    states = every[max(0, len(every) - 1 - (base.head_parts != ("head",)))].float().cpu()
    known = torch.from_numpy(data.train)
    before = _nearest(states[known], data.targets[known], states[torch.from_numpy(rows)], len(data.classes))
    after = learner.outputs(rows).argmax(1).numpy()
    names = [str(data.names[i]) for i in rows]
    return _answers(names, before, after, data.targets[rows].numpy(), data.classes, "vertices")


@torch.no_grad()
def graph_answers(base: Any, tuned: Any, data: GraphSet) -> Answers | None:
    """The same of whole graphs, by the means of their vertices' states."""
    if data.validation is None or not data.classes or data.train.targets is None:
        return None
    rows = data.validation.take(range(min(len(data.validation), _ANSWERED)))
    some = data.train.take(np.linspace(0, len(data.train) - 1, min(_LEARNED, len(data.train))).astype(np.int64))
    assert some.targets is not None
    assert rows.targets is not None
    before = _nearest(_means(base, some), some.targets, _means(base, rows), len(data.classes))
    after = outcome_outputs(tuned, rows.graphs).argmax(1).numpy()
    names = [f"graph {name}" if str(name).isdigit() else str(name) for name in rows.names]
    return _answers(names, before, after, rows.targets.numpy(), data.classes, "graphs")


def _means(base: Any, rows: GraphRows) -> Float[Tensor, "n w"]:
    from cutaway.blocks.graph_layers.readouts import readout_mean

    graph = batch_of(base, rows.graphs)
    z = base.represent(graph)
    return (readout_mean(z, graph) if getattr(base.spec, "purpose", "graphs") != "graphs" else z).float().cpu()


def _nearest(
    known: Float[Tensor, "k w"], classes: Int[Tensor, "k"], asked: Float[Tensor, "n w"], count: int
) -> Int[np.ndarray, "n"]:
    centres = prototypes(known, classes, count)
    return (nn.functional.normalize(asked, dim=1) @ nn.functional.normalize(centres, dim=1).T).argmax(1).numpy()


def _answers(
    names: list[str], before: np.ndarray, after: np.ndarray, truth: np.ndarray, classes: tuple[str, ...], what: str
) -> Answers:
    told = [[classes[int(k)] for k in found] for found in (before, after)]
    shown = [f"{name} (is {classes[int(k)]})" for name, k in zip(names, truth, strict=True)]
    right = before == truth, after == truth
    return Answers(shown, told[0], told[1], *right, nearest_mean(what), what.capitalize())


__all__ = ["graph_answers", "vertex_answers"]
