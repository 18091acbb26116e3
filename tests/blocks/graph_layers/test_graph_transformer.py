"""The graph transformer layer: along edges, between pairs, one graph or many."""

import pytest
import torch
from graph_cases import assert_differentiable, assert_equivariant, batch_of_graphs, odd_graph, shaken, vertex_features

import cutaway as cut
from cutaway.blocks import EncoderLayer, Graph, GraphTransformerLayer, LayerNorm
from cutaway.blocks.graph_layers.graph_transformer import pad_graphs, unpad_graphs


@pytest.mark.parametrize("scope", ["edges", "pairs"])
def test_a_batch_is_each_graph_alone(scope: str):
    whole, layer = batch_of_graphs(), shaken(GraphTransformerLayer(6, 2, scope=scope))
    x = vertex_features(whole, 6)
    parts = x.split([part.vertices for part in whole.split()])
    alone = [layer(part, graph) for part, graph in zip(parts, whole.split(), strict=True)]
    torch.testing.assert_close(layer(x, whole), torch.cat(alone))


def test_between_pairs_it_is_the_transformer_layer():
    graph, layer = odd_graph(), shaken(GraphTransformerLayer(6, 2, scope="pairs"))
    peer = EncoderLayer(layer.attention, layer.mlp, lambda: LayerNorm(6)).double()
    peer.load_state_dict(layer.state_dict())
    x = vertex_features(graph, 6)
    torch.testing.assert_close(layer(x, graph), peer(x))


@pytest.mark.parametrize("scope", ["edges", "pairs"])
def test_laws(scope: str):
    told = 2 if scope == "edges" else 0
    for graph in (odd_graph(features=told), odd_graph(True, features=told), batch_of_graphs(features=told)):
        layer = shaken(GraphTransformerLayer(4, 2, scope=scope, edge_inputs=told or None))
        assert_equivariant(layer, graph, 4)
        assert_differentiable(layer, graph, 4)


def test_attention_is_seen():
    graph = batch_of_graphs()
    x = vertex_features(graph, 4)
    pairs, edges = (shaken(GraphTransformerLayer(4, 2, scope=scope)) for scope in ("pairs", "edges"))
    with cut.trace(pairs, "attention.weights") as seen:
        pairs(x, graph)
    assert seen["attention.weights"].shape == (4, 2, 5, 5)
    assert seen["attention.weights"][1, :, 0, 1:].abs().max() == 0  # the graph of one vertex
    with cut.trace(edges, "attention.attention") as seen:
        edges(x, graph)
    assert seen["attention.attention"].shape == (edges.wired(graph).arcs.shape[1], 2)


def test_padding_and_back():
    graph = batch_of_graphs().permuted(torch.randperm(13, generator=torch.Generator().manual_seed(0)))
    x = vertex_features(graph, 3)
    padded, real = pad_graphs(x, graph)
    assert padded.shape == (4, 5, 3)
    assert real.sum(1).tolist() == [5, 1, 3, 4]
    assert torch.equal(padded[~real], torch.zeros(7, 3))
    assert torch.equal(unpad_graphs(padded, graph), x)
    assert torch.equal(padded[2, :3], x[graph.membership == 2])


def test_mistakes_are_told():
    with pytest.raises(ValueError, match="scope must be one of edges, pairs, got 'all'"):
        GraphTransformerLayer(4, 2, scope="all")
    with pytest.raises(ValueError, match="got edge_inputs=2 with scope='pairs'"):
        GraphTransformerLayer(4, 2, scope="pairs", edge_inputs=2)
    with pytest.raises(ValueError, match="must have width 4, got shape"):
        GraphTransformerLayer(4, 2)(torch.zeros(2, 3), Graph(torch.tensor([[0], [1]])))
