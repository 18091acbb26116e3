"""Stages: what stands around a layer, and in which order."""

import torch

from cutaway.blocks.graphs.graph import Graph
from cutaway.models.graphs.graph_stages import GraphStage, make_stages
from cutaway.models.graphs.vertex_classifier import VertexClassifierSpec

SPEC = VertexClassifierSpec(inputs=3, classes=2, width=3, depth=3, residual=True)
GRAPH = Graph(torch.tensor([[0, 1], [1, 2]]))


def test_a_stage_by_hand():
    stage, x = GraphStage(SPEC, 3, 3), torch.randn(3, 3)
    assert torch.equal(stage(x, GRAPH), x + torch.relu(stage.layer(x, GRAPH)))
    bare = GraphStage(SPEC, 3, 3, bare=True)
    assert torch.equal(bare(x, GRAPH), bare.layer(x, GRAPH))


def test_widths_from_features_to_outputs():
    sizes = [(stage.layer.inputs, stage.layer.outputs) for stage in make_stages(SPEC.but(inputs=5), 2)]
    assert sizes == [(5, 3), (3, 3), (3, 2)]
    sizes = [(stage.layer.inputs, stage.layer.outputs) for stage in make_stages(SPEC.but(inputs=5))]
    assert sizes == [(5, 3), (3, 3), (3, 3)]
