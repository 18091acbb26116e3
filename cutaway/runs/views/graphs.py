r"""Views of runs on graphs: mistakes, how states of vertices grow alike, a map of them, what edges carry, links."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from cutaway.look import confusion_matrix, embedding_map, histogram, scatter
from cutaway.look.charts.bar_panels import bar_panels
from cutaway.look.pages.picture import Picture
from cutaway.recipes.graphs.classified_vertices import VertexClassifierRecipe
from cutaway.recipes.graphs.gin import GINRecipe
from cutaway.recipes.graphs.graph_outcomes import outcome_outputs
from cutaway.recipes.graphs.links import LinksRecipe
from cutaway.recipes.subjects import Subject

if TYPE_CHECKING:
    from cutaway.blocks.graphs.graph import Graph
    from cutaway.data.graphs.graph_data import GraphData
    from cutaway.runs.run import Run

_MAPPED = 1000  # vertices on a map
_PAIRS = 2000  # pairs of vertices whose distance is measured
_CUT = 12  # edges that are cut, one at a time
_WHOLE = 20_000  # vertices of a graph that is passed through whole
_COUNTED = 20_000  # held-out vertices that are counted


def classifies_vertices(run: "Run") -> bool:
    """Runs of models that give every vertex one class."""
    return isinstance(run.recipe, VertexClassifierRecipe)


def vertex_mistakes(run: "Run", subject: Subject) -> list[Picture]:
    """How many held-out vertices of each class are taken for which."""
    data, rows = _held_out(run)
    assert data.targets is not None
    if len(rows) > _COUNTED:
        rows = np.sort(np.random.default_rng(0).choice(rows, _COUNTED, replace=False))
    predicted = run.recipe.classes_of(data).outputs(run.model, rows).argmax(1).numpy()  # type: ignore[attr-defined]
    counts = np.zeros((len(data.classes),) * 2, dtype=np.int64)
    np.add.at(counts, (data.targets[rows].numpy(), predicted), 1)
    return [confusion_matrix(counts, data.classes, title=f"What each class is taken for: {len(rows):,} vertices")]


def smoothing(run: "Run", subject: Subject) -> list[Picture]:
    """How far apart the states of vertices are, layer by layer: with too many layers all become the same."""
    model: Any = run.model
    graph: Graph = subject.arguments[0]
    if graph.vertices > _WHOLE:
        return []
    states = {"features": _dense(graph.x)} | subject.read(model, *model.vertex_states)
    rng = np.random.default_rng(0)
    arcs = graph.arcs[:, graph.arcs[0] != graph.arcs[1]]
    if not arcs.shape[1]:
        return []
    near = arcs[:, torch.from_numpy(rng.integers(0, arcs.shape[1], _PAIRS))]
    far = torch.from_numpy(rng.integers(0, graph.vertices, (2, _PAIRS)))
    far = far[:, far[0] != far[1]]
    names = ["the features", *(f"layer {s + 1}" for s in range(len(model.vertex_states)))]
    groups = {
        what: {name: _distance(x, pairs) for name, x in zip(names, states.values(), strict=True)}
        for what, pairs in (("neighbours", near), ("any two vertices", far))
    }
    return [
        bar_panels(
            groups,
            title="How alike the states of vertices become, layer by layer",
            value="mean distance, 1 − cosine",
            caption="Neighbours should come closer and others stay apart; where both bars go to 0, vertices can no "
            "longer be told apart (over-smoothing).",
        )
    ]


def vertex_map(run: "Run", subject: Subject) -> list[Picture]:
    """The states of vertices before the last layer on a plane, by t-SNE, coloured by class."""
    model: Any = run.model
    data = run.recipe.dataset(run)  # type: ignore[attr-defined]
    addresses = model.vertex_states
    if subject.arguments[0].vertices > _WHOLE:
        return []
    at = addresses[-2] if len(addresses) > 1 and not model.spec.keeps_width else addresses[-1]
    known = np.flatnonzero(data.targets.numpy() >= 0)
    rows = known if len(known) <= _MAPPED else np.sort(np.random.default_rng(0).choice(known, _MAPPED, replace=False))
    if len(rows) < 8:
        return []
    states = subject.read(model, at)[at][torch.from_numpy(rows)]
    picture = embedding_map(
        states.numpy(),
        [data.names[i] for i in rows],
        [data.classes[int(k)] for k in data.targets[rows]],
        title="Vertices by what the network knows of them",
        perplexity=subject.perplexity or None,
    )
    return [picture.captioned("Each point is a vertex; classes that the network can tell apart lie in groups.")]


def cut_edges(run: "Run", subject: Subject) -> list[Picture]:
    """What becomes of the chosen vertex's class when one edge near it is cut, edge by edge."""
    model: Any = run.model
    data = run.recipe.dataset(run)  # type: ignore[attr-defined]
    graph: Graph = subject.arguments[0]
    (v,) = subject.vertices
    names: Sequence[str] = data.names
    if graph.vertices > _WHOLE:  # what is further away than its layers reach cannot change a vertex's class
        near = neighbourhood(graph, v, model.spec.depth + 1)
        names = [data.names[i] for i in near.tolist()]
        graph, v = graph.subgraph(near), 0
    with torch.no_grad():
        before = model(graph)[v].double().softmax(-1).cpu()
    k = int(before.argmax())
    edges = edges_around(graph, v, _CUT)
    if not len(edges):
        return []
    change = {}
    for e in edges.tolist():
        mask = torch.zeros(graph.edges.shape[1], dtype=torch.bool, device=graph.edges.device)
        mask[e] = True
        with torch.no_grad():
            after = model(graph.without_edges(mask))[v].double().softmax(-1)[k]
        i, j = (names[int(end)] for end in graph.edges[:, e])
        change[f"{i} – {j}"] = float(after.cpu() - before[k])
    change = dict(sorted(change.items(), key=lambda item: -abs(item[1])))
    name, label = names[v], data.classes[k]
    return [
        bar_panels(
            {f"change of P({label}) for {name}": change},
            title=f"What vertex {name} is told along each edge",
            value=f"change of P({label}), which is {float(before[k]):.2f}, when the edge is cut",
            caption="A bar to the left: without this edge the network is less sure of its answer, so the edge spoke "
            "for it; to the right: it spoke against it.",
        )
    ]


