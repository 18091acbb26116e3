"""Sums, means and maxima over neighbours, against dense matrices and torch_geometric's aggregations."""

import pytest
import torch
import torch_geometric.nn.resolver
from graph_cases import gradients, odd_graph, vertex_features

from cutaway.blocks import Graph
from cutaway.blocks.graphs.neighbours import (
    max_neighbours,
    max_neighbours_open,
    mean_neighbours,
    mean_neighbours_open,
    sum_neighbours,
    sum_neighbours_open,
)

PAIRS = {
    "sum": (sum_neighbours, sum_neighbours_open),
    "mean": (mean_neighbours, mean_neighbours_open),
    "max": (max_neighbours, max_neighbours_open),
}


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("name", PAIRS)
def test_fast_is_open_and_torch_geometric(name: str, directed: bool, weights: bool):
    graph = odd_graph(directed, weights)
    x = vertex_features(graph, 5).requires_grad_()
    fast, slow = (way(x, graph) for way in PAIRS[name])
    a = graph.arc_weights if weights else torch.ones(graph.arcs.shape[1], dtype=torch.float64)
    peer = torch_geometric.nn.resolver.aggregation_resolver(name)
    theirs = peer(a[:, None] * x[graph.arcs[0]], graph.arcs[1], dim_size=graph.vertices)
    torch.testing.assert_close(fast, slow)
    torch.testing.assert_close(fast, theirs)
    torch.testing.assert_close(gradients(fast, x), gradients(slow, x))
    torch.testing.assert_close(gradients(fast, x), gradients(theirs, x))


def test_the_sum_is_a_product_with_the_adjacency():
    graph = odd_graph(directed=True)
    x = vertex_features(graph, 4)
    torch.testing.assert_close(sum_neighbours(x, graph), graph.adjacency().to_dense().T @ x)


@pytest.mark.parametrize("name", PAIRS)
def test_weights_that_learn_get_gradients(name: str):
    graph = odd_graph()
    w = graph.weights.requires_grad_()
    x = vertex_features(graph, 3)
    fast, slow = (way(x, graph) for way in PAIRS[name])
    torch.testing.assert_close(gradients(fast, w), gradients(slow, w))


@pytest.mark.parametrize("name", PAIRS)
def test_a_vertex_alone_hears_nothing(name: str):
    graph = Graph(torch.tensor([[0], [1]]), vertices=3)
    x = torch.tensor([[-1.0], [-2.0], [-3.0]], requires_grad=True)
    y = PAIRS[name][0](x, graph)
    assert y.tolist() == [[-2], [-1], [0]]
    assert gradients(y, x)[0][2] == 0


@pytest.mark.untyped
def test_mistakes_are_told():
    graph = odd_graph()
    with pytest.raises(ValueError, match=r"x must have shape \(13, features\), one row per vertex, got \(12, 2\)"):
        sum_neighbours(torch.zeros(12, 2), graph)
    with pytest.raises(ValueError, match=r"x must be a float tensor, got torch.int64"):
        max_neighbours(torch.zeros(13, 2).long(), graph)
