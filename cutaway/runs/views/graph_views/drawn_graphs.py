r"""Views of runs that draw graphs: drawn ones beside real ones, how alike they are, which edges were expected."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from cutaway.blocks.graphs.graph import Graph
from cutaway.look.charts.heatmaps import heatmap
from cutaway.look.charts.score_panels import score_panels
from cutaway.look.graph_signals.graph_groups import graph_groups
from cutaway.look.pages.picture import Picture
from cutaway.tasks.graphs.generate import SimpleGraphs
from cutaway.tasks.graphs.generation.random_graphs import erdos_renyi
from cutaway.tasks.graphs.generation.statistics import compare_graphs
from cutaway.tasks.subjects import Subject

if TYPE_CHECKING:
    from cutaway.runs.run import Run

_COLUMNS = 6
_LARGE = 60  # vertices of a graph that is drawn small
_DRAWN = 200  # graphs that figures are taken of


def draws_graphs(run: "Run") -> bool:
    """Runs that draw graphs."""
    return run.recipe.task_kind == "graphs/generate"


def _parts(run: "Run") -> SimpleGraphs:
    return run.task.simple


def _learner(run: "Run") -> Any:
    return run.learner


def _spread(graphs: Sequence[Graph], count: int) -> list[Graph]:
    """Some graphs from small to large, without the largest of all."""
    small = sorted((g for g in graphs if g.vertices <= _LARGE), key=lambda g: g.vertices) or list(graphs)[:count]
    return [small[int(i)] for i in np.linspace(0, len(small) - 1, min(count, len(small))).round()]


def beside_real_graphs(run: "Run", drawn: Sequence[Graph]) -> Picture:
    """The graphs of a call, up to two lines of them, beside held-out ones."""
    parts = _parts(run)
    real = "held out" if parts.validation else "trained on"
    shown = [graph for graph in drawn if graph.vertices <= _LARGE][: 2 * _COLUMNS] or list(drawn[:1])
    return graph_groups(
        {real: _spread(parts.validation or parts.train, _COLUMNS), "drawn": shown},
        columns=_COLUMNS,
        title="Drawn graphs beside real ones",
        caption="Drawn graphs should look as if they could stand in the first row, and not repeat it.",
    )


def drawn_and_real(run: "Run", subject: Subject) -> Picture:
    """Held-out graphs, drawn ones, and random ones with as many edges."""
    parts, learner = _parts(run), _learner(run)
    real = parts.validation or parts.train
    rule = erdos_renyi(parts.train).sample(4 * _COLUMNS, torch.Generator().manual_seed(0))
    groups = {"held out" if parts.validation else "trained on": _spread(real, _COLUMNS)}
    groups |= {"drawn": _spread(learner.draw(4 * _COLUMNS), _COLUMNS), "Erdős–Rényi": _spread(rule, _COLUMNS)}
    return graph_groups(
        groups,
        columns=_COLUMNS,
        title="Drawn graphs beside real ones",
        caption="Drawn graphs should look like the first row; the last has as many edges, joined at random.",
    )


def drawn_scores(run: "Run", subject: Subject) -> list[Picture]:
    """How far drawn graphs are from held-out ones in degrees, clustering and components, beside simpler rules."""
    parts = _parts(run)
    if not parts.validation:
        return []
    drawn = compare_graphs(_learner(run).draw(_DRAWN), parts.validation)
    scores = {"drawn by the network": drawn}
    for name, found in run.about["data"].get("baselines", {}).items():
        scores[name] = {key: value for key, value in found["metrics"].items() if key in drawn}
    scores["the training graphs"] = compare_graphs(parts.train, parts.validation)
    return [
        score_panels(
            {name: {_WORDS[key]: value for key, value in found.items()} for name, found in scores.items()},
            chosen="drawn by the network",
            title="How far drawn graphs are from held-out ones",
            caption="The shorter a bar, the more alike; the training graphs show how near one can come.",
            note=f"MMD² of histograms a graph, of {_DRAWN} drawn graphs and {len(parts.validation):,} held-out ones; "
            "0: the same.",
        )
    ]


_WORDS = {"degree_mmd": "degrees", "clustering_mmd": "clustering", "component_mmd": "components"}


def expected_edges(run: "Run", subject: Subject) -> list[Picture]:
    """A graph as the network draws it: which edges each vertex has, and how far they were expected."""
    if not subject.arguments:
        return []
    model: Any = run.model
    rows, sizes = (part[:1] for part in subject.arguments)
    with torch.no_grad():
        p = model.logits(rows, sizes).edges[0].sigmoid().double().cpu().numpy()
    there = rows[0].cpu().numpy() > 0.5
    n = int(sizes[0])
    expected = np.zeros((n, n))  # on the diagonal, and further back than edges may reach
    for i in range(n):
        for k in range(min(i, there.shape[1])):
            expected[i, i - 1 - k] = p[i, k]
            expected[i - 1 - k, i] = float(there[i, k])
    names = [str(i + 1) for i in range(n)]
    picture = heatmap(
        expected[:n, :n],
        names,
        names,
        title="Which edges were expected",
        value="P(edge), and edge",
        axes=("vertex", "vertex before"),
    )
    return [
        picture.captioned(
            "Below the diagonal P(edge) as each vertex came, above it the edges that there are: alike where it knows."
        )
    ]
