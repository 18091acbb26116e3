r"""Views of runs on links: scores of edges and of pairs without one, the best of them, held-out edges in the graph."""

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float, Int, Shaped

from cutaway.data.graphs.link_splits import Pairs
from cutaway.look import confusion_matrix, draw_graph, histogram, scatter
from cutaway.look.graph_signals.graph_galleries import ranking_curves
from cutaway.look.pages.picture import Picture
from cutaway.tasks.graphs.links import Links
from cutaway.tasks.subjects import Subject

if TYPE_CHECKING:
    from cutaway.runs.run import Run
    from cutaway.tasks.graphs.edges import EdgeLabels

_WHOLE = 120  # vertices of a graph that is drawn whole
_NEAR = 50  # vertices around the one whose links are drawn


def finds_links(run: "Run") -> bool:
    """Runs of models of links."""
    return run.recipe.kind == "graphs/links"


def link_scores(run: "Run", subject: Subject) -> list[Picture]:
    """The scores of held-out links and of pairs without one; classes or values of edges beside the true ones."""
    task: Any = run.task
    held = task.split.validation
    if not len(held):
        return []
    if not isinstance(task, Links):
        return [_edge_answers(run, task)]
    p = 1 / (1 + np.exp(-_scores(run, held)))
    first, second = (task.classes[1], task.classes[0]) if task.signed else ("links", "pairs without a link")
    parts = {
        f"{name} ({int((held.targets == k).sum()):,})": p[held.targets == k] for name, k in ((first, 1), (second, 0))
    }
    title = "What the network says of held-out pairs"
    called = f"P({task.classes[1]})" if task.signed else "P(link)"
    picture = histogram(
        {name: values for name, values in parts.items() if len(values)}, title=title, bins=40, value=called
    )
    return [picture.captioned(f"The {first} should lie at the right end and the {second} at the left.")]


def _scores(run: "Run", rows: Pairs) -> Float[np.ndarray, "n"]:
    """The scores of some pairs; above 0 is a link."""
    learner: Any = run.learner
    return learner.outputs(rows).double().numpy()


def _edge_answers(run: "Run", task: "EdgeLabels") -> Picture:
    held, data = task.split.validation, task.parts
    learner: Any = run.learner
    outputs = learner.outputs(held)
    if task.classes:
        counts = np.zeros((len(task.classes),) * 2, dtype=np.int64)
        np.add.at(counts, (held.targets, outputs.argmax(1).numpy()), 1)
        return confusion_matrix(counts, task.classes, title=f"What each class is taken for: {len(held):,} edges")
    names = [f"{data.names[u]} – {data.names[v]}" for u, v in held.pairs.T]
    picture = scatter(
        np.stack([held.targets, outputs[:, 0].numpy()], 1),
        labels=names,
        title=f"{data.edge_target or 'value'}: predicted beside true, {len(held):,} edges",
        axes=("true", "predicted"),
    )
    return picture.captioned("On the diagonal a prediction is right; edges far from it are worth a look.")


def best_pairs(run: "Run", subject: Subject) -> list[Picture]:
    """How many of the k best-scored held-out pairs are links, beside the best rule without a model."""
    task: Any = run.task
    if not isinstance(task, Links) or not len(task.split.validation):
        return []
    held = task.split.validation
    shares = {"the network": precision_at(_scores(run, held), held.targets)}
    for name, scores in task.rule_scores(held).items():
        shares[name] = precision_at(scores, held.targets)
    what = task.classes[1] if task.signed else "links"
    usual = float(held.targets.mean())
    return [
        ranking_curves(
            shares,
            title=f"Precision: how many of the k best pairs are {what}",
            value=f"share of {what} among the k best",
            caption=f"The longer a curve stays near 1, the better the ranking; by chance the share is {usual:.2f}.",
        )
    ]


def precision_at(scores: Float[np.ndarray, "n"], targets: Shaped[np.ndarray, "n"]) -> Float[np.ndarray, "n"]:
    """The share of positives among the k highest scores, for every k; of equal scores each counts as their mean.

    >>> precision_at(np.array([3.0, 2.0, 2.0, 1.0]), np.array([1, 0, 1, 0])).tolist()
    [1.0, 0.75, 0.6666666666666666, 0.5]
    """
    order = np.argsort(-scores, kind="stable")
    _, group, count = np.unique(-scores[order], return_inverse=True, return_counts=True)
    mean = np.bincount(group, targets[order]) / count
    return np.cumsum(mean[group]) / np.arange(1, len(scores) + 1)


def links_in_the_graph(run: "Run", subject: Subject) -> list[Picture]:
    """The graph, or the surroundings of a vertex, with held-out links found and missed; of classes, right and wrong."""
    task: Any = run.task
    data, held = task.parts, task.split.validation
    if not len(held):
        return []
    if isinstance(task, Links) and not task.signed:
        linked = held.targets == 1
        true = held.pairs[:, linked]
        found = _scores(run, Pairs(true, held.targets[linked])) > 0
        names = ("held out, found", "held out, missed")
        title, caption = "Held-out links", (
            f"Of {len(found):,} links that were taken out, {int(found.sum()):,} are given a probability above one "
            "half; missed ones often join vertices that share no neighbour."
        )  # fmt: skip
    elif not isinstance(task, Links) and task.classes:
        true = held.pairs
        learner: Any = run.learner
        found = learner.outputs(held).argmax(1).numpy() == held.targets
        names = ("held out, right", "held out, wrong")
        title, caption = "Held-out edges", (
            f"Of {len(found):,} edges whose class was not shown, {int(found.sum()):,} are given the right one; where "
            "wrong ones meet, a vertex does not keep to its habits."
        )  # fmt: skip
    else:
        return []
    train = task.graph.edges.cpu().numpy()
    vertex = subject.vertices[0] if subject.vertices else int(np.bincount(true.ravel()).argmax())
    kept = _surroundings(np.concatenate([train, true], 1), true, vertex, data.graph.vertices)
    place = np.full(data.graph.vertices, -1)
    place[kept] = np.arange(len(kept))
    parts = (("known", train), (names[0], true[:, found]), (names[1], true[:, ~found]))
    ends, kinds = [], []
    for kind, pairs in parts:
        inside = pairs[:, (place[pairs] >= 0).all(0)]
        ends.append(place[inside])
        kinds += [kind] * inside.shape[1]
    whole = len(kept) == data.graph.vertices
    where = "" if whole else f" around {data.names[vertex]}"
    return [
        draw_graph(
            SimpleNamespace(
                edges=torch.from_numpy(np.concatenate(ends, 1)), vertices=len(kept), weights=None, directed=False
            ),
            names=[data.names[int(v)] for v in kept],
            edge_groups=kinds,
            marked=[] if whole else [int(place[vertex])],
            title=f"{title}{where}",
            caption=caption,
        )
    ]


def _surroundings(
    edges: Int[np.ndarray, "2 m"], held: Int[np.ndarray, "2 k"], vertex: int, vertices: int
) -> Int[np.ndarray, "n"]:
    """All vertices of a small graph; of a large one a vertex, its neighbours and theirs, held-out links first."""
    if vertices <= _WHOLE:
        return np.arange(vertices)
    chosen: dict[int, None] = {vertex: None}
    for pairs in (held, edges, held, edges):
        at = np.isin(pairs, list(chosen)).any(0)
        for v in pairs[:, at].ravel().tolist():
            if len(chosen) < _NEAR:
                chosen[v] = None
    return np.array(list(chosen))
