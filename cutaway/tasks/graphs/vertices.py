r"""The task of labelling vertices: the class of each vertex of one graph, or its value, and how well answers fit.

    classes    P(label) = softmax(outputs)      metrics: mean −log P of the true class, accuracy, macro F1
    values     outputs, in their own unit       metrics: mean of ((outputs − y) / std)², RMSE, MAE, R²

A network sees the whole graph, also the features and edges of vertices whose label it must not see (transductive).
`cutaway train gcn`, gat, spectral, grn and graph-transformer learn it from nothing (`learners/vertices.py`), `cutaway
tune BASE --task vertices` from a trained model of graphs.
"""

from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from cutaway.blocks.losses.metrics import accuracy, macro_f1
from cutaway.overriding import override
from cutaway.tasks.classes import label_rows
from cutaway.tasks.graphs.one_graph import OneGraph
from cutaway.tasks.graphs.outcomes import outcome_metrics
from cutaway.tasks.graphs.vertex_baselines import vertex_baselines
from cutaway.tasks.graphs.vertex_names import find_vertices, read_names


class VertexLabels(OneGraph):
    """A graph some of whose vertices have a class or a value. Rows are numbers of vertices."""

    kind: ClassVar[str] = "graphs/vertices"

    @override
    @property
    def figure(self) -> str:  # type: ignore[override]
        """Accuracy of classes, loss of values, unless the settings choose another by ``best_by``."""
        chosen = getattr(self.settings, "best_by", "figure")
        return chosen if chosen != "figure" else "accuracy" if self.classes else "loss"

    @override
    @property
    def more_is_better(self) -> bool:  # type: ignore[override]
        return self.figure == "accuracy"

    @override
    def count(self) -> int:
        return len(self.parts.train)

    @property
    def targets(self) -> Shaped[Tensor, "n"]:
        """The class of every vertex, −1 where unknown; or its value."""
        assert self.parts.targets is not None  # `read_graph` refuses a graph without labels
        return self.parts.targets

    @override
    def facts(self) -> dict[str, Any]:
        facts = super().facts() | {"loss_unit": "nats a vertex" if self.classes else "squared deviations"}
        if self.parts.validation is not None:
            facts["baselines"] = self.baselines(self.parts.validation)
        return facts

    def baselines(self, rows: Int[np.ndarray, "v"]) -> dict[str, dict[str, Any]]:
        """Rules without a network, by name, with their metrics on some vertices."""
        return vertex_baselines(self.parts, rows)

    def metrics(self, outputs: Float[Tensor, "v c"], rows: Int[np.ndarray, "v"]) -> dict[str, float]:
        """Over vertices whose label is known: loss, accuracy and macro F1; of values loss, RMSE, MAE and R²."""
        targets = self.targets[rows]
        if self.scale is not None:
            return outcome_metrics(outputs, targets, self.scale)
        predicted = outputs.argmax(-1)
        return {
            "loss": nn.functional.cross_entropy(outputs, targets).item(),
            "accuracy": accuracy(predicted, targets),
            "macro_f1": macro_f1(predicted, targets),
        }

    def test_metrics(self, learner: Any) -> dict[str, float]:
        """Metrics of the test vertices, beside that of the best rule without a network."""
        rows = self.parts.open_test()
        name, better = ("accuracy", max) if self.classes else ("rmse", min)
        best = better(rule["metrics"][name] for rule in self.baselines(rows).values())
        return self.metrics(learner.outputs(rows), rows) | {f"baseline_{name}": best}

    def read_inputs(self, source: str) -> Any:
        """Names of vertices, or those of a file."""
        return read_names(source, self.settings.encoding)

    def inputs(self, source: Any) -> Int[np.ndarray, "v"]:
        """Vertices by their names: one, several, or "all"."""
        return find_vertices(source, self.parts.names)

    def answers(self, outputs: Float[Tensor, "v c"], rows: Int[np.ndarray, "v"]) -> list[dict[str, Any]]:
        """The class of each vertex and P(label) for every label; or its value."""
        return vertex_answers(outputs, [self.parts.names[i] for i in rows], self.classes, self.target)


def vertex_answers(
    outputs: Float[Tensor, "v c"], names: list[str], labels: tuple[str, ...], target: str
) -> list[dict[str, Any]]:
    """For each vertex its name, and its class with P(label) for every label, or its value under ``target``."""
    inputs = [{"vertex": str(name)} for name in names]
    if labels:
        return label_rows(inputs, "class", labels, outputs.double().softmax(-1).numpy())
    values = outputs[:, 0].tolist()
    return [row | {target or "value": value} for row, value in zip(inputs, values, strict=True)]
