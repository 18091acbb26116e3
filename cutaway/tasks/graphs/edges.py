r"""Labels of edges, classes (friend, foe, unknown) or values (ratings): the cost of a step, metrics and predictions.

    classes    cost = mean over edges of −log softmax(score(u, v))_y
    values     cost = mean over edges of (score(u, v) − (y − mean) / std)²          mean, std: of the training edges

Messages run over the training edges, and know their labels, but in training not those that a step asks for: edges of a
class have stages of their own, and so have values above and below the mean, the farther the heavier.
"""

from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from cutaway.blocks.graphs.graph import Graph
from cutaway.blocks.losses.metrics import accuracy, macro_f1
from cutaway.data.graphs.link_splits import Pairs, pair_keys, split_labelled
from cutaway.tasks.graphs.edge_baselines import class_rules, value_rules_of_edges
from cutaway.tasks.graphs.links import AskedLinks, PairBatches, pair_scores
from cutaway.tasks.graphs.outcomes import Scale, outcome_loss, outcome_metrics

MOST_KINDS = 8  # classes of edges that have stages of their own


class EdgeTask:
    """A graph whose edges have ``labels`` (m,): numbers of ``classes``, or values where there are none."""

    def __init__(
        self,
        whole: Graph,
        labels: Shaped[Tensor, "m"],
        classes: tuple[str, ...],
        validation: float,
        test: float,
        seed: int,
    ) -> None:
        self.classes, self.seed = classes, seed
        edges = whole.edges.numpy()
        self.split = split_labelled(edges, labels.numpy(), validation, test, seed)
        train = torch.from_numpy(self.split.train)
        self.scale = None if classes else Scale.of(labels[train])
        self.graph = labelled_messages(whole, labels, len(classes), self.scale).without_edges(~train)
        self.known = Pairs(edges[:, self.split.train], labels[train].numpy())
        self._keys = pair_keys(self.known.pairs, whole.vertices)
        self._moved: dict[torch.device, Graph] = {}

    def model_settings(self) -> dict[str, Any]:
        """What the spec of a model for this says: its outputs, and which edges have stages of their own."""
        count = len(self.classes)
        return {"outputs": count or 1, "signed": not count, "kinds": count if count <= MOST_KINDS else 0}

    def open_test(self) -> Pairs:
        """The test edges, for the end."""
        if not len(self.split.test):
            raise ValueError("a test needs edges that were kept for it, got none; train with test above 0")
        return self.split.test

    def summary(self) -> str:
        """What the parts are."""
        parts = (("training", self.known), ("validation", self.split.validation), ("test", self.split.test))
        counts = ", ".join(f"{name} {len(part):,}" for name, part in parts)
        if self.scale is not None:
            return f"edges with values: {counts}; mean {self.scale.mean:.4g}, deviation {self.scale.std:.4g}"
        share = np.bincount(self.known.targets, minlength=len(self.classes)) / len(self.known)
        kinds = ", ".join(f"{name} {p:.0%}" for name, p in list(zip(self.classes, share))[:10])
        return f"edges of {len(self.classes)} kinds: {counts}; in training {kinds}"

    def batches(self, batch: int, rank: int, world: int) -> PairBatches:
        return PairBatches(self.known, None, batch, self.seed, rank, world)

    def cost(self, model: nn.Module, batch: AskedLinks) -> Tensor:
        """The mean loss of a batch of edges; messages run over the others."""
        device = next(model.parameters()).device
        hidden = torch.from_numpy(np.isin(self._keys, self._keys[batch.edges])).to(device)
        scores = model(self._on(device).without_edges(hidden), torch.from_numpy(batch.pairs.pairs).to(device))
        targets = torch.from_numpy(batch.pairs.targets).to(device)
        return outcome_loss(scores if self.classes else scores[:, None], targets, self.scale)

    def outputs(self, model: Any, pairs: Int[np.ndarray, "2 n"]) -> Float[Tensor, "n o"]:
        """The scores of classes, or the values in their own unit (n, 1)."""
        return edge_outputs(model, self._on(next(model.parameters()).device), pairs, self.scale)

    def metrics(self, model: nn.Module, held: Pairs) -> dict[str, float]:
        """Of classes the loss, accuracy and macro F1; of values the loss, RMSE, MAE and R²."""
        return edge_metrics(self.outputs(model, held.pairs), held, self.scale)

    def baselines(self, held: Pairs) -> dict[str, dict[str, Any]]:
        """Rules without a model, by name, with their metrics."""
        n = self.graph.vertices
        if self.classes:
            found = class_rules(self.known, held.pairs, n, len(self.classes))
            words = {"majority": "the most frequent class of training, always"}
        else:
            found = value_rules_of_edges(self.known, held.pairs, n, self.graph.directed or self.leads_one_way)
            words = {"mean": "the mean of training, always"}
        words["habits"] = "what the other edges of the two vertices have"
        return {
            name: {"rule": words[name], "metrics": _without_loss(torch.from_numpy(outputs).float(), held, self.scale)}
            for name, outputs in found.items()
        }

    @property
    def leads_one_way(self) -> bool:
        """Whether edges lead from one kind of vertex to another, as from people to films."""
        return not len(np.intersect1d(*self.known.pairs))

    def _on(self, device: torch.device) -> Graph:
        if device not in self._moved:
            self._moved[device] = self.graph if device == self.graph.edges.device else self.graph.to(device)
        return self._moved[device]


