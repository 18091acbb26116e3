"""Attention in one pass, against its equation written out."""

import pytest
import torch
from graph_cases import gradients, odd_graph

from cutaway.blocks.graphs.arc_attention import attend_arcs, attend_arcs_open
from cutaway.blocks.graphs.arc_softmax import softmax_arcs_open
from cutaway.blocks.graphs.wiring import wire

HEADS, WIDTH = 3, 2


def drawn(directed: bool) -> tuple:
    graph = odd_graph(directed)
    torch.manual_seed(0)
    arcs = graph.arcs.shape[1]
    random = lambda *shape: torch.randn(*shape, dtype=torch.float64, requires_grad=True)
    kept = torch.rand(HEADS, arcs, dtype=torch.float64).round() * 2
    z, source, target = random(13, HEADS * WIDTH), random(HEADS, WIDTH), random(HEADS, WIDTH)
    return graph, z, source, target, random(HEADS, arcs), random(HEADS * WIDTH), kept


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("edges", [False, True])
@pytest.mark.parametrize("dropout", [False, True])
def test_fast_is_open_and_so_are_gradients(directed: bool, edges: bool, dropout: bool):
    graph, z, source, target, u, bias, kept = drawn(directed)
    u, kept, wiring = u if edges else None, kept if dropout else None, wire(graph)
    fast, α, _ = attend_arcs(z, source, target, u, bias, kept, 0.2, *wiring.way)
    slow = attend_arcs_open(z, source, target, u, bias, kept, 0.2, wiring.sources, wiring.targets)
    torch.testing.assert_close(fast, slow)
    inputs = [z, source, target, bias] + ([u] if edges else [])
    torch.testing.assert_close(gradients(fast, *inputs), gradients(slow, *inputs))
    s, t = ((z.view(13, HEADS, WIDTH) * a).sum(-1).T for a in (source, target))
    scores = s[:, wiring.sources] + t[:, wiring.targets] + (0 if u is None else u)
    right = softmax_arcs_open(torch.nn.functional.leaky_relu(scores, 0.2), wiring.targets, 13)
    torch.testing.assert_close(α, right)


def test_first_and_second_derivatives():
    graph, *inputs, kept = drawn(directed=True)
    way = wire(graph).way
    for check in (torch.autograd.gradcheck, torch.autograd.gradgradcheck):
        assert check(lambda *inputs: attend_arcs(*inputs, kept, 0.2, *way)[0], inputs, fast_mode=True)
