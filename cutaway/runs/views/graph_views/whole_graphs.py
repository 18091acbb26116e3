r"""Views of runs on whole graphs: what they are taken for, which vertices matter, a map of them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float

from cutaway.inside.tracing import trace
from cutaway.look import confusion_matrix, embedding_map, scatter
from cutaway.look.graph_signals.graph_galleries import graph_gallery
from cutaway.look.pages.picture import Picture
from cutaway.look.style.wording import number
from cutaway.tasks.graphs.graph_networks import batch_of, outcome_outputs
from cutaway.tasks.graphs.outcomes import Scale
from cutaway.tasks.subjects import Subject

if TYPE_CHECKING:
    from cutaway.blocks.graphs.graph import Graph
    from cutaway.data.graphs.graph_set import GraphRows, GraphSet
    from cutaway.runs.run import Run

_DRAWN = 9  # graphs in a gallery
_LARGE = 60  # vertices of a graph that is drawn
_MAPPED = 1000  # graphs on a map


def predicts_graphs(run: "Run") -> bool:
    """Runs of models of whole graphs."""
    return run.recipe.task_kind == "graphs/whole_graphs"


def keeps_vertices(run: "Run") -> bool:
    """Those in which every layer has a state for each vertex: no clusters, and no vertex added."""
    spec = getattr(run.model, "spec", None)
    return (
        predicts_graphs(run) and getattr(spec, "pooling", "none") == "none" and getattr(spec, "readout", "") != "global"
    )


def graph_answers(run: "Run", subject: Subject) -> list[Picture]:
    """What held-out graphs are taken for: class by class, or each value beside the true one."""
    data, rows, _ = _held_out(run)
    assert rows.targets is not None
    outputs = run.learner.outputs(rows)
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


def telling_vertices(run: "Run", subject: Subject) -> list[Picture]:
    """Some held-out graphs, mistakes first, with what changes in the answer when a vertex is taken out."""
    data, rows, scale = _held_out(run)
    assert rows.targets is not None
    outputs = run.learner.outputs(rows)
    wrong = outputs.argmax(1) != rows.targets if data.classes else (outputs[:, 0] - rows.targets).abs()
    order = np.argsort(-wrong.numpy().astype(np.float64), kind="stable")
    small = [int(i) for i in order if 1 < rows.graphs[i].vertices <= _LARGE]
    half = _DRAWN // 2
    chosen = small[:half] + small[half:][:: max(1, (len(small) - half) // (_DRAWN - half))][: _DRAWN - half]
    if not chosen:
        return []
    signals, heads = [], []
    for i in chosen:
        k = int(outputs[i].argmax()) if data.classes else None
        signals.append(change_without_each(run.model, rows.graphs[i], k, scale))
        if k is None:
            heads.append(f"{number(float(outputs[i, 0]), 3)}, true {number(float(rows.targets[i]), 3)}")
        else:
            true = data.classes[int(rows.targets[i])]
            heads.append(f"taken for {data.classes[k]}" + ("" if true == data.classes[k] else f", is {true}"))
    what = "P(class)" if data.classes else data.target or "the value"
    letters = [vertex_letters(rows.graphs[i], data.feature_names) for i in chosen]
    return [
        graph_gallery(
            [rows.graphs[i] for i in chosen],
            signals,
            heads,
            letters=letters if any(any(own) for own in letters) else (),
            value=f"fall of {what} without it",
            title="Which vertices an answer rests on",
            caption=f"A vertex is red where {what} falls when it is taken out (it spoke for the answer), blue where it "
            "rises; mistakes come first.",
        )
    ]


@torch.no_grad()
def change_without_each(
    model: Any, graph: "Graph", k: int | None, scale: Scale | None
) -> Float[np.ndarray, "vertices"]:
    """How far P(class k), or the value, falls when each vertex is taken out with its edges."""
    every = torch.arange(graph.vertices)
    parts = [graph, *(graph.subgraph(every[every != v]) for v in range(graph.vertices))]
    outputs = outcome_outputs(model, parts, scale).double()
    answer = outputs[:, 0] if k is None else outputs.softmax(-1)[:, k]
    return (answer[0] - answer[1:]).numpy()


def vertex_letters(graph: "Graph", names: Sequence[str]) -> list[str]:
    """A short word for each vertex, where its first features say which of several things it is: C, N, tag 3 …"""
    heads = {name.split("=")[0] for name in names[:2] if "=" in name}
    if graph.x is not None and len(heads) == 1:
        block = [i for i, name in enumerate(names) if name.startswith(f"{next(iter(heads))}=")]
    elif graph.x is not None and names and names[0].startswith("tag "):
        block = [i for i, name in enumerate(names) if name.startswith("tag ")]
    else:
        return [""] * graph.vertices
    dense = graph.x.to_dense()[:, block]
    words = [names[i].split("=")[-1].removeprefix("tag ") for i in block]
    return [words[int(row.argmax())] if bool(row.any()) else "" for row in dense]


def graph_map(run: "Run", subject: Subject) -> list[Picture]:
    """What the network knows of held-out graphs, on a plane by t-SNE, coloured by class."""
    data, rows, _ = _held_out(run)
    rows = rows.take(range(min(len(rows), _MAPPED)))
    assert rows.targets is not None
    if len(rows) < 8:
        return []
    at: str = run.model.graph_vectors  # type: ignore[assignment]
    with torch.no_grad(), trace(run.model, at, detach=True) as seen:
        run.model(batch_of(run.model, rows.graphs))
    states = seen[at].float().cpu()
    if data.classes:
        groups = [data.classes[int(k)] for k in rows.targets]
    else:
        bounds = np.quantile(rows.targets.numpy(), [1 / 3, 2 / 3])
        groups = [("low", "middle", "high")[int(np.searchsorted(bounds, y))] for y in rows.targets.numpy()]
    picture = embedding_map(
        states.numpy(),
        list(rows.names),
        groups,
        title="Graphs by what the network knows of them",
        perplexity=subject.perplexity or None,
    )
    return [picture.captioned("Each point is a graph; those that the network can tell apart lie in groups.")]


def _held_out(run: "Run") -> "tuple[GraphSet, GraphRows, Scale | None]":
    task: Any = run.task
    return task.parts, task.held_out(), task.scale