def labelled_messages(graph: Graph, labels: Shaped[Tensor, "m"], classes: int, scale: Scale | None) -> Graph:
    """The graph whose edges tell their labels: values by weights (y − mean) / std, classes by a 1 in their features."""
    if scale is not None:
        z = ((labels - scale.mean) / scale.std).float()
        return Graph(graph.edges, graph.vertices, z, graph.x, directed=graph.directed)
    kinds = nn.functional.one_hot(labels, classes).float() if classes <= MOST_KINDS else None
    return Graph(graph.edges, graph.vertices, None, graph.x, kinds, directed=graph.directed)


def edge_outputs(model: Any, graph: Graph, pairs: Int[np.ndarray, "2 n"], scale: Scale | None) -> Float[Tensor, "n o"]:
    """Scores of classes, or values in their own unit (n, 1), by messages over a graph."""
    found = pair_scores(model, graph, pairs)
    return found if scale is None else found[:, None] * scale.std + scale.mean


def edge_metrics(outputs: Float[Tensor, "n o"], held: Pairs, scale: Scale | None) -> dict[str, float]:
    """How well outputs meet the labels of held-out edges."""
    targets = torch.from_numpy(held.targets)
    if scale is not None:
        return outcome_metrics(outputs, targets, scale)
    predicted = outputs.argmax(1)
    return {
        "loss": nn.functional.cross_entropy(outputs, targets).item(),
        "accuracy": accuracy(predicted, targets),
        "macro_f1": macro_f1(predicted, targets),
    }


def _without_loss(outputs: Float[Tensor, "n o"], held: Pairs, scale: Scale | None) -> dict[str, float]:
    return {name: value for name, value in edge_metrics(outputs, held, scale).items() if name != "loss"}


def predicted_edges(
    outputs: Float[Tensor, "n o"],
    pairs: Int[np.ndarray, "2 n"],
    names: tuple[str, ...],
    classes: tuple[str, ...],
    target: str,
) -> list[dict[str, Any]]:
    """For each pair its two names, and its class with P(label) for every label, or its value under ``target``."""
    ends = [{"source": names[u], "target": names[v]} for u, v in pairs.T]
    if not classes:
        called = target if target not in ("", "source", "target") else "value"
        return [row | {called: value} for row, value in zip(ends, outputs[:, 0].tolist(), strict=True)]
    p = outputs.double().softmax(-1).numpy()
    return [
        row | {"class": classes[int(own.argmax())]} | {f"P({c})": float(x) for c, x in zip(classes, own, strict=True)}
        for row, own in zip(ends, p, strict=True)
    ]


__all__ = ["EdgeTask", "edge_outputs", "labelled_messages", "predicted_edges"]
