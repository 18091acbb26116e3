r"""The task of labelling edges: their class (friend, foe or unknown), or their value (a rating).

    classes    loss = mean over edges of −log softmax(score(u, v))_y
    values     loss = mean over edges of (score(u, v) − (y − mean) / std)²          mean, std: of the training edges

Messages run over the training edges, and know their labels, but in training not those that a step asks for: edges of a
class have stages of their own, and so have values above and below the mean, the farther the heavier.

Baselines are labels by the other edges of the two vertices, without a model.

    Classes
        majority        the most frequent class of training, always
        habits          log p_k + log(p_k(u) / p_k) + log(p_k(v) / p_k),   p_k(u) = (n_k(u) + c p_k) / (n(u) + c)
    Values
        mean            μ, the mean of training, always
        habits          μ + b_u + b_v,   b_u = Σ (y − μ) / (n(u) + c),   b_v = Σ (y − μ − b_u) / (n(v) + c)

Sums and counts n are over the training edges of a vertex; c draws vertices with few edges towards what is usual. The
baseline predictors of Koren, Bell, Volinsky 2009. Either way round of an undirected edge gives the same.
"""

from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from cutaway.blocks.graphs.graph import Graph
from cutaway.blocks.losses.metrics import accuracy, macro_f1
from cutaway.data.graphs.link_splits import LinkSplit, Pairs, split_labelled
from cutaway.overriding import override
from cutaway.tasks.graphs.outcomes import Scale, outcome_loss, outcome_metrics
from cutaway.tasks.graphs.pairs import PairTask

MOST_KINDS = 8  # classes of edges that have stages of their own
_COUNT = 5.0  # c
_LEAST = 1e-9


class EdgeLabels(PairTask):
    """A graph whose edges have labels: numbers of ``classes``, or values where there are none."""

    kind: ClassVar[str] = "graphs/edges"
    noun = "edges"

    @override
    @property
    def classes(self) -> tuple[str, ...]:
        return self.parts.edge_classes

    @override
    @property
    def target(self) -> str:
        return self.parts.edge_target

    @property
    def labels(self) -> Shaped[Tensor, "m"]:
        """What is known of every edge."""
        assert self.parts.edge_targets is not None
        return self.parts.edge_targets

    @override
    @cached_property
    def split(self) -> LinkSplit:
        settings, edges = self.settings, self.parts.graph.edges.numpy()
        return split_labelled(edges, self.labels.numpy(), settings.validation, settings.test, settings.seed)

    @override
    @cached_property
    def scale(self) -> Scale | None:
        return None if self.classes else Scale.of(self.labels[torch.from_numpy(self.split.train)])

    @override
    @cached_property
    def known(self) -> Pairs:
        train = self.split.train
        return Pairs(self.parts.graph.edges.numpy()[:, train], self.labels[torch.from_numpy(train)].numpy())

    @override
    @cached_property
    def graph(self) -> Graph:
        whole = labelled_messages(self.features.apply(self.parts.graph), self.labels, len(self.classes), self.scale)
        return whole.without_edges(~torch.from_numpy(self.split.train))

    @override
    def model_settings(self) -> dict[str, Any]:
        count = len(self.classes)
        return {"outputs": count or 1, "signed": not count, "kinds": count if count <= MOST_KINDS else 0}

    @override
    def pairs_in_words(self) -> str:
        parts = (("training", self.known), ("validation", self.split.validation), ("test", self.split.test))
        counts = ", ".join(f"{name} {len(part):,}" for name, part in parts)
        if self.scale is not None:
            return f"edges with values: {counts}; mean {self.scale.mean:.4g}, deviation {self.scale.std:.4g}"
        share = np.bincount(self.known.targets, minlength=len(self.classes)) / len(self.known)
        kinds = ", ".join(f"{name} {p:.0%}" for name, p in list(zip(self.classes, share))[:10])
        return f"edges of {len(self.classes)} kinds: {counts}; in training {kinds}"

    @override
    def loss(self, scores: Float[Tensor, "n *o"], targets: Tensor) -> Tensor:
        """The mean loss of edges: see above."""
        return outcome_loss(scores if self.classes else scores[:, None], targets, self.scale)

    @override
    def metrics(self, outputs: Float[Tensor, "n o"], rows: Pairs) -> dict[str, float]:
        """Of classes the loss, accuracy and macro F1; of values the loss, RMSE, MAE and R²."""
        targets = torch.from_numpy(rows.targets)
        if self.scale is not None:
            return outcome_metrics(outputs, targets, self.scale)
        predicted = outputs.argmax(1)
        return {
            "loss": nn.functional.cross_entropy(outputs, targets).item(),
            "accuracy": accuracy(predicted, targets),
            "macro_f1": macro_f1(predicted, targets),
        }

    @override
    def baselines(self, rows: Pairs) -> dict[str, dict[str, Any]]:
        n = self.parts.graph.vertices
        if self.classes:
            rules = class_rules(self.known, rows.pairs, n, len(self.classes))
            words = {"majority": "the most frequent class of training, always"}
        else:
            ordered = self.parts.graph.directed or self.leads_one_way
            rules = value_rules_of_edges(self.known, rows.pairs, n, ordered)
            words = {"mean": "the mean of training, always"}
        words["habits"] = "what the other edges of the two vertices have"
        metrics = {name: self.metrics(torch.from_numpy(outputs).float(), rows) for name, outputs in rules.items()}
        return {
            name: {"rule": words[name], "metrics": {k: v for k, v in own.items() if k != "loss"}}
            for name, own in metrics.items()
        }

    @property
    def leads_one_way(self) -> bool:
        """Whether edges lead from one kind of vertex to another, as from people to films."""
        return not len(np.intersect1d(*self.known.pairs))


