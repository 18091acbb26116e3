r"""Views of runs that restore hidden parts of graphs: what vertices and edges are restored as, and a map of vectors."""

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from cutaway.blocks.graph_layers.readouts import readout_mean
from cutaway.blocks.graphs.graph import Graph
from cutaway.look import confusion_matrix, embedding_map, histogram
from cutaway.look.charts.text_lists import text_list
from cutaway.look.graph_signals.graph_galleries import graph_gallery
from cutaway.look.pages.picture import Picture
from cutaway.tasks.graphs.masking.restoration import HiddenParts, Kinds, rows_at
from cutaway.tasks.graphs.masking.restorer import restore_each
from cutaway.tasks.subjects import Subject

if TYPE_CHECKING:
    from cutaway.runs.run import Run

_KINDS = 2  # groups of kinds that have a picture
_VERTICES = 6  # vertices in a list
_NAMED = 8  # restored features of a vertex
_GRAPHS, _LARGE = 9, 40  # graphs in a gallery, and vertices of one at most
_MAPPED = 1000  # points on a map
_WHOLE = 20_000  # vertices of a graph that is passed through whole


def restores_graphs(run: "Run") -> bool:
    """Runs of models that restore hidden vertices or edges."""
    return run.recipe.kind == "graphs/masked"


def restored_parts(run: "Run", subject: Subject) -> list[Picture]:
    """What held-out hidden vertices are restored as: kinds in a matrix and on graphs, else the strongest features."""
    data, parts = _held_out(run)
    if parts is None or not parts.vertices.any():
        return []
    kinds: tuple[Kinds, ...] = data.restoration.kinds
    restored, truth = _restored(run.model, parts)
    if not kinds:
        return [_restored_features(data, parts, restored, truth)]
    found = []
    for kind in kinds[:_KINDS]:
        counts = np.zeros((kind.last - kind.first,) * 2, dtype=np.int64)
        at = (truth[:, kind.first : kind.last].argmax(1).numpy(), restored[:, kind.first : kind.last].argmax(1).numpy())
        np.add.at(counts, at, 1)
        seen = np.flatnonzero(counts.sum(0) + counts.sum(1))  # kinds that no vertex has, or is taken for, are left out
        title = f"What each {kind.name} is restored as: {int(counts.sum()):,} hidden vertices"
        found.append(confusion_matrix(counts[np.ix_(seen, seen)], [kind.values[i] for i in seen], title=title))
    return found + _restored_graphs(run, data, kinds[0])


def _restored(model: Any, parts: HiddenParts) -> tuple[Tensor, Tensor]:
    """The features of hidden vertices as they are restored, and as they are."""
    device = next(model.parameters()).device
    hidden = torch.from_numpy(parts.vertices)
    with torch.no_grad():
        restored = model(parts.graph.to(device), hidden.to(device))[hidden.to(device)].float().cpu()
    return restored, rows_at(parts.graph, hidden)


def _restored_features(data: Any, parts: HiddenParts, restored: Tensor, truth: Tensor) -> Picture:
    """Some vertices with their strongest restored features, those that they have marked."""
    cosine = nn.functional.cosine_similarity(restored, truth, dim=-1)
    order = cosine.argsort(descending=True)
    chosen = order[torch.linspace(0, len(order) - 1, min(_VERTICES, len(order))).long()].tolist()
    numbers = np.flatnonzero(parts.vertices)
    names = data.feature_names
    heads, texts = [], []
    for i in chosen:
        best = restored[i].topk(min(_NAMED, restored.shape[1])).indices.tolist()
        told = [f"{names[f] if f < len(names) else f}{' ✓' if truth[i, f] > 0 else ''}" for f in best]
        heads.append(f"{data.data.names[numbers[i]]}: cosine {float(cosine[i]):.2f}")
        texts.append(", ".join(told))
    chance = float((truth > 0).float().mean())
    hits = float((truth.gather(1, restored.topk(min(_NAMED, restored.shape[1]), 1).indices) > 0).float().mean())
    return text_list(
        texts,
        heads,
        title="Hidden vertices, and the features that their neighbours tell of",
        caption=f"The strongest restored features; ✓: the vertex has it. Of all held-out vertices {hits:.0%} are so; "
        f"guessing would give {chance:.1%}. The best restored come first.",
    )


