"""The softmax over arcs, against torch_geometric and against itself written out."""

import pytest
import torch
import torch_geometric.utils
from graph_cases import gradients, odd_graph

from cutaway.blocks import Graph
from cutaway.blocks.graphs.arc_softmax import add_ends, add_ends_open, softmax_arcs, softmax_arcs_open
from cutaway.blocks.graphs.wiring import Wiring, wire


def ends_of(wiring: Wiring) -> tuple[torch.Tensor, ...]:
    return wiring.starts, wiring.sources, wiring.targets, wiring.back_starts, wiring.crossing


def test_by_hand():
    """Two arcs to vertex 2 with scores 0 and log 3 weigh 1/4 and 3/4; one alone weighs 1."""
    wiring = wire(Graph(torch.tensor([[0, 1, 2], [2, 2, 0]]), directed=True))
    scores = torch.tensor([[5.0, 0.0, 3.0]])  # in incoming order: 2 → 0, then 0 → 2 and 1 → 2
    scores[0, 2] = torch.log(torch.tensor(3.0))
    torch.testing.assert_close(softmax_arcs(scores, wiring.starts, wiring.targets), torch.tensor([[1.0, 0.25, 0.75]]))
    s, t = torch.tensor([[1.0, 2.0, 4.0]]), torch.tensor([[10.0, 20.0, 40.0]])
    assert add_ends(s, t, *ends_of(wiring)).tolist() == [[14, 41, 42]]


@pytest.mark.parametrize("directed", [False, True])
def test_fast_is_open_and_torch_geometric(directed: bool):
    graph = odd_graph(directed)
    wiring = wire(graph)
    torch.manual_seed(0)
    e = (10 * torch.randn(3, graph.arcs.shape[1], dtype=torch.float64)).requires_grad_()
    fast = softmax_arcs(e, wiring.starts, wiring.targets)
    slow = softmax_arcs_open(e, wiring.targets, graph.vertices)
    theirs = torch_geometric.utils.softmax(e.T, wiring.targets, num_nodes=graph.vertices).T
    torch.testing.assert_close(fast, slow)
    torch.testing.assert_close(fast, theirs)
    torch.testing.assert_close(gradients(fast, e), gradients(slow, e))
    s, t = torch.randn(2, 3, graph.vertices, dtype=torch.float64, requires_grad=True).unbind()
    fast, slow = add_ends(s, t, *ends_of(wiring)), add_ends_open(s, t, wiring.sources, wiring.targets)
    assert torch.equal(fast, slow)
    torch.testing.assert_close(gradients(fast, s, t), gradients(slow, s, t))


def test_first_and_second_derivatives():
    graph = odd_graph(directed=True)
    wiring = wire(graph)
    torch.manual_seed(0)
    e = torch.randn(2, graph.arcs.shape[1], dtype=torch.float64, requires_grad=True)
    s, t = (torch.randn(2, graph.vertices, dtype=torch.float64, requires_grad=True) for _ in range(2))
    for check in (torch.autograd.gradcheck, torch.autograd.gradgradcheck):
        assert check(lambda e: softmax_arcs(e, wiring.starts, wiring.targets), (e,), fast_mode=True)
        assert check(lambda s, t: add_ends(s, t, *ends_of(wiring)).square(), (s, t), fast_mode=True)


def test_large_scores_do_not_overflow():
    wiring = wire(Graph(torch.tensor([[0, 1], [2, 2]]), directed=True))
    e = torch.tensor([[1000.0, 999.0]])
    torch.testing.assert_close(
        softmax_arcs(e, wiring.starts, wiring.targets),
        torch.tensor([[1.0, 0.0]]).lerp(torch.tensor([[0.0, 1.0]]), 1 / (1 + torch.e)),
    )


def test_without_arcs():
    wiring = wire(Graph(torch.zeros(2, 0, dtype=torch.int64), vertices=3))
    e = torch.zeros(2, 0, requires_grad=True)
    softmax_arcs(e, wiring.starts, wiring.targets).sum().backward()
    assert e.grad.shape == (2, 0)
    s = torch.zeros(2, 3, requires_grad=True)
    assert torch.equal(gradients(add_ends(s, s, *ends_of(wiring)), s)[0], torch.zeros(2, 3))
