r"""What one reaches on a table without a model: always the same answer, taken from the training rows.

    numbers    ŷ = ȳ, the mean             R² about 0
    classes    ŷ = the most frequent       an accuracy of 0.95 is nothing if 95 of 100 rows are of one class
    labels     each as most rows have it

A model is worth what it adds to that.
"""

import math
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from cutaway.data.tables.schema import Schema

if TYPE_CHECKING:
    from cutaway.data.tables.encoding import Encoded


def constant_baseline(head: Any, schema: Schema, rows: "Encoded") -> dict[str, Any]:
    """The rule of the constant answer in words, and its metrics on some rows."""
    assert rows.targets is not None
    targets = torch.from_numpy(rows.targets)
    rule, answer = _answer(schema, targets)
    if answer is None:  # a run made before classes were counted
        return {"rule": rule, "metrics": {}}
    found = score(head, answer.expand_as(targets), targets)
    if schema.task == "regression" and len(schema.targets) == 1:
        found["rmse"] = targets.double().square().mean().sqrt().item() * schema.targets[0].std
    return {"rule": rule, "metrics": found}


def _answer(schema: Schema, targets: Tensor) -> tuple[str, Tensor | None]:
    if schema.task == "regression":  # targets are standardised: their mean in training is 0
        return "the mean of the training rows", torch.zeros((), dtype=targets.dtype)
    if not schema.counts:
        return "", None
    if schema.task == "multi-label":
        rows = schema.rows_counted
        return "each label as most training rows have it", torch.tensor([2 * n > rows for n in schema.counts])
    majority = max(range(len(schema.counts)), key=schema.counts.__getitem__)
    return f"always {schema.labels[majority]}, the most frequent in training", torch.tensor(majority)


def baseline_metric(head: Any, schema: Schema, rows: "Encoded") -> dict[str, float]:
    """The task's metric of the constant answer, to stand beside the model's; none for numbers, where R² is about 0."""
    name = metric_key(head.metric.name)
    found = constant_baseline(head, schema, rows)["metrics"]
    return {f"baseline_{name}": found[name]} if name in found and schema.task != "regression" else {}


def figure_of(head: Any, schema: Schema) -> tuple[str, bool]:
    """The figure of a job on a table, and whether more of it is better: the task's metric, of numbers the loss."""
    return ("loss", False) if schema.task == "regression" else (metric_key(head.metric.name), True)


def score(head: Any, predictions: Tensor, targets: Tensor) -> dict[str, float]:
    """All metrics of a task that have a value: R² has none where targets do not vary, as in a single row."""
    found = {metric_key(metric.name): metric.function(predictions, targets) for metric in head.metrics}
    return {name: value for name, value in found.items() if math.isfinite(value)}


def metric_key(name: str) -> str:
    """The name of a metric in metrics.jsonl.

    >>> metric_key("balanced accuracy"), metric_key("R²")
    ('balanced_accuracy', 'r2')
    """
    return name.lower().replace("²", "2").replace(" ", "_")


__all__ = ["baseline_metric", "constant_baseline", "figure_of", "metric_key", "score"]
