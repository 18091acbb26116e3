"""General message passing, against torch_geometric's and by hand."""

import pytest
import torch
import torch_geometric.nn
from graph_cases import assert_differentiable, assert_equivariant, odd_graph, shaken, vertex_features
from torch import nn

import cutaway as cut
from cutaway.blocks import Graph, MessagePassing, gather_messages


class Peer(torch_geometric.nn.MessagePassing):
    """The same message and update inside torch_geometric."""

    def __init__(self, layer: MessagePassing) -> None:
        super().__init__(aggr=layer.aggregate)
        self.layer = layer

    def forward(self, x, edge_index, weights, features):
        return self.layer.update(x, self.propagate(edge_index, x=x, weights=weights, features=features))

    def message(self, x_i, x_j, weights, features):  # their i is the target
        return weights[:, None] * self.layer.message(x_j, x_i, features)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("aggregate", ["sum", "mean", "max"])
def test_equals_torch_geometric(directed: bool, aggregate: str):
    graph = odd_graph(directed, features=2)
    layer = shaken(MessagePassing(4, 3, width=5, aggregate=aggregate, edge_inputs=2))
    x = vertex_features(graph, 4)
    theirs = Peer(layer)(x, graph.arcs, graph.arc_weights, graph.edge_features[graph.arc_edges])
    torch.testing.assert_close(layer(x, graph), theirs)


@pytest.mark.parametrize("aggregate", ["sum", "mean", "max"])
def test_laws(aggregate: str):
    for directed in (False, True):
        layer = shaken(MessagePassing(4, 3, aggregate=aggregate, edge_inputs=2))
        assert_equivariant(layer, odd_graph(directed, features=2), 4)
        assert_differentiable(layer, odd_graph(directed, features=2), 4)


def test_messages_of_ones_own():
    """A message that is the difference, an update that is the sum: a step of diffusion, by hand."""

    class Difference(nn.Module):
        def forward(self, source, target, edge):
            return source - target

    layer = MessagePassing(1, 1, message=Difference(), update=lambda x, heard: x + heard)
    path = Graph(torch.tensor([[0, 1], [1, 2]]))
    assert layer(torch.tensor([[1.0], [10.0], [100.0]]), path).flatten().tolist() == [10, 91, 10]


def test_messages_and_what_is_heard_can_be_edited():
    graph, layer = odd_graph(features=2), shaken(MessagePassing(4, 3, edge_inputs=2))
    x = vertex_features(graph, 4)
    lonely = layer(x, graph.without_edges(torch.ones(31, dtype=torch.bool)))
    for address in ("messages", "heard"):
        with cut.patch(layer, {address: torch.zeros_like}):
            torch.testing.assert_close(layer(x, graph), lonely)


def test_no_arcs():
    graph = Graph(torch.zeros(2, 0, dtype=torch.int64), vertices=2)
    for aggregate in ("sum", "mean", "max"):
        assert torch.equal(gather_messages(torch.zeros(0, 3), graph, aggregate), torch.zeros(2, 3))
        assert MessagePassing(4, 3, aggregate=aggregate)(torch.randn(2, 4), graph).shape == (2, 3)


def test_mistakes_are_told():
    with pytest.raises(ValueError, match="aggregate must be one of sum, mean, max, got 'median'"):
        MessagePassing(4, 3, aggregate="median")
    with pytest.raises(ValueError, match="got a graph without edge_features"):
        MessagePassing(4, 3, edge_inputs=2)(torch.zeros(2, 4), Graph(torch.tensor([[0], [1]])))
