"""Readouts, against torch_geometric; the order of vertices does not matter."""

import pytest
import torch
import torch_geometric.nn
from graph_cases import batch_of_graphs, odd_graph, set_weights, shaken, vertex_features

import cutaway as cut
from cutaway.blocks import (
    AttentionReadout,
    Graph,
    GraphConvLayer,
    add_global_vertex,
    readout_global,
    readout_max,
    readout_mean,
    readout_sum,
)

PEERS = {
    readout_sum: torch_geometric.nn.global_add_pool,
    readout_mean: torch_geometric.nn.global_mean_pool,
    readout_max: torch_geometric.nn.global_max_pool,
}


@pytest.mark.parametrize("readout", PEERS, ids=lambda f: f.__name__)
def test_equals_torch_geometric(readout):
    graph = batch_of_graphs()
    x = vertex_features(graph, 3)
    torch.testing.assert_close(readout(x, graph), PEERS[readout](x, graph.membership, 4))
    torch.testing.assert_close(readout(x, odd_graph()), PEERS[readout](x, None))


def test_attention_equals_torch_geometric():
    graph, layer = batch_of_graphs(), shaken(AttentionReadout(3))
    peer = torch_geometric.nn.aggr.AttentionalAggregation(torch.nn.Linear(3, 1, bias=False)).double()
    set_weights({peer.gate_nn.weight: layer.map.weight.T})
    x = vertex_features(graph, 3)
    with cut.trace(layer, "weights") as seen:
        torch.testing.assert_close(layer(x, graph), peer(x, graph.membership, dim_size=4))
    torch.testing.assert_close(readout_sum(seen["weights"][:, None], graph), torch.ones(4, 1, dtype=torch.float64))


@pytest.mark.parametrize("readout", [*PEERS, shaken(AttentionReadout(3))], ids=["sum", "mean", "max", "attention"])
def test_invariant(readout):
    graph = batch_of_graphs()
    x, order = vertex_features(graph, 3), torch.randperm(13, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(readout(x[order], graph.permuted(order)), readout(x, graph))


@pytest.mark.parametrize("directed", [False, True])
def test_a_global_vertex_hears_all_and_speaks_to_all(directed: bool):
    graph = odd_graph(directed)
    more = add_global_vertex(graph.with_x(vertex_features(graph, 3)))
    assert more.vertices == 14
    assert torch.equal(more.x[:13], vertex_features(graph, 3))
    layer = shaken(GraphConvLayer(3, 3, activation=None))
    x = more.x.clone().requires_grad_()
    state = readout_global(layer(x, more), more)
    torch.testing.assert_close(state, layer.own(x[13:]) + layer.others(x[:13].sum(0)))
    told = torch.autograd.grad(layer(x, more)[:13].sum(1), x, torch.ones(13, dtype=torch.float64))[0][13]
    assert told.abs().sum() > 0


def test_every_graph_of_a_batch_gets_its_own():
    graph = batch_of_graphs()
    more = add_global_vertex(graph)
    assert more.vertices == 17
    x = torch.cat([vertex_features(graph, 3), torch.zeros(4, 3, dtype=torch.float64)])
    layer = shaken(GraphConvLayer(3, 3, activation=None))
    right = layer.others(readout_sum(x[:13], graph)) + layer.own.bias
    torch.testing.assert_close(readout_global(layer(x, more), more), right)


def test_graphs_without_vertices_give_zero():
    graph = Graph(torch.zeros(2, 0, dtype=torch.int64), vertices=0, membership=torch.zeros(0).long(), graphs=2)
    for readout in (*PEERS, AttentionReadout(3)):
        assert torch.equal(readout(torch.zeros(0, 3), graph), torch.zeros(2, 3))
