r"""What a vertex would be by its neighbours alone: each that is asked for is hidden, and restored."""

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from cutaway.atomic_files import read_json
from cutaway.blocks.graph_layers.readouts import readout_mean
from cutaway.blocks.graphs.graph import Graph
from cutaway.data.graphs.raw_graph_sets import GraphFeatures
from cutaway.tasks.graphs.masked import Kinds
from cutaway.tasks.graphs.new_graphs import read_new_graphs
from cutaway.tasks.graphs.vertex_names import find_vertices
from cutaway.tasks.subjects import Subject

if TYPE_CHECKING:
    from cutaway.recipes.graphs.masked_graph import MaskedGraphRecipe
    from cutaway.runs.run import Run
    from cutaway.tasks.graphs.masked_data import MaskedData

_STRONGEST = 5  # features named of a vertex
_SHOWN = 12  # graphs that a page looks at
_PIECE = 256  # graphs in a pass
_TOGETHER = 64  # vertices of one graph hidden in one pass, at most a twentieth of them


def kinds_of(run: "Run") -> tuple[tuple[Kinds, ...], tuple[str, ...]]:
    """The kinds that a run restores, and the names of all features."""
    from cutaway.recipes.graphs.masked_graph import ABOUT

    path = run.file(ABOUT)
    if path is None:
        raise ValueError(f"a run of hidden vertices needs its {ABOUT}, got {run.path} without it; take it from a copy")
    about = read_json(path, "names", "kinds")
    kinds = tuple(Kinds(k["name"], k["first"], k["last"], tuple(k["values"])) for k in about["kinds"])
    return kinds, tuple(about["names"])


def features_of(run: "Run") -> GraphFeatures | None:
    """The features that a run's graphs have; None of a run that did not note them."""
    from cutaway.recipes.graphs.masked_graph import ABOUT

    path = run.file(ABOUT)
    about = {} if path is None else read_json(path, "names")
    return GraphFeatures.from_dict(about["features"]) if "features" in about else None


@torch.no_grad()
def restore_each(model: Any, graph: Graph, rows: Any) -> Float[Tensor, "h i"]:
    """The restored features of some vertices, few of them hidden at a time, so that neighbours are seen."""
    device = next(model.parameters()).device
    graph = graph.to(device)
    together = max(1, min(_TOGETHER, graph.vertices // 20))
    parts = []
    for first in range(0, len(rows), together):
        some = torch.as_tensor(np.asarray(rows[first : first + together]), device=device)
        hidden = torch.zeros(graph.vertices, dtype=torch.bool, device=device)
        hidden[some] = True
        parts.append(model(graph, hidden)[some].float().cpu())
    return torch.cat(parts)


def told(restored: Float[Tensor, "h i"], kinds: tuple[Kinds, ...], names: tuple[str, ...]) -> list[dict[str, Any]]:
    """Restored vertices in words: each kind and how probable it is; else the strongest features."""
    found = []
    for row in restored:
        if kinds:
            one: dict[str, Any] = {}
            for kind in kinds:
                p = row[kind.first : kind.last].double().softmax(-1)
                one |= {kind.name: kind.values[int(p.argmax())], f"P({kind.name})": float(p.max())}
        else:
            best = row.topk(min(_STRONGEST, len(row))).indices.tolist()
            one = {"features": ", ".join(names[i] if i < len(names) else str(i) for i in best)}
        found.append(one)
    return found


def restored_named(run: "Run", data: "MaskedData", inputs: Any) -> list[dict[str, Any]]:
    """Vertices of the run's graph, by their names."""
    graph: Any = data.graph  # type: ignore[attr-defined]
    names: Any = data.data.names
    rows = find_vertices(inputs, names)
    words = told(restore_each(run.model, graph, rows), *kinds_of(run))
    return [{"vertex": str(names[i])} | one for i, one in zip(rows, words, strict=True)]


def restored_graphs(run: "Run", inputs: Any, encoding: str) -> list[dict[str, Any]]:
    """Every vertex of new graphs."""
    rows = read_new_graphs(inputs, encoding, features_of(run))
    kinds, names = kinds_of(run)
    found = []
    for graph, name in zip(rows.graphs, rows.names, strict=True):
        graph = graph if graph.x is not None else graph.with_x(torch.ones(graph.vertices, 1))
        _expect_features(graph, run)
        words = told(restore_each(run.model, graph, range(graph.vertices)), kinds, names)
        truth = [{} for _ in words] if not kinds or graph.x is None else _truth(graph.x, kinds)
        found += [
            {"graph": name, "vertex": i} | was | one for i, (was, one) in enumerate(zip(truth, words, strict=True))
        ]
    return found


@torch.no_grad()
def vectors_of_graphs(run: "Run", inputs: Any, encoding: str) -> tuple[list[str], Float[Tensor, "n w"]]:
    """The names of new graphs, and the mean of each one's vertices' states."""
    from cutaway.tasks.graphs.masked_data import with_ones

    model: Any = run.model
    new, parts = with_ones(read_new_graphs(inputs, encoding, features_of(run))), []
    for first in range(0, len(new), _PIECE):
        graph = Graph.batch(list(new.graphs[first : first + _PIECE])).to(next(model.parameters()).device)
        parts.append(readout_mean(model.encode(graph), graph).float().cpu())
    return [str(name) for name in new.names], torch.cat(parts)


def _truth(x: Tensor, kinds: tuple[Kinds, ...]) -> list[dict[str, Any]]:
    return [
        {f"true {kind.name}": kind.values[int(row[kind.first : kind.last].argmax())] for kind in kinds} for row in x
    ]


def _expect_features(graph: Graph, run: "Run") -> None:
    model: Any = run.model
    width = 0 if graph.x is None else graph.x.shape[1]
    if width != model.spec.inputs:
        raise ValueError(
            f"graphs must have the {model.spec.inputs} features of training, got {width}; give graphs of the same kind"
        )


def graph_subject(run: "Run", recipe: "MaskedGraphRecipe", given: str | None) -> Subject:
    """The run's graph, or some graphs; of one graph, the vertices that were named."""
    from cutaway.tasks.graphs.masked_data import with_ones

    data: Any = recipe.masked_data(run)
    device = next(run.model.parameters()).device
    if not recipe.holds_many():
        vertices = () if given is None else tuple(int(i) for i in find_vertices(given, data.data.names))
        return Subject((data.graph.to(device),), "the graph that it was trained on", vertices=vertices)
    if given is not None:
        rows, words = read_new_graphs(given, recipe.encoding, features_of(run)), "your graphs"
    else:
        held = data.data.validation
        rows = data.data.train if held is None else held
        words = "graphs that it was " + ("trained on" if held is None else "not trained on")
    some = with_ones(rows.take(range(min(_SHOWN, len(rows)))))
    return Subject((Graph.batch(list(some.graphs)).to(device),), words, some.names, ", ".join(some.names))


__all__ = [
    "features_of",
    "graph_subject",
    "kinds_of",
    "restore_each",
    "restored_graphs",
    "restored_named",
    "told",
    "vectors_of_graphs",
]
