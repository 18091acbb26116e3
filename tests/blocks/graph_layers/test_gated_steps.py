"""Gated steps, against torch_geometric's GatedGraphConv."""

import pytest
import torch
import torch_geometric.nn
from graph_cases import assert_differentiable, assert_equivariant, odd_graph, set_weights, shaken, vertex_features

import cutaway as cut
from cutaway.blocks import GatedGraphLayer


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("inputs", [4, 6])  # fewer than the states hold, and as many
def test_equals_torch_geometric(directed: bool, inputs: int):
    graph, layer = odd_graph(directed), shaken(GatedGraphLayer(inputs, 6, steps=3))
    peer = torch_geometric.nn.GatedGraphConv(6, num_layers=3).double()
    set_weights({peer.weight: layer.map.weight.expand(3, 6, 6).contiguous()})
    set_weights({peer.rnn.weight_ih: layer.map_input.weight.T, peer.rnn.bias_ih: layer.map_input.bias})
    set_weights({peer.rnn.weight_hh: layer.map_hidden.weight.T, peer.rnn.bias_hh: layer.map_hidden.bias})
    x = vertex_features(graph, inputs)
    torch.testing.assert_close(layer(x, graph), peer(x, graph.arcs, graph.arc_weights))


def test_laws():
    for directed in (False, True):
        layer = shaken(GatedGraphLayer(3, 4, steps=2))
        assert_equivariant(layer, odd_graph(directed), 3)
        assert_differentiable(layer, odd_graph(directed), 3)


def test_states_and_messages_of_every_step():
    graph, layer = odd_graph(), shaken(GatedGraphLayer(3, 4, steps=3))
    x = vertex_features(graph, 3)
    with cut.trace(layer, ["state", "messages"]) as seen:
        y = layer(x, graph)
    assert len(seen.calls["state"]) == len(seen.calls["messages"]) == 3
    assert torch.equal(seen.calls["state"][-1], y)
    before = seen.calls["state"][1]
    right = graph.arc_weights[:, None] * layer.map(before)[graph.arcs[0]]
    torch.testing.assert_close(seen.calls["messages"][2], right)


def test_mistakes_are_told():
    with pytest.raises(ValueError, match="got width=4, inputs=5; try width=5"):
        GatedGraphLayer(5, 4)


@pytest.mark.parametrize("directed", [False, True])
def test_features_of_edges_are_read(directed: bool):
    """Two steps by the dense equation: m_j = Σ a_ij (h_i W + f_a W_e), every arc by itself."""
    graph, layer = odd_graph(directed, features=2), shaken(GatedGraphLayer(3, 4, steps=2, edge_inputs=2))
    x = vertex_features(graph, 3)
    h = torch.nn.functional.pad(x, (0, 1))
    for _ in range(2):
        m = torch.zeros_like(h)
        for (i, j), e in zip(graph.arcs.T.tolist(), graph.arc_edges.tolist(), strict=True):
            m[j] += graph.weights[e] * (h[i] @ layer.map.weight + graph.edge_features[e] @ layer.map_edges.weight)
        h = torch.gru_cell(
            m,
            h,
            layer.map_input.weight.T,
            layer.map_hidden.weight.T,
            layer.map_input.bias,
            layer.map_hidden.bias,
        )
    torch.testing.assert_close(layer(x, graph), h)
    assert_equivariant(layer, graph, 3)
    assert_differentiable(layer, graph, 3)


def test_messages_hold_what_edges_say():
    graph, layer = odd_graph(features=2), shaken(GatedGraphLayer(3, 4, steps=1, edge_inputs=2))
    x = vertex_features(graph, 3)
    with cut.trace(layer, "messages") as seen:
        y = layer(x, graph)
    with cut.patch(layer, {"messages": lambda m: m}):
        torch.testing.assert_close(layer(x, graph), y)  # written out
    right = (
        layer.map(torch.nn.functional.pad(x, (0, 1)))[graph.arcs[0]]
        + layer.map_edges(graph.edge_features)[graph.arc_edges]
    )
    torch.testing.assert_close(seen["messages"], graph.arc_weights[:, None] * right)


def test_without_features_of_edges_nothing_changed():
    """The weights have the names and the order that they had, so that those of earlier runs fit."""
    torch.manual_seed(0)
    names = dict(GatedGraphLayer(3, 4).named_parameters())
    assert list(names) == ["map.weight", "map_input.weight", "map_input.bias", "map_hidden.weight", "map_hidden.bias"]
    with pytest.raises(ValueError, match=r"built for edges without features, got a graph with 2 .* edge_inputs=2"):
        GatedGraphLayer(3, 4).double()(vertex_features(odd_graph(), 3), odd_graph(features=2))
