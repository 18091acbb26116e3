"""Graph layers under torch.compile, with a graph that nothing is known of yet, and in many threads at once."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from graph_cases import odd_graph, shaken, vertex_features

from cutaway.blocks import GATLayer, GCNLayer, GINLayer, Graph, GraphConvLayer

LAYERS = {
    "gcn": lambda: GCNLayer(4, 6),
    "gat": lambda: GATLayer(4, 6, heads=2),
    "gin": lambda: GINLayer(4, 6, edge_inputs=2),
    "max": lambda: GraphConvLayer(4, 6, aggregate="max"),
}


def loss_and_gradients(run, layer, x: torch.Tensor, graph: Graph) -> list[torch.Tensor]:
    layer.zero_grad()
    loss = run(x, graph).square().sum()
    loss.backward()
    return [loss.detach(), *(parameter.grad.clone() for parameter in layer.parameters())]


@pytest.mark.untyped
@pytest.mark.long
@pytest.mark.parametrize("name", LAYERS)
def test_a_new_graph_compiles_whole(name: str):
    """Sorting arcs, adding self-loops and norms are traced too; gradients agree."""
    torch._dynamo.reset()
    layer = shaken(LAYERS[name]())
    x = vertex_features(odd_graph(), 4)
    fast = torch.compile(layer, fullgraph=True, backend="aot_eager")
    for seed in (0, 1):
        found = loss_and_gradients(fast, layer, x, odd_graph(seed=seed))
        torch.testing.assert_close(found, loss_and_gradients(layer, layer, x, odd_graph(seed=seed)))


@pytest.mark.parametrize("name", LAYERS)
def test_threads_share_a_graph(name: str):
    layer, graph = shaken(LAYERS[name]()), odd_graph()
    x = vertex_features(graph, 4)
    right = layer(x, odd_graph())
    with ThreadPoolExecutor(8) as pool:
        for y in pool.map(lambda _: layer(x, graph), range(32)):
            assert torch.equal(y, right)
