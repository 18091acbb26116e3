r"""Views of runs on vertices: mistakes, how states grow alike, a map of them, what edges carry."""

import itertools
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from cutaway.inside.tracing import trace
from cutaway.look import confusion_matrix, draw_graph, embedding_map, scatter
from cutaway.look.charts.bars import bar_chart
from cutaway.look.pages.picture import Picture
from cutaway.look.style.wording import number
from cutaway.tasks.subjects import Subject

if TYPE_CHECKING:
    from cutaway.blocks.graphs.graph import Graph
    from cutaway.data.graphs.graph_data import GraphData
    from cutaway.runs.run import Run
    from cutaway.tasks.graphs.outcomes import Scale

_MAPPED = 1000  # vertices on a map
_PAIRS = 2000  # pairs of vertices whose distance is measured
_CUT = 12  # edges that are cut, one at a time
_WHOLE = 20_000  # vertices of a graph that is passed through whole
_COUNTED = 20_000  # held-out vertices that are counted
_DRAWN = 3_000  # vertices of a graph that is drawn whole
_MARKED = 12  # mistakes with a ring
_FIFTHS = 5  # groups of values on a map
_NEAR = 40  # vertices around the chosen one


def classifies_vertices(run: "Run") -> bool:
    """Runs of models that give every vertex one class, or a value."""
    return run.recipe.kind == "graphs/vertices"


def vertex_mistakes(run: "Run", subject: Subject) -> list[Picture]:
    """How many held-out vertices of each class are taken for which; of values, each beside the true one."""
    data, rows = _held_out(run)
    assert data.targets is not None
    if len(rows) > _COUNTED:
        rows = np.sort(np.random.default_rng(0).choice(rows, _COUNTED, replace=False))
    learner: Any = run.learner
    outputs = learner.outputs(rows)
    if not data.classes:
        picture = scatter(
            torch.stack([data.targets[rows], outputs[:, 0]], 1).numpy(),
            labels=[data.names[i] for i in rows],
            title=f"{data.target or 'value'}: predicted beside true, {len(rows):,} vertices",
            axes=("true", "predicted"),
        )
        return [picture.captioned("On the diagonal a prediction is right; vertices far from it are worth a look.")]
    predicted = outputs.argmax(1).numpy()
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
    bars = {
        f"{name}, {what}": _distance(x, pairs)
        for name, x in zip(names, states.values(), strict=True)
        for what, pairs in (("neighbours", near), ("any two", far))
    }
    chart, rows = bar_chart(bars, "mean distance of states, 1 − cosine", of="layer")
    return [
        Picture(
            chart,
            "How alike the states of vertices become, layer by layer",
            f"Bars: mean distance of the states of neighbours and of any two vertices; after the last layer "
            f"{bars[f'{names[-1]}, neighbours']:.2f} and {bars[f'{names[-1]}, any two']:.2f}.",
            data=rows,
            caption="Neighbours should come closer while others stay apart; where both bars go to 0, vertices can no "
            "longer be told apart (over-smoothing).",
        )
    ]


def vertex_map(run: "Run", subject: Subject) -> list[Picture]:
    """The states of vertices before the last layer on a plane, by t-SNE, coloured by class."""
    model: Any = run.model
    data = _data_of(run)
    assert data.targets is not None
    addresses = model.vertex_states
    if subject.arguments[0].vertices > _WHOLE:
        return []
    at = addresses[-2] if len(addresses) > 1 and not model.spec.keeps_width else addresses[-1]
    known = np.flatnonzero(data.targets.numpy() >= 0 if data.classes else ~np.isnan(data.targets.numpy()))
    rows = known if len(known) <= _MAPPED else np.sort(np.random.default_rng(0).choice(known, _MAPPED, replace=False))
    if len(rows) < 8:
        return []
    states = subject.read(model, at)[at][torch.from_numpy(rows)]
    picture = embedding_map(
        states.numpy(),
        [data.names[i] for i in rows],
        _groups(data, data.targets[rows]),
        title="Vertices by what the network knows of them",
        perplexity=subject.perplexity or None,
    )
    lie = "classes that the network can tell apart lie in groups" if data.classes else "near values should lie together"
    return [picture.captioned(f"Each point is a vertex; {lie}.")]


