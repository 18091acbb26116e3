"""Graph attention, against torch_geometric, its bare equation and by hand."""

import pytest
import torch
import torch_geometric.nn
from graph_cases import assert_differentiable, assert_equivariant, odd_graph, set_weights, shaken, vertex_features

import cutaway as cut
from cutaway.blocks import GATLayer, Graph
from cutaway.blocks.graph_layers.gat import gat_open


def test_by_hand():
    """With no weights on scores every arc counts alike: vertex 1 takes the mean of 0, 1 and 2."""
    layer = GATLayer(1, 1)
    set_weights({layer.map.weight: torch.ones(1), layer.source: torch.zeros(1), layer.target: torch.zeros(1)})
    path = Graph(torch.tensor([[0, 1], [1, 2]]))
    y = layer(torch.tensor([[1.0], [2.0], [6.0]]), path)
    torch.testing.assert_close(y, torch.tensor([[1.5], [3.0], [4.0]]))


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("concat", [False, True])
@pytest.mark.parametrize("edges", [False, True])
@pytest.mark.parametrize("version", [1, 2])
def test_equals_torch_geometric(directed: bool, concat: bool, edges: bool, version: int):
    graph = odd_graph(directed, features=2 if edges else 0)
    layer = shaken(GATLayer(5, 6, heads=3, concat=concat, edge_inputs=2 if edges else None, version=version))
    kind = torch_geometric.nn.GATConv if version == 1 else torch_geometric.nn.GATv2Conv
    peer = kind(5, 2 if concat else 6, heads=3, concat=concat, edge_dim=2 if edges else None).double()
    W, f = layer.map.weight.T.contiguous(), graph.edge_features[graph.arc_edges] if edges else None
    if version == 1:
        set_weights({peer.lin.weight: W, peer.att_src: layer.source, peer.att_dst: layer.target})
    else:
        set_weights({peer.lin_l.weight: W, peer.lin_r.weight: layer.map_target.weight.T.contiguous()})
        set_weights(
            {peer.att: layer.source, peer.lin_l.bias: torch.zeros(len(W)), peer.lin_r.bias: torch.zeros(len(W))}
        )
    if edges:
        set_weights({peer.lin_edge.weight: layer.map_edges.weight.T.contiguous()})
    if edges and version == 1:
        set_weights({peer.att_edge: layer.edge})
    set_weights({peer.bias: layer.bias})
    x = vertex_features(graph, 5)
    with cut.trace(layer, "attention") as seen:
        ours = layer(x, graph)
    theirs, (arcs, α) = peer(x, graph.arcs, f, return_attention_weights=True)
    torch.testing.assert_close(ours, theirs)
    # the same weights on the same arcs, whatever their order
    wired = layer.wired(graph).arcs
    assert seen["attention"].shape == (wired.shape[1], 3)
    for h in range(3):
        one, other = (
            torch.zeros(13, 13, dtype=torch.float64).index_put((i, j), a, accumulate=True)
            for (i, j), a in ((wired, seen["attention"][:, h]), (arcs, α[:, h]))
        )
        torch.testing.assert_close(one, other)


def test_equals_its_bare_equation():
    graph, layer = odd_graph(), shaken(GATLayer(4, 3, bias=False, self_loops=False))
    x = vertex_features(graph, 4)
    with cut.trace(layer, "attention") as seen:
        y = layer(x, graph)
    right, α = gat_open(layer.map(x), layer.source[0], layer.target[0], graph)
    torch.testing.assert_close(y, right)
    torch.testing.assert_close(seen["attention"][:, 0], α)


@pytest.mark.parametrize("version", [1, 2])
def test_laws(version: int):
    for directed in (False, True):
        graph = odd_graph(directed, features=2)
        layer = shaken(GATLayer(4, 6, heads=2, edge_inputs=2, version=version))
        assert_equivariant(layer, graph, 4)
        assert_differentiable(layer, graph, 4)


def test_weights_of_arcs_to_a_vertex_add_to_one():
    graph, layer = odd_graph(directed=True), shaken(GATLayer(4, 6, heads=2))
    with cut.trace(layer, "attention") as seen:
        layer(vertex_features(graph, 4), graph)
    total = torch.zeros(13, 2, dtype=torch.float64).index_add(0, layer.wired(graph).arcs[1], seen["attention"])
    torch.testing.assert_close(total, torch.ones(13, 2, dtype=torch.float64))


def test_attention_can_be_edited():
    """All attention on itself: every vertex gives its own z."""
    graph, layer = odd_graph(), shaken(GATLayer(4, 6, heads=2))
    x = vertex_features(graph, 4)
    i, j = layer.wired(graph).arcs
    own = (i == j).double()[:, None].expand(-1, 2)
    with cut.patch(layer, {"attention": own}):
        torch.testing.assert_close(layer(x, graph), layer.map(x) + layer.bias)
    with cut.trace(layer, "attention", gradients=True) as seen:
        layer(x, graph).square().sum().backward()
    assert seen.gradient["attention"].shape == (len(i), 2)


def test_dropout_of_attention_is_the_same_read_or_not():
    graph, layer = odd_graph(), shaken(GATLayer(4, 6, heads=2, dropout=0.5)).train()
    x = vertex_features(graph, 4)
    outputs = []
    for watch in (cut.trace(layer, "attention"), cut.patch(layer, {"attention": lambda a: a}), None):
        torch.manual_seed(0)
        if watch is None:
            outputs.append(layer(x, graph))
            continue
        with watch:
            outputs.append(layer(x, graph))
    assert torch.equal(outputs[0], outputs[2])
    torch.testing.assert_close(outputs[1], outputs[2])
    assert not torch.equal(outputs[0], layer.eval()(x, graph))


def test_odd_cases():
    layer = GATLayer(3, 4, heads=2)
    for n in (0, 1, 5):
        x = torch.randn(n, 3)
        y = layer(x, Graph(torch.zeros(2, 0, dtype=torch.int64), vertices=n))
        torch.testing.assert_close(y, layer.map(x) if n else torch.zeros(0, 4))
    deaf = GATLayer(3, 4, heads=2, self_loops=False)
    assert torch.equal(deaf(torch.randn(3, 3), Graph(torch.tensor([[0], [1]]), vertices=3))[2], torch.zeros(4))
    x = vertex_features(odd_graph(), 3) * 1.0
    twin = shaken(layer)
    torch.testing.assert_close(twin(x.to_sparse_csr(), odd_graph()), twin(x, odd_graph()))


@pytest.mark.untyped
def test_mistakes_are_told():
    with pytest.raises(ValueError, match="outputs=6, heads=4; try heads=2 or heads=3, or concat=False"):
        GATLayer(3, 6, heads=4)
    with pytest.raises(ValueError, match="version must be 1 or 2, got 3"):
        GATLayer(3, 6, version=3)
    with pytest.raises(ValueError, match=r"reads 2 features of every edge .* got a graph without edge_features"):
        GATLayer(3, 6, edge_inputs=2)(torch.zeros(2, 3), Graph(torch.tensor([[0], [1]])))
    with pytest.raises(ValueError, match=r"\(edge_inputs=2\), got a graph with 5; build the layer with edge_inputs=5"):
        GATLayer(3, 6, edge_inputs=2)(
            torch.zeros(2, 3), Graph(torch.tensor([[0], [1]]), edge_features=torch.zeros(1, 5))
        )
