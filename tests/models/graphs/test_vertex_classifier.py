"""The classifier of vertices: equal to torch_geometric's, and the same however vertices are numbered."""

import pytest
import torch
from torch_geometric.nn import GATConv, GCNConv

from cutaway.blocks.graphs.graph import Graph
from cutaway.models import VertexClassifier, from_spec, spec_from_dict
from cutaway.models.graphs.layer_kinds import LAYERS

ANYWHERE = [name for name, kind in LAYERS.items() if not kind.belongs_to_a_graph]


def ring(n: int = 7, f: int = 5) -> Graph:
    torch.manual_seed(0)
    edges = torch.stack([torch.arange(n), (torch.arange(n) + 1) % n])
    return Graph(torch.cat([edges, torch.tensor([[0], [3]])], 1), x=torch.randn(n, f, dtype=torch.float64))


def small(layer: str, **changes: object) -> VertexClassifier:
    torch.manual_seed(1)
    return VertexClassifier(inputs=5, classes=3, layer=layer, width=4, heads=2, **changes).double().eval()


def test_two_layers_are_those_of_torch_geometric():
    graph, model = ring(), small("gcn")
    first, second = GCNConv(5, 4).double(), GCNConv(4, 3).double()
    for theirs, stage in zip((first, second), model.stages, strict=True):
        theirs.lin.weight.data = stage.layer.map.weight.data.T
        theirs.bias.data = stage.layer.bias.data
    expected = second(torch.relu(first(graph.x, graph.arcs)), graph.arcs)
    assert torch.allclose(model(graph), expected)


def test_attention_layers_are_those_of_torch_geometric():
    graph, model = ring(), small("gat", activation="elu")
    first, second = GATConv(5, 2, heads=2).double(), GATConv(4, 3, heads=1).double()
    for theirs, stage in zip((first, second), model.stages, strict=True):
        ours = stage.layer
        theirs.lin.weight.data = ours.map.weight.data.T
        theirs.att_src.data, theirs.att_dst.data = ours.source.data[None], ours.target.data[None]
        theirs.bias.data = ours.bias.data
    expected = second(torch.nn.functional.elu(first(graph.x, graph.arcs)), graph.arcs)
    assert torch.allclose(model(graph), expected)


@pytest.mark.parametrize("layer", ANYWHERE)
def test_renumbered_vertices_have_renumbered_answers(layer: str):
    graph, model = ring(), small(layer)
    order = torch.randperm(7)
    assert torch.allclose(model(graph.permuted(order)), model(graph)[order], atol=1e-6)


@pytest.mark.parametrize("layer", ANYWHERE)
def test_sparse_and_dense_features_give_the_same(layer: str):
    graph, model = ring(), small(layer)
    assert torch.allclose(model(graph), model(graph.with_x(graph.x.to_sparse_csr())), atol=1e-6)


def test_residual_and_norm_in_deep_ones():
    model = small("gcn", depth=4, residual=True, norm="layer")
    assert [stage.residual for stage in model.stages] == [False, True, True, False]
    assert model(ring()).shape == (7, 3)


def test_back_from_its_spec():
    model = small("gat", depth=3, attention_dropout=0.5)
    again = from_spec(spec_from_dict(model.spec.to_dict())).double().eval()
    again.load_state_dict(model.state_dict())
    assert torch.equal(again(ring()), model(ring()))


def test_dropout_in_training_only():
    graph, model = ring(), small("gcn", dropout=0.5)
    assert torch.equal(model(graph), model(graph))
    model.train()
    assert not torch.equal(model(graph), model(graph))
    sparse = graph.with_x(graph.x.to_sparse_csr())
    assert not torch.equal(model(sparse), model(sparse))


def test_messages():
    with pytest.raises(ValueError, match=r"every vertex must have 5 features, got none"):
        small("gcn")(Graph(torch.tensor([[0], [1]])))
    with pytest.raises(ValueError, match=r"every vertex must have 5 features, got 2"):
        small("gcn")(Graph(torch.tensor([[0], [1]]), x=torch.randn(2, 2)))
    with pytest.raises(ValueError, match=r"layer must be one of .*got 'gnc'"):
        VertexClassifier(inputs=5, classes=3, layer="gnc")
    with pytest.raises(ValueError, match=r"width must be a multiple of heads, got width=5, heads=2"):
        VertexClassifier(inputs=5, classes=3, width=5, heads=2)
