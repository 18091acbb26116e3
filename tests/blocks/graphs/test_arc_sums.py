"""Weighted sums over arcs and dot products along them, against dense matrices and against themselves written out."""

import pytest
import torch
from graph_cases import gradients, odd_graph

from cutaway.blocks import Graph
from cutaway.blocks.graphs.arc_sums import dot_arcs, dot_arcs_open, sum_arcs, sum_arcs_open
from cutaway.blocks.graphs.wiring import wire


def drawn(graph: Graph, width: int, heads: int = 3) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    x, g = torch.randn(2, heads, graph.vertices, width, dtype=torch.float64, requires_grad=True).unbind()
    w = torch.randn(heads, graph.arcs.shape[1], dtype=torch.float64, requires_grad=True)
    return x, g, w


def test_by_hand():
    """0 → 2 with weight 2 and 1 → 2 with weight 3: vertex 2 hears 2·1 + 3·10."""
    wiring = wire(Graph(torch.tensor([[0, 1], [2, 2]]), directed=True))
    x = torch.tensor([[[1.0], [10.0], [100.0]]])
    assert sum_arcs(x, torch.tensor([[2.0, 3.0]]), None, *wiring.way).tolist() == [[[0], [0], [32]]]
    assert dot_arcs(x, x, *wiring.way).tolist() == [[100, 1000]]


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("width", [1, 5, 64])  # wide ones take another kernel
def test_fast_is_open_and_so_are_gradients(directed: bool, width: int):
    graph = odd_graph(directed)
    wiring = wire(graph)
    x, g, w = drawn(graph, width)
    fast = sum_arcs(x, w, None, *wiring.way)
    slow = sum_arcs_open(x, w, wiring.sources, wiring.targets, graph.vertices)
    torch.testing.assert_close(fast, slow)
    torch.testing.assert_close(gradients(fast, x, w), gradients(slow, x, w))
    fast, slow = dot_arcs(g, x, *wiring.way), dot_arcs_open(g, x, wiring.sources, wiring.targets)
    torch.testing.assert_close(fast, slow)
    torch.testing.assert_close(gradients(fast, g, x), gradients(slow, g, x))


@pytest.mark.parametrize("directed", [False, True])
def test_first_and_second_derivatives(directed: bool):
    graph = odd_graph(directed)
    way = wire(graph).way
    x, g, w = (v.detach().requires_grad_() for v in drawn(graph, 2, heads=2))
    for check in (torch.autograd.gradcheck, torch.autograd.gradgradcheck):
        assert check(lambda x, w: sum_arcs(x, w, None, *way), (x, w), fast_mode=True)
        assert check(lambda g, x: dot_arcs(g, x, *way), (g, x), fast_mode=True)


def test_known_weights_of_the_way_back_change_nothing():
    graph = odd_graph(directed=True)
    wiring = wire(graph)
    x, _, w = drawn(graph, 4)
    back = w.detach()[:, wiring.crossing]
    one, other = (sum_arcs(x, w.detach(), b, *wiring.way) for b in (back, None))
    assert torch.equal(gradients(one, x)[0], gradients(other, x)[0])


def test_odd_layouts_and_types():
    graph = odd_graph()
    wiring = wire(graph)
    x, _, w = (v.detach() for v in drawn(graph, 6))
    right = sum_arcs(x, w, None, *wiring.way)
    strided = torch.empty(3, 6, graph.vertices, dtype=torch.float64).copy_(x.mT).mT
    torch.testing.assert_close(sum_arcs(strided, w.T.contiguous().T, None, *wiring.way), right)
    half = sum_arcs(x.bfloat16(), w.bfloat16(), None, *wiring.way)
    assert half.dtype == torch.bfloat16
    torch.testing.assert_close(half.double(), right, atol=0.1, rtol=0.1)
    assert dot_arcs(x.bfloat16(), x.bfloat16(), *wiring.way).dtype == torch.bfloat16


@pytest.mark.parametrize("n", [0, 1, 4])
def test_without_arcs(n: int):
    wiring = wire(Graph(torch.zeros(2, 0, dtype=torch.int64), vertices=n))
    x = torch.ones(2, n, 3, requires_grad=True)
    y = sum_arcs(x, torch.ones(2, 0), None, *wiring.way)
    assert torch.equal(y, torch.zeros(2, n, 3))
    assert torch.equal(gradients(y, x)[0], torch.zeros(2, n, 3))
    assert dot_arcs(x, x, *wiring.way).shape == (2, 0)