def cut_edges(run: "Run", subject: Subject) -> list[Picture]:
    """What becomes of the chosen vertex's class when one edge near it is cut, edge by edge."""
    model: Any = run.model
    data = _data_of(run)
    graph, v, names = _surroundings(run, subject, data)
    answer, label = _answer(run, data, graph, v)
    with torch.no_grad():
        before = answer(model(graph)[v])
    edges = edges_around(graph, v, _CUT)
    if not len(edges):
        return []
    change = {}
    for e in edges.tolist():
        mask = torch.zeros(graph.edges.shape[1], dtype=torch.bool, device=graph.edges.device)
        mask[e] = True
        with torch.no_grad():
            after = answer(model(graph.without_edges(mask))[v])
        i, j = (names[int(end)] for end in graph.edges[:, e])
        change[f"{i} – {j}"] = after - before
    change = dict(sorted(change.items(), key=lambda item: -abs(item[1])))
    name = names[v]
    chart, rows = bar_chart(change, f"change of {label} when the edge is cut", of="edge")
    first = next(iter(change))
    left = "the network is less sure of its answer, so the edge spoke for it" if data.classes else "the value is lower"
    right = "it spoke against it" if data.classes else "it is higher"
    return [
        Picture(
            chart,
            f"What vertex {name} is told along each edge: {label} is {number(before, 3)}",
            f"Bars: how {label} of {name} changes when an edge is cut; most for {first}, {change[first]:+.3g}.",
            data=rows,
            caption=f"A bar to the left: without this edge {left}; to the right: {right}.",
        )
    ]


def _answer(run: "Run", data: "GraphData", graph: "Graph", v: int) -> tuple[Callable[[Tensor], float], str]:
    """What is watched of a vertex's outputs, and its name: P of the class that it is given, or its value."""
    model: Any = run.model
    if data.classes:
        with torch.no_grad():
            k = int(model(graph)[v].argmax())
        return lambda outputs: float(outputs.double().softmax(-1)[k]), f"P({data.classes[k]})"
    scale = _scale_of(run)
    return lambda outputs: float(outputs[0].double() * scale.std + scale.mean), data.target or "the value"


def predicted_graph(run: "Run", subject: Subject) -> list[Picture]:
    """The graph in the colours of the classes that vertices are given, with a ring around some mistakes."""
    graph: Graph = subject.arguments[0]
    if graph.vertices > _DRAWN:
        return []
    data, rows = _held_out(run)
    assert data.targets is not None
    outputs = subject.output(run.model)
    if not data.classes:
        return [_predicted_values(run, data, graph, outputs[:, 0], rows)]
    predicted = outputs.argmax(1)
    wrong = rows[(predicted[rows] != data.targets[rows]).numpy()]
    right = 1 - len(wrong) / max(len(rows), 1)
    return [
        draw_graph(
            graph,
            groups=[data.classes[int(k)] for k in predicted],
            names=data.names,
            marked=wrong[:_MARKED].tolist(),
            title="The classes that vertices are given",
            caption=f"Colours are predicted classes; {right:.0%} of {len(rows):,} held-out vertices are right"
            + ("; a ring marks some that are wrong: they often lie where colours meet." if len(wrong) else "."),
        )
    ]


