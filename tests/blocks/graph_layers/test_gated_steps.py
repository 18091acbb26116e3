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
