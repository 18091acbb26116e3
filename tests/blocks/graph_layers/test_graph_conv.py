"""The notes' layer and GraphSAGE's, against torch_geometric, the bare equation and by hand."""

import pytest
import torch
import torch_geometric.nn
from graph_cases import assert_differentiable, assert_equivariant, odd_graph, set_weights, shaken, vertex_features

import cutaway as cut
from cutaway.blocks import Graph, GraphConvLayer
from cutaway.blocks.graph_layers.graph_conv import graph_conv_open


def test_by_hand():
    """θ₁ = (1, 2) with the bias first, θ₂ = 3: vertex 1 of a path 1, 10, 100 gives 1 + 2·10 + 3·(1 + 100)."""
    layer = GraphConvLayer(1, 1)
    set_weights({layer.own.weight: torch.tensor([2.0]), layer.own.bias: torch.tensor([1.0])})
    set_weights({layer.others.weight: torch.tensor([3.0])})
    path = Graph(torch.tensor([[0, 1], [1, 2]]))
    y = layer(torch.tensor([[1.0], [10.0], [100.0]]), path)
    torch.testing.assert_close(y.flatten(), torch.tensor([33.0, 324.0, 231.0]))


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("aggregate", ["sum", "mean", "max"])
@pytest.mark.parametrize("outputs", [3, 8])
def test_equals_torch_geometric(directed: bool, aggregate: str, outputs: int):
    graph = odd_graph(directed)
    layer = shaken(GraphConvLayer(5, outputs, activation=None, aggregate=aggregate))
    peer = torch_geometric.nn.GraphConv(5, outputs, aggr="add" if aggregate == "sum" else aggregate).double()
    set_weights({peer.lin_root.weight: layer.own.weight.T, peer.lin_rel.bias: layer.own.bias})
    set_weights({peer.lin_rel.weight: layer.others.weight.T})
    x = vertex_features(graph, 5)
    if aggregate == "max":  # ours takes the largest of the mapped messages, theirs maps the largest: equal for θ₂ = 1
        set_weights({layer.others.weight: torch.eye(5, outputs), peer.lin_rel.weight: torch.eye(outputs, 5)})
    torch.testing.assert_close(layer(x, graph), peer(x, graph.arcs, graph.arc_weights))


def test_the_mean_is_graphsage():
    graph = odd_graph(weights=False)
    layer = shaken(GraphConvLayer(5, 3, activation=None, aggregate="mean"))
    peer = torch_geometric.nn.SAGEConv(5, 3).double()
    set_weights({peer.lin_r.weight: layer.own.weight.T, peer.lin_l.bias: layer.own.bias})
    set_weights({peer.lin_l.weight: layer.others.weight.T})
    x = vertex_features(graph, 5)
    torch.testing.assert_close(layer(x, graph), peer(x, graph.arcs))


def test_equals_its_bare_equation():
    graph, layer = odd_graph(directed=True), shaken(GraphConvLayer(4, 3))
    x = vertex_features(graph, 4)
    own = torch.cat([layer.own.bias[None], layer.own.weight])
    right = graph_conv_open(x, graph.adjacency().to_dense(), own, layer.others.weight)
    torch.testing.assert_close(layer(x, graph), right)
    torch.testing.assert_close(layer(x.to_sparse_csr(), graph), right)


@pytest.mark.parametrize("aggregate", ["sum", "mean", "max"])
def test_laws_and_messages(aggregate: str):
    graph, layer = odd_graph(), shaken(GraphConvLayer(4, 6, activation=torch.tanh, aggregate=aggregate))
    assert_equivariant(layer, graph, 4)
    assert_differentiable(layer, graph, 4)
    x = vertex_features(graph, 4)
    with cut.trace(layer, "messages") as seen:
        layer(x, graph)
    torch.testing.assert_close(seen["messages"], graph.arc_weights[:, None] * layer.others(x)[graph.arcs[0]])
    with cut.patch(layer, {"messages": torch.zeros_like}):
        torch.testing.assert_close(layer(x, graph), torch.tanh(layer.own(x)))
