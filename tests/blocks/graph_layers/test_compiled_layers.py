"""Graph layers under torch.compile, in many threads, in inference mode and in training, one graph for all."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from graph_cases import batch_of_graphs, odd_graph, shaken, vertex_features

from cutaway.blocks import (
    FixedPointLayer,
    GatedGraphLayer,
    GATLayer,
    GCNLayer,
    GINLayer,
    Graph,
    GraphConvLayer,
    GraphTransformerLayer,
)

FEATURES = {"gin": 2}  # of edges, for those that read some
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
    layer, features = shaken(LAYERS[name]()), FEATURES.get(name, 0)
    x = vertex_features(odd_graph(), 4)
    fast = torch.compile(layer, fullgraph=True, backend="aot_eager")
    for seed in (0, 1):
        found = loss_and_gradients(fast, layer, x, odd_graph(seed=seed, features=features))
        torch.testing.assert_close(found, loss_and_gradients(layer, layer, x, odd_graph(seed=seed, features=features)))


@pytest.mark.parametrize("name", LAYERS)
def test_threads_share_a_graph(name: str):
    layer, graph = shaken(LAYERS[name]()), odd_graph(features=FEATURES.get(name, 0))
    x = vertex_features(graph, 4)
    right = layer(x, odd_graph(features=FEATURES.get(name, 0)))
    with ThreadPoolExecutor(8) as pool:
        for y in pool.map(lambda _: layer(x, graph), range(32)):
            assert torch.equal(y, right)


@pytest.mark.parametrize("name", LAYERS)
def test_a_graph_seen_in_inference_mode_trains(name: str):
    layer, graph = shaken(LAYERS[name]()), odd_graph(features=FEATURES.get(name, 0))
    dense = vertex_features(graph, 4)
    x = dense.to_sparse_csr() if name == "gcn" else dense
    with torch.inference_mode():
        seen = layer(x, graph)
    y = layer(x, graph)
    torch.testing.assert_close(seen, y)
    y.sum().backward()


@pytest.mark.parametrize("name", LAYERS)
def test_weights_and_features_that_learn_take_many_steps(name: str):
    """What is made of them is not kept from one step to the next."""
    plain = odd_graph(features=FEATURES.get(name, 0))
    parts = (plain.weights, plain.edge_features)
    weights, features = (None if v is None else v.clone().requires_grad_() for v in parts)
    graph = Graph(plain.edges, 13, weights=weights, edge_features=features)
    layer, x = shaken(LAYERS[name]()), vertex_features(graph, 4)
    for _ in range(2):
        layer(x, graph).square().sum().backward()
        with torch.no_grad():
            weights.mul_(0.9)
    changed = graph.but(weights=weights.detach(), edge_features=None if features is None else features.detach())
    torch.testing.assert_close(layer(x, graph), layer(x, changed))


def test_second_derivatives_of_layers():
    for name, make in LAYERS.items():
        layer, graph = shaken(make()), odd_graph(features=FEATURES.get(name, 0))
        x = vertex_features(graph, 4).requires_grad_()
        if name != "max":
            assert torch.autograd.gradgradcheck(lambda x, f=layer, g=graph: f(x, g).tanh(), (x,), fast_mode=True)


EVERY = {
    "gcn": lambda: GCNLayer(4, 4),
    "gat": lambda: GATLayer(4, 4, heads=2),
    "gatv2": lambda: GATLayer(4, 4, version=2),
    "gin": lambda: GINLayer(4, 4),
    "graphconv": lambda: GraphConvLayer(4, 4, activation=torch.tanh),
    "gated": lambda: GatedGraphLayer(4, 4, steps=2),
    "fixed-point": lambda: FixedPointLayer(4, 4, contraction=0.6),
    "transformer": lambda: GraphTransformerLayer(4, 2),
    "all-pairs": lambda: GraphTransformerLayer(4, 2, scope="pairs"),
}


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("name", EVERY)
def test_more_arcs_than_pairs_of_vertices(name: str, directed: bool):
    """Nine edges between two vertices, loops among them: first and second derivatives, of learned weights too."""
    edges = torch.tensor([[0, 0, 1, 1, 0, 0, 1, 0, 0], [1, 1, 1, 0, 0, 1, 1, 1, 0]])
    graph = Graph(edges, 3, weights=torch.linspace(0.5, 1.5, 9, dtype=torch.float64), directed=directed)
    assert graph.arcs.shape[1] >= 9
    layer, x = shaken(EVERY[name]()), vertex_features(graph, 4).requires_grad_()
    weights = graph.weights.clone().requires_grad_()
    run = lambda x, w: layer(x, graph.but(weights=w)).tanh()
    assert torch.autograd.gradcheck(run, (x, weights), fast_mode=True)
    assert torch.autograd.gradgradcheck(run, (x, weights), fast_mode=True, atol=1e-4)
    if name in ("gcn", "gin", "graphconv", "gated", "fixed-point"):  # their messages add up
        once, place = (edges if directed else edges.sort(0).values).unique(dim=1, return_inverse=True)
        sums = torch.zeros(once.shape[1], dtype=torch.float64).index_add(0, place, graph.weights)
        merged = Graph(once, 3, sums, directed=directed)
        torch.testing.assert_close(layer(x, merged), layer(x, graph))


@pytest.mark.parametrize("name", ["fixed-point", "all-pairs"])
def test_second_derivatives_of_all_weights(name: str):
    graph = batch_of_graphs()
    layer, x = shaken(EVERY[name]()), vertex_features(graph, 4).requires_grad_()
    parameters = tuple(layer.parameters())
    assert torch.autograd.gradgradcheck(lambda x, *_: layer(x, graph), (x, *parameters), fast_mode=True, atol=1e-4)


def test_edges_may_lie_in_memory_as_they_like():
    graph = odd_graph(weights=False, features=0)
    other = Graph(graph.edges.T.contiguous().T, 13)
    layer, x = shaken(GCNLayer(4, 6)), vertex_features(graph, 8)[:, ::2]
    assert torch.equal(layer(x, graph), layer(x, other))
