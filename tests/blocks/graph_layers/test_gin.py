"""The graph isomorphism network, against torch_geometric and by hand."""

import pytest
import torch
import torch_geometric.nn
from graph_cases import assert_differentiable, assert_equivariant, odd_graph, set_weights, shaken, vertex_features
from torch import nn

import cutaway as cut
from cutaway.blocks import GINLayer, Graph


def peer_mlp(layer: GINLayer) -> nn.Sequential:
    """An MLP of torch.nn, of the same sizes."""
    sizes = layer.inputs, layer.up.outputs, layer.outputs
    return nn.Sequential(nn.Linear(*sizes[:2]), nn.ReLU(), nn.Linear(*sizes[1:])).double()


def copy_maps(pairs: list[tuple[nn.Linear, nn.Module]]) -> None:
    for theirs, ours in pairs:
        set_weights({theirs.weight: ours.weight.T.contiguous(), theirs.bias: ours.bias})


@pytest.mark.parametrize("directed", [False, True])
def test_equals_torch_geometric(directed: bool):
    graph = odd_graph(directed, weights=False)
    x = vertex_features(graph, 5)
    layer = shaken(GINLayer(5, 3, hidden=7))
    peer = torch_geometric.nn.GINConv(peer_mlp(layer), train_eps=True).double()
    set_weights({peer.eps: layer.epsilon})
    copy_maps([(peer.nn[0], layer.up), (peer.nn[2], layer.down)])
    torch.testing.assert_close(layer(x, graph), peer(x, graph.arcs))


@pytest.mark.parametrize("directed", [False, True])
def test_equals_torch_geometric_with_edge_features(directed: bool):
    graph = odd_graph(directed, features=2)
    x = vertex_features(graph, 5)
    layer = shaken(GINLayer(5, 3, edge_inputs=2))
    peer = torch_geometric.nn.GINEConv(peer_mlp(layer), train_eps=True, edge_dim=2).double()
    copy_maps([(peer.lin, layer.map_edges), (peer.nn[0], layer.up), (peer.nn[2], layer.down)])
    set_weights({peer.eps: layer.epsilon})
    torch.testing.assert_close(layer(x, graph), peer(x, graph.arcs, graph.edge_features[graph.arc_edges]))


def test_a_sum_counts_neighbours_where_a_mean_does_not():
    """A vertex with two like neighbours and one with three: by hand 1 + 2 and 1 + 3."""
    stars = Graph(torch.tensor([[1, 2, 4, 5, 6], [0, 0, 3, 3, 3]]), directed=True)
    layer = GINLayer(1, 1, epsilon=0.0)
    with cut.trace(layer, "sums") as seen:
        layer(torch.ones(7, 1), stars)
    assert seen["sums"][[0, 3], 0].tolist() == [3, 4]


@pytest.mark.parametrize("edge_inputs", [None, 2])
def test_laws(edge_inputs: int | None):
    for directed in (False, True):
        layer = shaken(GINLayer(4, 3, edge_inputs=edge_inputs))
        graph = odd_graph(directed, features=edge_inputs or 0)
        assert_equivariant(layer, graph, 4)
        assert_differentiable(layer, graph, 4)


def test_sparse_features_give_the_same():
    graph, layer = odd_graph(), shaken(GINLayer(6, 3))
    x = vertex_features(graph, 6) * (vertex_features(graph, 6, seed=8) > 0.5)
    torch.testing.assert_close(layer(x.to_sparse_csr(), graph), layer(x, graph))
    with cut.trace(layer, "messages") as seen:
        torch.testing.assert_close(layer(x.to_sparse_csr(), graph), layer(x, graph))
    torch.testing.assert_close(seen.calls["messages"][0], seen.calls["messages"][1])


def test_reading_leaves_every_bit_of_a_layer_over_sparse_features():
    graph = odd_graph()
    layer, x = GINLayer(5, 7, 6).double(), vertex_features(graph, 5)
    x = (x * (x > 0)).to_sparse_csr()
    plain = layer(x, graph)
    with cut.trace(layer, "**") as seen:
        assert torch.equal(layer(x, graph), plain)
    assert {"messages", "sums", "up"} <= set(seen)
    with cut.patch(layer, {"up": lambda y: 0 * y}):
        assert not torch.allclose(layer(x, graph), plain)


@pytest.mark.parametrize("edge_inputs", [None, 2])
def test_messages_can_be_silenced(edge_inputs: int | None):
    """Without messages a vertex is by itself: the same as without edges."""
    graph = odd_graph(features=edge_inputs or 0)
    layer = shaken(GINLayer(4, 3, edge_inputs=edge_inputs))
    x = vertex_features(graph, 4)
    with cut.patch(layer, {"messages": torch.zeros_like}):
        silent = layer(x, graph)
    torch.testing.assert_close(silent, layer(x, graph.without_edges(torch.ones(31, dtype=torch.bool))))


def test_epsilon_may_stay():
    layer = GINLayer(3, 2, epsilon=0.5, learn_epsilon=False, norm=True)
    assert "epsilon" not in dict(layer.named_parameters())
    assert layer.state_dict()["epsilon"] == 0.5
    assert layer(torch.randn(4, 3), Graph(torch.tensor([[0], [1]]), vertices=4)).shape == (4, 2)
