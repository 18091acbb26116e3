"""Kept features of graphs: the same as computed again."""

import numpy as np
import torch

from cutaway.blocks.graphs.graph import Graph
from cutaway.data.graphs.graph_set import GraphRows
from cutaway.models.graphs.graph_encoder import GraphEncoder
from cutaway.tasks.graphs.graph_networks import outcome_cost, outcome_outputs
from cutaway.tasks.graphs.outcomes import Scale, outcome_metrics
from cutaway.tuning.graph_features import (
    GraphFeatureRows,
    feature_loss,
    feature_outcomes,
    fit_graph_head,
    measure_head,
)


def path(vertices: int) -> Graph:
    ends = torch.arange(vertices)
    return Graph(torch.stack([ends[:-1], ends[1:]]), vertices, x=torch.randn(vertices, 3))


def rows_of(count: int, values: bool) -> GraphRows:
    torch.manual_seed(0)
    graphs = tuple(path(3 + i % 4) for i in range(count))
    targets = torch.randn(count) if values else torch.arange(count) % 2
    return GraphRows(graphs, tuple(map(str, range(count))), targets)


def test_graphs_by_kept_features():
    for scale in (None, Scale(0.3, 2.0)):
        rows = rows_of(12, scale is not None)
        task = "multi-class" if scale is None else "regression"
        outputs = 2 if scale is None else 1
        torch.manual_seed(1)
        model = GraphEncoder(inputs=3, width=4, purpose="graphs", task=task, outputs=outputs, layer="gin").eval()
        kept = GraphFeatureRows(model, rows)
        measure_head(model, kept)
        torch.testing.assert_close(model.head.norm.running_mean, kept.values.mean(0))
        chosen = np.array([1, 5, 7])
        expected = outcome_cost(model, rows.take(chosen), scale)
        torch.testing.assert_close(feature_loss(model, chosen, kept, scale), expected)
        found = feature_outcomes(model, kept, scale)
        again = outcome_metrics(outcome_outputs(model, rows.graphs, scale), rows.targets, scale)
        assert {name: round(value, 5) for name, value in found.items()} == {k: round(v, 5) for k, v in again.items()}
        body = {name: x.clone() for name, x in model.named_parameters() if not name.startswith("head.")}
        before = feature_loss(model, np.arange(12), kept, scale).item()
        fit_graph_head(model, kept, scale, 0)
        assert feature_loss(model, np.arange(12), kept, scale).item() < before
        assert all(torch.equal(x, dict(model.named_parameters())[name]) for name, x in body.items())
