"""The orders of arcs."""

import pytest
import torch
from graph_cases import odd_graph

from cutaway.blocks.graphs.wiring import to_arc_order, to_incoming_order, wire


@pytest.mark.parametrize("directed", [False, True])
def test_every_order_lists_the_same_arcs(directed: bool):
    graph = odd_graph(directed)
    wiring = wire(graph)
    assert torch.equal(graph.arcs[:, wiring.arcs].int(), torch.stack([wiring.sources, wiring.targets]))
    assert torch.equal(wiring.targets[wiring.crossing], wiring.back_targets)
    assert torch.equal(wiring.sources[wiring.crossing].sort().values, wiring.sources[wiring.crossing])
    assert wire(graph) is wiring


def test_there_and_back():
    graph = odd_graph()
    values = torch.randn(2, graph.arcs.shape[1])
    assert torch.equal(to_arc_order(to_incoming_order(values, graph), graph), values)
    assert torch.equal(to_incoming_order(graph.arcs, graph)[1].int(), wire(graph).targets)
