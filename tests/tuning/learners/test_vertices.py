"""Kept states of vertices: the same as computed again."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from cutaway.blocks.graphs.graph import Graph
from cutaway.models.graphs.graph_encoder import GraphEncoder
from cutaway.tasks.graphs.vertices import VertexLabels
from cutaway.tuning.learners.vertices import TunedVertices
from cutaway.tuning.tasks.vertices import TunedVerticesRecipe


def test_vertices_by_kept_states():
    torch.manual_seed(0)
    ends = torch.arange(9)
    graph = Graph(torch.stack([ends[:-1], ends[1:]]), 9, x=torch.randn(9, 3))
    settings = TunedVerticesRecipe(base="base", data="data", head_only=True)
    task: Any = VertexLabels(settings)
    task.graph, task.parts = graph, SimpleNamespace(targets=torch.arange(9) % 3, classes=("a", "b", "c"), train=ends)
    model = GraphEncoder(inputs=3, width=4, purpose="vertices", outputs=3).eval()
    again, kept = TunedVertices(settings, task, model), TunedVertices(settings, task, model)
    kept.fit_first()
    assert again.states is None
    assert kept.states is not None
    rows = np.array([0, 4, 8])
    torch.testing.assert_close(kept.cost(model, rows), again.cost(model, rows))
    torch.testing.assert_close(kept.outputs(rows), again.outputs(rows))