def _restored_graphs(run: "Run", data: Any, kind: Kinds) -> list[Picture]:
    """Some held-out graphs: every vertex is hidden once, and in the colour of how sure and right its restoration is."""
    task: Any = run.task
    rows = data.data.validation if task.many else None
    if rows is None:
        return []
    graphs = [graph for graph in rows.graphs if 3 <= graph.vertices <= _LARGE][:_GRAPHS]
    if not graphs:
        return []
    signals, letters, heads = [], [], []
    for graph in graphs:
        p = restore_each(run.model, graph, range(graph.vertices))[:, kind.first : kind.last].softmax(1)
        true, said = graph.x[:, kind.first : kind.last].argmax(1), p.argmax(1)
        sure = p.max(1).values
        signals.append(torch.where(said == true, -sure, sure).numpy())
        words = [kind.values[int(i)] for i in true]
        letters.append([a if s == t else f"{a}?" for a, s, t in zip(words, said.tolist(), true.tolist(), strict=True)])
        right = int((said == true).sum())
        heads.append(f"{right} of {graph.vertices} right")
    return [
        graph_gallery(
            graphs,
            signals,
            heads,
            letters=letters,
            value="P of the answer (red: wrong)",
            title=f"Each vertex hidden in turn: is its {kind.name} restored?",
            caption=f"Letters are the true {kind.name}; a vertex is blue where its neighbours tell it rightly, red and "
            "with a question mark where they tell something else; the darker, the surer.",
        )
    ]


def restored_edges(run: "Run", subject: Subject) -> list[Picture]:
    """The scores of held-out hidden edges and of random pairs."""
    _, parts = _held_out(run)
    if parts is None or not parts.edges.any():
        return []
    model: Any = run.model
    device = next(model.parameters()).device
    hidden = torch.from_numpy(parts.edges)
    with torch.no_grad():
        states = model.encode(parts.graph.without_edges(hidden).to(device))
        both = [parts.graph.edges[:, hidden], torch.from_numpy(parts.pairs)]
        edges, others = (model.score(states, pairs.to(device)).float().sigmoid().cpu().numpy() for pairs in both)
    values = {f"hidden edges ({len(edges):,})": edges, f"random pairs ({len(others):,})": others}
    picture = histogram(values, title="How probable hidden edges and random pairs are", bins=40, value="P(edge)")
    return [picture.captioned("Hidden edges should lie at the right end and random pairs at the left.")]


def vector_map(run: "Run", subject: Subject) -> list[Picture]:
    """The vectors of vertices (of many graphs, their means) on a plane, coloured by class if there are classes."""
    model: Any = run.model
    task: Any = run.task
    data, many = task.parts, task.many
    device = next(model.parameters()).device
    if many:
        rows = data.data.validation or data.data.train
        graphs = [g if g.x is not None else g.with_x(torch.ones(g.vertices, 1)) for g in rows.graphs[:_MAPPED]]
        whole = Graph.batch(graphs).to(device)
        sizes = np.array([graph.vertices for graph in graphs])
        low, high = np.quantile(sizes, [1 / 3, 2 / 3])
        words = (f"at most {low:.0f} vertices", f"at most {high:.0f}", "larger")
        groups = [words[int(size > low) + int(size > high)] for size in sizes]
        names: list[str] | None = None  # SMILES would cover one another
        told = "Each point is a graph, coloured by its size; no label was seen."
    else:
        whole, targets = data.graph.to(device), data.data.targets
        if whole.vertices > _WHOLE:
            return []
        known = np.arange(whole.vertices)
        if data.data.classes and targets is not None:
            known = np.flatnonzero(targets.numpy() >= 0)
        chosen = np.sort(np.random.default_rng(0).permutation(known)[:_MAPPED])
        names = [str(data.data.names[i]) for i in chosen]
        groups = [data.data.classes[int(targets[i])] for i in chosen] if data.data.classes else []
        told = "Each point is a vertex; no class was seen in training" + (
            ": where colours lie together, the classes can be told from features and edges alone." if groups else "."
        )
    if len(groups if many else chosen) < 8:
        return []
    with torch.no_grad():
        states = model.encode(whole)
        vectors = (readout_mean(states, whole) if many else states[torch.from_numpy(chosen).to(device)]).float().cpu()
    title = f"{'Graphs' if many else 'Vertices'} by what was learned without labels"
    picture = embedding_map(vectors.numpy(), names, groups or None, title=title, perplexity=subject.perplexity or None)
    return [picture.captioned(told)]


def _held_out(run: "Run") -> "tuple[Any, HiddenParts | None]":
    task: Any = run.task
    return task.parts, task.held
