r"""Views of runs that give vertices classes: mistakes, how states grow alike, a map of them, and what edges carry."""

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from cutaway.look import confusion_matrix, embedding_map
from cutaway.look.charts.bar_panels import bar_panels
from cutaway.look.pages.picture import Picture
from cutaway.recipes.graphs.classified_vertices import VertexClassifierRecipe
from cutaway.recipes.subjects import Subject

if TYPE_CHECKING:
    from cutaway.blocks.graphs.graph import Graph
    from cutaway.data.graphs.graph_data import GraphData
    from cutaway.runs.run import Run

_MAPPED = 1000  # vertices on a map
_PAIRS = 2000  # pairs of vertices whose distance is measured
_CUT = 12  # edges that are cut, one at a time


def classifies_vertices(run: "Run") -> bool:
    """Runs of models that give every vertex one class."""
    return isinstance(run.recipe, VertexClassifierRecipe)


def vertex_mistakes(run: "Run", subject: Subject) -> list[Picture]:
    """How many held-out vertices of each class are taken for which."""
    data, rows = _held_out(run)
    if data.targets is None:
        return []
    predicted = subject.output(run.model).argmax(1)[rows].numpy()
    counts = np.zeros((len(data.classes),) * 2, dtype=np.int64)
    np.add.at(counts, (data.targets[rows].numpy(), predicted), 1)
    return [confusion_matrix(counts, data.classes, title=f"What each class is taken for: {len(rows):,} vertices")]


def smoothing(run: "Run", subject: Subject) -> list[Picture]:
    """How far apart the states of vertices are, layer by layer: with too many layers all become the same."""
    model: Any = run.model
    graph: Graph = subject.arguments[0]
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
    before = subject.output(model)[v].double().softmax(-1)
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
        i, j = (data.names[int(end)] for end in graph.edges[:, e])
        change[f"{i} – {j}"] = float(after.cpu() - before[k])
    change = dict(sorted(change.items(), key=lambda item: -abs(item[1])))
    name, label = data.names[v], data.classes[k]
    return [
        bar_panels(
            {f"change of P({label}) for {name}": change},
            title=f"What vertex {name} is told along each edge",
            value=f"change of P({label}), which is {float(before[k]):.2f}, when the edge is cut",
            caption="A bar to the left: without this edge the network is less sure of its answer, so the edge spoke "
            "for it; to the right: it spoke against it.",
        )
    ]


def edges_around(graph: "Graph", vertex: int, most: int) -> Tensor:
    """The numbers of the edges at a vertex, then of those at its neighbours; at most so many."""
    at = (graph.edges == vertex).any(0)
    neighbours = graph.edges[:, at].unique()
    near = torch.isin(graph.edges, neighbours).any(0) & ~at
    return torch.cat([at.nonzero()[:, 0], near.nonzero()[:, 0]])[:most]


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
