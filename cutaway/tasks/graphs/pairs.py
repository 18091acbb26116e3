r"""Tasks on pairs of vertices: whether there is a link (`links.py`), or the class or value of an edge (`edges.py`).

    train       edges that messages run over; a step hides those that it asks for
    held out    pairs of validation and test, whose edges no message runs along

A person asks for pairs by two names each, or for one vertex, of which the best new links are told.
"""

from abc import abstractmethod
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from cutaway.blocks.graphs.graph import Graph
from cutaway.data.graphs.graph_data import GraphData
from cutaway.data.graphs.link_splits import LinkSplit, PairDraws, Pairs, pair_keys, sides
from cutaway.overriding import override
from cutaway.tasks.classes import label_rows
from cutaway.tasks.graphs.one_graph import OneGraph
from cutaway.tasks.graphs.transfer import GraphReading
from cutaway.tasks.graphs.vertex_names import find_pairs, find_vertices, read_pairs

_JUDGED: tuple[tuple[str, Any], ...] = (("auc", max), ("accuracy", max), ("rmse", min))  # what is told of baselines
_BEST = 10  # new links of a vertex


class AskedPairs(NamedTuple):
    """Pairs that a person asks for; ``best``: those of one vertex, of which the best are told, in order."""

    pairs: Int[np.ndarray, "2 n"]
    best: bool = False


class PairTask(OneGraph):
    """A graph whose edges are split; ``graph`` is what messages run over: its training edges."""

    noun: str = "links"  # what is kept for a test
    draws: PairDraws | None = None  # of pairs without an edge, beside each training edge of a step

    @property
    @abstractmethod
    def split(self) -> LinkSplit:
        """Which edges are for training, and the pairs of validation and test."""

    @property
    @abstractmethod
    def known(self) -> Pairs:
        """The training edges, and what is asked of each."""

    @abstractmethod
    def model_settings(self) -> dict[str, Any]:
        """What the spec of a model for this says."""

    @abstractmethod
    def loss(self, scores: Tensor, targets: Tensor) -> Tensor:
        """The mean loss of some pairs."""

    @abstractmethod
    def metrics(self, outputs: Tensor, rows: Pairs) -> dict[str, float]:
        """How well outputs meet what is known of pairs."""

    @abstractmethod
    def baselines(self, rows: Pairs) -> dict[str, dict[str, Any]]:
        """Rules without a model, by name, with their metrics."""

    @abstractmethod
    def pairs_in_words(self) -> str:
        """What the parts are."""

    @cached_property
    def known_keys(self) -> Int[np.ndarray, "m"]:
        """A number for each training edge: all edges between two vertices have the same."""
        return pair_keys(self.known.pairs, self.parts.graph.vertices)

    @cached_property
    def rules_of_validation(self) -> dict[str, dict[str, Any]]:
        """The baselines on the validation pairs; none without such a part."""
        return self.baselines(self.split.validation) if len(self.split.validation) else {}

    @override
    @property
    def figure(self) -> str:  # type: ignore[override]
        """The first of AUC and accuracy that the baselines have, too; else the loss."""
        names = {name for rule in self.rules_of_validation.values() for name in rule["metrics"]}
        return next((name for name in ("auc", "accuracy") if name in names), "loss")

    @override
    @property
    def more_is_better(self) -> bool:  # type: ignore[override]
        return self.figure != "loss"

    @override
    def count(self) -> int:
        return len(self.known)

    def summary(self) -> str:
        """What a person should know of the graph and its parts before training."""
        return f"{self.parts.summary()}\n{self.pairs_in_words()}"

    @override
    def facts(self) -> dict[str, Any]:
        facts = super().facts() | {"loss_unit": "nats a pair" if self.scale is None else "squared deviations"}
        facts |= {"baselines": self.rules_of_validation} if self.rules_of_validation else {}
        return facts | {"summary": self.summary()}

    def open_test(self) -> Pairs:
        """The test pairs, for the end."""
        if not len(self.split.test):
            raise ValueError(f"a test needs {self.noun} that were kept for it, got none; train with test above 0")
        return self.split.test

    def test_metrics(self, learner: Any) -> dict[str, float]:
        """Metrics of the test pairs, beside that of the best rule without a model."""
        rows = self.open_test()
        metrics = self.metrics(learner.outputs(rows), rows)
        name, better = next((name, better) for name, better in _JUDGED if name in metrics)
        rules = [rule["metrics"][name] for rule in self.baselines(rows).values() if name in rule["metrics"]]
        return metrics | ({f"baseline_{name}": better(rules)} if rules else {})

    def read_inputs(self, source: str) -> Any:
        """The name of a vertex, or the pairs of a file."""
        return read_pairs(source, self.settings.encoding)

    def inputs(self, source: Any) -> AskedPairs:
        """Pairs by their names, or all new ones of a vertex."""
        return asked_pairs(source, self.parts, self.reading)

    def answers(self, outputs: Tensor, rows: AskedPairs) -> list[dict[str, Any]]:
        """P(link), class or value of pairs; of one vertex, its best new links."""
        return pair_answers(outputs, rows, self.parts.names, self.reading)

    @override
    def options_of_others(self, reading: GraphReading) -> dict[str, Any]:
        labels = "classes" if reading.values is None else "values"
        known = reading.classes if reading.target else ()
        bipartite = self.settings.bipartite
        return {"edge_target": reading.target, "edge_classes": known, "bipartite": bipartite, "labels": labels}


