"""Messages on arcs: taken from vertices, summed and maximised at vertices."""

import pytest
import torch
from graph_cases import gradients, odd_graph, vertex_features

from cutaway.blocks import Graph
from cutaway.blocks.graphs.messages import (
    max_messages,
    max_messages_open,
    sum_messages,
    sum_messages_open,
    take_sources,
    take_targets,
)


@pytest.mark.parametrize("directed", [False, True])
def test_fast_is_open_and_so_are_gradients(directed: bool):
    graph = odd_graph(directed)
    (i, j), x = graph.arcs, vertex_features(graph, 3).requires_grad_()
    for fast, slow in ((take_sources(x, graph), x[i]), (take_targets(x, graph), x[j])):
        assert torch.equal(fast, slow)
        torch.testing.assert_close(gradients(fast, x), gradients(slow, x))
    m = torch.randn(len(i), 3, dtype=torch.float64, requires_grad=True)
    for fast, slow in ((sum_messages, sum_messages_open), (max_messages, max_messages_open)):
        one, other = fast(m, graph), slow(m, j, graph.vertices)
        torch.testing.assert_close(one, other)
        torch.testing.assert_close(gradients(one, m), gradients(other, m))


def test_second_derivatives():
    graph = odd_graph()
    x = vertex_features(graph, 2).requires_grad_()
    f = lambda x: sum_messages(take_sources(x, graph).square() * take_targets(x, graph), graph)
    assert torch.autograd.gradgradcheck(f, (x,), fast_mode=True)


def test_equal_messages_share_the_gradient():
    graph = Graph(torch.tensor([[0, 1, 3], [2, 2, 2]]), directed=True)
    m = torch.tensor([[5.0], [5.0], [1.0]], requires_grad=True)
    max_messages(m, graph).sum().backward()
    assert m.grad.tolist() == [[0.5], [0.5], [0]]


def test_the_maximum_of_negative_messages_is_negative_and_of_none_is_zero():
    graph = Graph(torch.tensor([[0], [1]]), directed=True, vertices=3)
    assert max_messages(torch.tensor([[-4.0]]), graph).tolist() == [[0], [-4], [0]]


def test_without_arcs():
    graph = Graph(torch.zeros(2, 0, dtype=torch.int64), vertices=3)
    x = torch.ones(3, 2, requires_grad=True)
    for y in (sum_messages(take_sources(x, graph), graph), max_messages(take_targets(x, graph), graph)):
        assert torch.equal(y, torch.zeros(3, 2))
        assert torch.equal(gradients(y, x)[0], torch.zeros(3, 2))
