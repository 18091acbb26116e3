"""Attention along edges, against torch_geometric's TransformerConv and against multi-head attention."""

import pytest
import torch
import torch_geometric.nn
from graph_cases import assert_differentiable, assert_equivariant, odd_graph, set_weights, shaken, vertex_features

import cutaway as cut
from cutaway.blocks import EdgeAttention, Graph, MultiHeadAttention


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("edges", [False, True])
def test_equals_torch_geometric(directed: bool, edges: bool):
    graph = odd_graph(directed, features=2 if edges else 0)
    layer = shaken(EdgeAttention(6, 3, edge_inputs=2 if edges else None))
    peer = torch_geometric.nn.TransformerConv(6, 2, heads=3, root_weight=False, edge_dim=2 if edges else None).double()
    parts = zip((peer.lin_query, peer.lin_key, peer.lin_value), layer.qkv.weight.chunk(3, 1), layer.qkv.bias.chunk(3))
    for theirs, weight, bias in parts:
        set_weights({theirs.weight: weight.T, theirs.bias: bias})
    if edges:
        set_weights({peer.lin_edge.weight: layer.map_edges.weight.T})
    x = vertex_features(graph, 6)
    theirs = peer(x, graph.arcs, graph.edge_features[graph.arc_edges] if edges else None)
    with cut.trace(layer, "head_outputs") as seen:
        y = layer(x, graph)
    torch.testing.assert_close(seen["head_outputs"], theirs)
    torch.testing.assert_close(y, layer.out(theirs))


def test_with_all_arcs_it_is_multi_head_attention():
    n, layer = 5, shaken(EdgeAttention(6, 2))
    whole = Graph(torch.cartesian_prod(torch.arange(n), torch.arange(n)).T, directed=True)
    peer = MultiHeadAttention(6, 2).double()
    peer.load_state_dict(layer.state_dict())
    x = vertex_features(whole, 6)
    with cut.trace(layer, "attention") as seen, cut.trace(peer, "weights") as theirs:
        torch.testing.assert_close(layer(x, whole), peer(x))
    weights = torch.zeros(2, n, n, dtype=torch.float64)
    weights[:, whole.arcs[1], whole.arcs[0]] = seen["attention"].T
    torch.testing.assert_close(weights, theirs["weights"])


def test_laws():
    for directed in (False, True):
        layer = shaken(EdgeAttention(4, 2, edge_inputs=2))
        assert_equivariant(layer, odd_graph(directed, features=2), 4)
        assert_differentiable(layer, odd_graph(directed, features=2), 4)


def test_attention_can_be_edited():
    graph, layer = odd_graph(), shaken(EdgeAttention(4, 2))
    x = vertex_features(graph, 4)
    with cut.patch(layer, {"attention": torch.zeros_like}):
        torch.testing.assert_close(layer(x, graph), layer.out.bias.expand(13, 4))
    assert torch.equal(layer(x, graph)[11:], layer.out.bias.expand(2, 4))  # nobody speaks to those two


def test_dropout_acts_in_training_alone():
    graph, layer = odd_graph(), shaken(EdgeAttention(4, 2, dropout=0.5))
    x = vertex_features(graph, 4)
    assert not torch.equal(layer(x, graph), layer(x, graph))
    layer.eval()
    assert torch.equal(layer(x, graph), layer(x, graph))


def test_mistakes_are_told():
    with pytest.raises(ValueError, match="width must be a multiple of heads, got width=6, heads=4"):
        EdgeAttention(6, 4)
