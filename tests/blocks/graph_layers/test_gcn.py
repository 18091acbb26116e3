"""The graph convolution, against torch_geometric, its bare equation and by hand."""

import copy

import pytest
import torch
import torch_geometric.nn
from graph_cases import (
    assert_differentiable,
    assert_equivariant,
    gradients,
    odd_graph,
    set_weights,
    shaken,
    vertex_features,
)

import cutaway as cut
from cutaway.blocks import GCNLayer, Graph
from cutaway.blocks.graph_layers.gcn import gcn_open, symmetric_norm


def test_by_hand():
    """Two vertices and an edge: every degree with its loop is 2, so each takes half of itself and half of the other."""
    layer = GCNLayer(1, 1)
    set_weights({layer.map.weight: torch.ones(1, 1)})
    pair = Graph(torch.tensor([[0], [1]]))
    torch.testing.assert_close(layer(torch.tensor([[1.0], [3.0]]), pair), torch.tensor([[2.0], [2.0]]))


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("outputs", [3, 8])  # fewer than inputs, and more: another order of products
@pytest.mark.parametrize("self_loops", [False, True])
def test_equals_torch_geometric(directed: bool, outputs: int, self_loops: bool):
    graph = odd_graph(directed)
    layer = shaken(GCNLayer(5, outputs, self_loops=self_loops))
    peer = torch_geometric.nn.GCNConv(5, outputs, add_self_loops=self_loops).double()
    set_weights({peer.lin.weight: layer.map.weight.T.contiguous(), peer.bias: layer.bias})
    x = vertex_features(graph, 5).requires_grad_()
    ours, theirs = layer(x, graph), peer(x, graph.arcs, graph.arc_weights)
    torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(gradients(ours, x, layer.bias), gradients(theirs, x, peer.bias))
    torch.testing.assert_close(
        gradients(layer(x, graph), layer.map.weight)[0],
        gradients(peer(x, graph.arcs, graph.arc_weights), peer.lin.weight)[0].T,
    )


def test_equals_its_bare_equation():
    graph = odd_graph(directed=True, weights=False).without_edges(odd_graph(True).edges[0] == odd_graph(True).edges[1])
    layer, x = shaken(GCNLayer(4, 3, bias=False)), vertex_features(graph, 4)
    dense = graph.adjacency(torch.float64).to_dense()
    torch.testing.assert_close(layer(x, graph), gcn_open(x, dense, layer.map.weight))


def test_laws():
    for directed in (False, True):
        graph = odd_graph(directed)
        assert_equivariant(shaken(GCNLayer(4, 3)), graph, 4)
        assert_differentiable(shaken(GCNLayer(2, 3)), graph, 2)


def test_sparse_features_give_the_same():
    graph, layer = odd_graph(), shaken(GCNLayer(6, 8))
    x = vertex_features(graph, 6) * (vertex_features(graph, 6, seed=8) > 0.5)
    torch.testing.assert_close(layer(x.to_sparse_csr(), graph), layer(x, graph))


@pytest.mark.parametrize("outputs", [2, 7])
def test_messages_are_seen_and_changed(outputs: int):
    graph, layer = odd_graph(), shaken(GCNLayer(4, outputs))
    x = vertex_features(graph, 4)
    with cut.trace(layer, "messages") as seen:
        y = layer(x, graph)
    wired = layer.wired(graph)
    i, j = wired.arcs
    right = symmetric_norm(wired, torch.float64).arcs[:, None] * layer.map(x)[i]
    torch.testing.assert_close(seen["messages"], right)
    assert torch.equal(y, layer(x, graph))  # looking changes nothing
    silenced = (i == 3) & (j != 3)  # vertex 3 says nothing to others
    with cut.patch(layer, {"messages": lambda m: m.masked_fill(silenced[:, None], 0)}):
        changed = (layer(x, graph) - y).abs().sum(1) > 1e-9
    assert set(changed.nonzero()[:, 0].tolist()) == set(j[silenced].tolist())


def test_a_cut_edge_is_heard_no_more():
    """Vertex 4 depends on vertex 0 through one edge alone."""
    graph = Graph(torch.tensor([[0, 1, 2], [4, 2, 3]]))
    layer, x = shaken(GCNLayer(2, 2)), vertex_features(graph, 2).requires_grad_()
    assert gradients(layer(x, graph)[4:], x)[0][0].abs().sum() > 0
    assert gradients(layer(x, graph.without_edges([(0, 4)]))[4:], x)[0][0].abs().sum() == 0


def test_odd_cases():
    layer = GCNLayer(3, 2)
    for n in (0, 1, 5):
        graph = Graph(torch.zeros(2, 0, dtype=torch.int64), vertices=n)
        x = torch.randn(n, 3)
        torch.testing.assert_close(layer(x, graph), layer.map(x) if n else torch.zeros(0, 2))
    bare = GCNLayer(3, 2, self_loops=False)
    assert torch.equal(bare(torch.randn(4, 3), Graph(torch.tensor([[0], [1]]), vertices=4))[2:], torch.zeros(2, 2))
    graph = odd_graph()
    twin, x = copy.deepcopy(layer).double(), vertex_features(graph, 6)[:, ::2]
    torch.testing.assert_close(twin(x, graph), twin(x.contiguous(), copy.deepcopy(graph)))


def test_weights_that_learn():
    graph = odd_graph()
    w = graph.weights.requires_grad_()
    layer, x = shaken(GCNLayer(3, 2)), vertex_features(graph, 3)
    f = lambda w: layer(x, Graph(graph.edges, 13, weights=w))
    assert torch.autograd.gradcheck(f, (w.detach().requires_grad_(),), fast_mode=True)


@pytest.mark.untyped
def test_mistakes_are_told():
    layer = GCNLayer(3, 2)
    with pytest.raises(ValueError, match="must have width 3, got shape"):
        layer(torch.zeros(3, 4), Graph(torch.tensor([[0, 1], [1, 2]])))
    with pytest.raises(ValueError, match=r"weights must be 0 or more, since .* got -2 at edge 1"):
        layer(torch.zeros(3, 3), Graph(torch.tensor([[0, 1], [1, 2]]), weights=torch.tensor([1.0, -2.0])))