def neighbourhood(graph: "Graph", vertex: int, steps: int) -> Tensor:
    """The numbers of the vertices at most so many edges away, whichever way edges point; the vertex itself first."""
    found = torch.zeros(graph.vertices, dtype=torch.bool, device=graph.edges.device)
    found[vertex] = True
    for _ in range(steps):
        at = found[graph.edges].any(0)
        found[graph.edges[:, at].reshape(-1)] = True
    found[vertex] = False
    return torch.cat([torch.tensor([vertex], device=found.device), found.nonzero()[:, 0]])


def edges_around(graph: "Graph", vertex: int, most: int) -> Tensor:
    """The numbers of the edges at a vertex, then of those at its neighbours; at most so many."""
    at = (graph.edges == vertex).any(0)
    neighbours = graph.edges[:, at].unique()
    near = torch.isin(graph.edges, neighbours).any(0) & ~at
    return torch.cat([at.nonzero()[:, 0], near.nonzero()[:, 0]])[:most]


def predicts_graphs(run: "Run") -> bool:
    """Runs of models of whole graphs."""
    return isinstance(run.recipe, GINRecipe)


def finds_links(run: "Run") -> bool:
    """Runs of models of links."""
    return isinstance(run.recipe, LinksRecipe)


def graph_answers(run: "Run", subject: Subject) -> list[Picture]:
    """What held-out graphs are taken for: class by class, or each value beside the true one."""
    recipe = run.recipe
    assert isinstance(recipe, GINRecipe)
    data = recipe.dataset(run)
    rows = data.train if data.validation is None else data.validation
    assert rows.targets is not None
    outputs = outcome_outputs(run.model, rows.graphs, recipe.scale_of(data))
    if data.classes:
        counts = np.zeros((len(data.classes),) * 2, dtype=np.int64)
        np.add.at(counts, (rows.targets.numpy(), outputs.argmax(1).numpy()), 1)
        return [confusion_matrix(counts, data.classes, title=f"What each class is taken for: {len(rows):,} graphs")]
    points = torch.stack([rows.targets, outputs[:, 0]], 1).numpy()
    picture = scatter(
        points,
        labels=list(rows.names),
        title=f"{data.target or 'value'}: predicted beside true, {len(rows):,} graphs",
        axes=("true", "predicted"),
    )
    return [picture.captioned("On the diagonal a prediction is right; graphs far from it are worth a look.")]


def link_scores(run: "Run", subject: Subject) -> list[Picture]:
    """The scores of held-out links and of pairs without one."""
    recipe = run.recipe
    assert isinstance(recipe, LinksRecipe)
    task = recipe.link_task(recipe.dataset(run))
    held = task.split.validation
    if not len(held):
        return []
    p = 1 / (1 + np.exp(-task.scores(run.model, held.pairs)))
    first, second = (task.kinds[1], task.kinds[0]) if task.kinds else ("links", "pairs without a link")
    parts = {
        f"{name} ({int((held.targets == k).sum()):,})": p[held.targets == k] for name, k in ((first, 1), (second, 0))
    }
    title = "What the network says of held-out pairs"
    picture = histogram(
        {name: values for name, values in parts.items() if len(values)}, title=title, bins=40, value="P"
    )
    return [picture.captioned(f"The {first} should lie at the right end and the {second} at the left.")]


def _held_out(run: "Run") -> "tuple[GraphData, np.ndarray]":
    data = run.recipe.dataset(run)  # type: ignore[attr-defined]
    return data, data.train if data.validation is None else data.validation


def _dense(x: Tensor | None) -> Tensor:
    assert x is not None
    return x.to_dense().cpu() if x.layout == torch.sparse_csr else x.cpu()


def _distance(x: Tensor, pairs: Tensor) -> float:
    """The mean of 1 − cos(x_i, x_j) over pairs."""
    u, v = (torch.nn.functional.normalize(x[ends.cpu()].double(), dim=-1) for ends in pairs)
    return float((1 - (u * v).sum(-1)).mean())