def labelled_messages(graph: Graph, labels: Shaped[Tensor, "m"], classes: int, scale: Scale | None) -> Graph:
    """The graph whose edges tell their labels: values by weights (y − mean) / std, classes by a 1 in their features."""
    if scale is not None:
        z = ((labels - scale.mean) / scale.std).float()
        return Graph(graph.edges, graph.vertices, z, graph.x, directed=graph.directed)
    kinds = nn.functional.one_hot(labels, classes).float() if classes <= MOST_KINDS else None
    return Graph(graph.edges, graph.vertices, None, graph.x, kinds, directed=graph.directed)


def class_rules(known: Pairs, asked: Int[np.ndarray, "2 n"], vertices: int, classes: int) -> dict[str, np.ndarray]:
    """The scores (n, classes) of some pairs by each rule, from the known edges."""
    p = np.bincount(known.targets, minlength=classes) / len(known)
    n = np.zeros((vertices, classes))
    for end in known.pairs:
        np.add.at(n, (end, known.targets), 1)
    own = (n + _COUNT * p) / (n.sum(1, keepdims=True) + _COUNT)
    usual = np.log(p + _LEAST)
    surprise = np.log(own + _LEAST) - usual
    return {"majority": np.tile(usual, (asked.shape[1], 1)), "habits": usual + surprise[asked[0]] + surprise[asked[1]]}


def value_rules_of_edges(
    known: Pairs, asked: Int[np.ndarray, "2 n"], vertices: int, ordered: bool
) -> dict[str, Float[np.ndarray, "n 1"]]:
    """The values (n, 1) of some pairs by each rule; ``ordered``: what a vertex gives is not what it is given."""
    mean = float(known.targets.mean())
    ends = known.pairs if ordered else np.concatenate([known.pairs, known.pairs[::-1]], 1)
    rest = (known.targets if ordered else np.tile(known.targets, 2)) - mean
    first = _shrunk_means(ends[0], rest, vertices)
    second = _shrunk_means(ends[1], rest - first[ends[0]], vertices)
    b = first[asked[0]] + second[asked[1]]
    if not ordered:
        b = (b + first[asked[1]] + second[asked[0]]) / 2
    return {"mean": np.full((asked.shape[1], 1), mean), "habits": mean + b[:, None]}


def _shrunk_means(ends: Int[np.ndarray, "m"], values: Shaped[np.ndarray, "m"], vertices: int) -> Float[np.ndarray, "v"]:
    """Σ values / (count + c) over the edges of each vertex."""
    return np.bincount(ends, values, vertices) / (np.bincount(ends, minlength=vertices) + _COUNT)
