"""Answers of a base and of the model tuned from it, worked by hand."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import nn

from cutaway.blocks.graphs.graph import Graph
from cutaway.recipes.graphs.gcn import GCNRecipe
from cutaway.tasks.graphs.learners.vertices import VertexNetwork
from cutaway.tasks.graphs.vertices import VertexLabels
from cutaway.tuning.graph_comparison import vertex_answers


class Still(nn.Module):
    """States are the features; outputs say class 0."""

    head_parts = ("head",)

    def __init__(self) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.tensor([1.0, 0.0]))

    def every_state(self, graph: Graph) -> list[torch.Tensor]:
        assert graph.x is not None
        return [graph.x]

    def forward(self, graph: Graph) -> torch.Tensor:
        return self.bias.expand(graph.vertices, 2)


def test_vertices_by_class_means():
    x = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.9, 0.1], [0.2, 0.8], [0.6, 0.5]])
    graph = Graph(torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]]), 5, x=x)
    targets = torch.tensor([0, 1, 0, 1, 1])
    data: Any = SimpleNamespace(
        train=np.array([0, 1]), validation=np.array([2, 3, 4]), classes=("a", "b"), targets=targets, names="vwxyz"
    )
    task: Any = VertexLabels(GCNRecipe())
    task.graph, task.parts = graph, data
    found = vertex_answers(Still(), VertexNetwork(task.settings, task, Still()))
    assert found is not None
    assert found.before == ["a", "b", "a"]  # of (0.6, 0.5), class a's mean (1, 0) is nearer
    assert found.after == ["a", "a", "a"]
    assert found.right_before.tolist() == [True, True, False]
    assert found.right_after.tolist() == [True, False, False]
    assert found.examples == ["x (is a)", "y (is b)", "z (is b)"]
    assert found.what == "Vertices"