def _predicted_values(run: "Run", data: "GraphData", graph: "Graph", outputs: Tensor, rows: np.ndarray) -> Picture:
    """The graph in the colours of the values that vertices are given, with a ring around the worst mistakes."""
    assert data.targets is not None
    scale = _scale_of(run)
    values = outputs * scale.std + scale.mean
    error = (values[rows] - data.targets[rows]).abs().numpy()
    worst = rows[np.argsort(-error, kind="stable")[: min(_MARKED, len(rows) // 4)]]
    return draw_graph(
        graph,
        values.numpy(),
        names=data.names,
        marked=worst.tolist(),
        value=data.target or "value",
        title="The values that vertices are given",
        caption=f"Colours are predicted values; of {len(rows):,} held-out vertices the mean error is "
        f"{number(float(error.mean()), 3)}; a ring marks the largest.",
    )


def neighbours_heard(run: "Run", subject: Subject) -> list[Picture]:
    """Whom the chosen vertex listens to: attention on the edges to it, or the size of messages."""
    model: Any = run.model
    data = _data_of(run)
    graph, v, names = _surroundings(run, subject, data)
    near = neighbourhood(graph, v, 1)[:_NEAR]
    places = {int(i): place for place, i in enumerate(near)}
    with torch.no_grad():
        outputs = model(graph).cpu()
    colours: dict[str, Any] = {"groups": [data.classes[int(outputs[i].argmax())] for i in near]} if data.classes else {}
    if not data.classes:
        scale = _scale_of(run)
        colours = {"signal": (outputs[near.cpu(), 0] * scale.std + scale.mean).numpy(), "value": data.target or "value"}
    coloured = "predicted classes" if data.classes else "predicted values"
    found = []
    for stage in dict.fromkeys((0, model.spec.depth - 1)):
        address = _what_is_heard(model, stage)
        if not address:
            continue
        with torch.no_grad(), trace(model, address, detach=True) as seen:
            model(graph)
        value = seen.calls[address][-1].float()
        layer = model.stages[stage].layer
        arcs = (layer.wired(graph) if hasattr(layer, "wired") else graph).arcs
        inside = torch.isin(arcs[0], near) & (arcs[1] == v) & (arcs[0] != v)
        if not inside.any():
            continue
        ends = torch.tensor([[places[int(i)] for i in row] for row in arcs[:, inside]])
        what = "attention" if "attention" in address else "message size"
        sizes = value.mean(1) if what == "attention" else value.norm(dim=1)
        own = sizes[(arcs == v).all(0)]
        itself = f" Its own is {float(own[0]):.2g}." if len(own) else ""
        found.append(
            draw_graph(
                SimpleNamespace(edges=ends, vertices=len(near), weights=None, directed=True),
                **colours,
                names=[names[int(i)] for i in near],
                edge_values=sizes[inside].cpu().numpy(),
                edge_value=what,
                marked=[0],
                title=f"Whom {names[v]} listens to, layer {stage + 1}",
                caption=f"The wider an arrow, the larger the {what} along it; colours are {coloured}.{itself}",
            )
        )
    return found


def _what_is_heard(model: Any, stage: int) -> str:
    """The address of attention on arcs, else of messages; "" where a layer has neither."""
    if model.edge_attention:
        return model.edge_attention[stage]
    has_messages = hasattr(model.stages[stage].layer, "messages")
    return f"stages.{stage}.layer.messages" if has_messages else ""


def _surroundings(run: "Run", subject: Subject, data: "GraphData") -> "tuple[Graph, int, Sequence[str]]":
    """The graph, the chosen vertex and names; of a large graph, the part that the vertex's class depends on."""
    graph: Graph = subject.arguments[0]
    (v,) = subject.vertices
    model: Any = run.model
    of_whole = model.eigenvectors is not None or model.walks is not None  # places in, and walks over, the whole graph
    if graph.vertices <= _WHOLE or of_whole:
        return graph, v, data.names
    near = neighbourhood(graph, v, model.spec.depth + 1)
    return graph.subgraph(near), 0, [data.names[i] for i in near.tolist()]


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


def _data_of(run: "Run") -> "GraphData":
    """The graph of a run, as it was read."""
    return run.task.parts


def _scale_of(run: "Run") -> "Scale":
    """The scale of the values that vertices are given."""
    task: Any = run.task
    return task.scale


def _held_out(run: "Run") -> "tuple[GraphData, np.ndarray]":
    data = _data_of(run)
    return data, data.train if data.validation is None else data.validation


def _groups(data: "GraphData", targets: Tensor) -> list[str]:
    """The names of classes; of values, which fifth of them each is in."""
    if data.classes:
        return [data.classes[int(k)] for k in targets]
    bounds = np.unique(np.quantile(targets.numpy(), np.linspace(0, 1, _FIFTHS + 1)))
    place = np.clip(np.searchsorted(bounds, targets.numpy(), side="right") - 1, 0, max(len(bounds) - 2, 0))
    words = [f"{number(float(a), 3)} to {number(float(b), 3)}" for a, b in itertools.pairwise(bounds)]
    return [words[int(k)] if words else "all" for k in place]


def _dense(x: Tensor | None) -> Tensor:
    assert x is not None
    return x.to_dense().cpu() if x.layout == torch.sparse_csr else x.cpu()


def _distance(x: Tensor, pairs: Tensor) -> float:
    """The mean of 1 − cos(x_i, x_j) over pairs."""
    u, v = (torch.nn.functional.normalize(x[ends.cpu()].double(), dim=-1) for ends in pairs)
    return float((1 - (u * v).sum(-1)).mean())