# Answers, for the graph of training and for others.


def asked_pairs(source: Any, data: GraphData, reading: GraphReading) -> AskedPairs:
    """Pairs of names, (a, b) or several; or the name of one vertex, which stands for all of its new links."""
    if not isinstance(source, str):
        return AskedPairs(find_pairs(source, data.names))
    if len(reading.classes) > 2:
        raise ValueError(
            f"classes of edges are told of pairs, got one vertex, {source!r}; give a file with two names a line"
        )
    (vertex,) = find_vertices([source], data.names)
    return AskedPairs(candidates(data.graph, int(vertex), is_bipartite(data.graph)), best=True)


def pair_answers(
    outputs: Float[Tensor, "n *o"], rows: AskedPairs, names: tuple[str, ...], reading: GraphReading
) -> list[dict[str, Any]]:
    """For each pair its two names, and P(link), P of the second kind, P(label) for every class, or its value."""
    if not rows.pairs.shape[1]:
        return []
    pairs = rows.pairs
    if rows.best:
        first = (outputs if outputs.ndim == 1 else outputs[:, 0]).double().numpy()
        best = np.argsort(-first, kind="stable")[:_BEST]
        outputs, pairs = outputs[best], pairs[:, best]
    ends = [{"source": names[u], "target": names[v]} for u, v in pairs.T]
    if reading.values is not None:
        called = reading.target if reading.target not in ("", "source", "target") else "value"
        return [row | {called: value} for row, value in zip(ends, outputs[:, 0].tolist(), strict=True)]
    if len(reading.classes) > 2:
        return label_rows(ends, "class", reading.classes, outputs.double().softmax(-1).numpy())
    what = f"P({reading.classes[1]})" if reading.classes else "P(link)"
    p = 1 / (1 + np.exp(-outputs.double().numpy()))
    return [row | {what: float(value)} for row, value in zip(ends, p, strict=True)]


def candidates(whole: Graph, vertex: int, bipartite: bool) -> Int[np.ndarray, "2 k"]:
    """The pairs of a vertex with all others that it has no edge with; of a bipartite graph, on the other side."""
    edges = whole.edges[:, whole.present].numpy()
    others = sides(edges, whole.vertices)[1] if bipartite else np.arange(whole.vertices)
    if bipartite and vertex in others:
        others = sides(edges, whole.vertices)[0]
    joined = edges[:, (edges == vertex).any(0)]
    others = np.setdiff1d(others, np.append(joined.ravel(), vertex))
    pairs = np.stack([np.full(len(others), vertex), others])
    return pairs if not bipartite or vertex in sides(edges, whole.vertices)[0] else pairs[::-1].copy()


def is_bipartite(graph: Graph) -> bool:
    """Whether edges lead from one side to another: people and films."""
    return len(sides(graph.edges.numpy(), graph.vertices)[0]) < graph.vertices


def signed_graph(graph: Graph, targets: Tensor) -> Graph:
    """The graph whose edges of two kinds have the weights −1 and 1."""
    return Graph(graph.edges, graph.vertices, torch.where(targets == 1, 1.0, -1.0), graph.x, directed=graph.directed)
