"""The fixed point: it is one, has the gradients of iterations written out, and is missed with a message."""

import pytest
import torch
from graph_cases import assert_differentiable, assert_equivariant, gradients, odd_graph, shaken, vertex_features

import cutaway as cut
from cutaway.blocks import FixedPointLayer, Graph
from cutaway.blocks.graph_layers.fixed_point import mean_weights, settle_open


def test_by_hand():
    """One vertex with a loop: h = tanh(c + u h), found by bisection."""
    layer = FixedPointLayer(1, 1, contraction=0.5).double()
    graph = Graph(torch.tensor([[0], [0]]))
    h = layer(torch.tensor([[0.8]], dtype=torch.float64), graph).item()
    c, u = (0.8 * layer.map.weight + layer.map.bias).item(), layer.bounded().item()
    low, high = -1.0, 1.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if torch.tanh(torch.tensor(c + u * middle)) > middle else (low, middle)
    assert abs(h - low) < 1e-6


@pytest.mark.parametrize("directed", [False, True])
def test_nothing_changes_any_more(directed: bool):
    graph, layer = odd_graph(directed), shaken(FixedPointLayer(4, 5))
    x = vertex_features(graph, 4)
    h = layer(x, graph)
    A = torch.zeros(13, 13, dtype=torch.float64).index_put(
        tuple(graph.arcs), mean_weights(graph, torch.float64).arcs, accumulate=True
    )
    torch.testing.assert_close(torch.tanh(layer.map(x) + A.T @ h @ layer.bounded()), h, atol=1e-11, rtol=0)
    assert layer.settled.residual <= 1e-12
    assert 2 < layer.settled.iterations < 1000


@pytest.mark.parametrize("directed", [False, True])
def test_implicit_gradients_are_those_written_out(directed: bool):
    graph, layer = odd_graph(directed), shaken(FixedPointLayer(4, 5, contraction=0.8))
    x = vertex_features(graph, 4).requires_grad_()
    u = layer.recurrent.weight
    one = layer(x, graph)
    a = mean_weights(graph, torch.float64).arcs
    other = settle_open(layer.map(x), layer.bounded(), a, graph, limit=400)
    torch.testing.assert_close(one, other)
    torch.testing.assert_close(gradients(one, x, u), gradients(other, x, u))


def test_laws():
    for directed in (False, True):
        layer = shaken(FixedPointLayer(3, 4, contraction=0.6))
        assert_equivariant(layer, odd_graph(directed), 3)
        assert_differentiable(layer, odd_graph(directed), 3)


def test_weights_that_learn_get_gradients():
    graph, layer = odd_graph(), shaken(FixedPointLayer(3, 4, contraction=0.6))
    x = vertex_features(graph, 3)
    f = lambda w: layer(x, Graph(graph.edges, 13, weights=w))
    assert torch.autograd.gradcheck(f, (graph.weights.clone().requires_grad_(),), fast_mode=True)


def test_memory_does_not_grow_with_iterations():
    """What is saved for backward is as much after 5 iterations as after hundreds."""
    graph, x = odd_graph(), 0.01 * vertex_features(odd_graph(), 3)  # small states, where tanh does not help
    saved = {}
    for κ in (0.05, 0.9):
        layer, sizes = shaken(FixedPointLayer(3, 4, contraction=κ)), []
        torch.nn.init.zeros_(layer.map.bias)
        torch.nn.init.eye_(layer.recurrent.weight)
        with torch.autograd.graph.saved_tensors_hooks(lambda t, s=sizes: s.append(t.numel()) or t, lambda t: t):
            layer(x, graph)
        saved[int(layer.settled.iterations)] = sum(sizes)
    few, many = sorted(saved)
    assert few < 20 < 100 < many
    assert saved[few] == saved[many]


def test_the_norm_is_bounded_and_small_weights_are_left():
    layer = FixedPointLayer(3, 4, contraction=0.5)
    torch.nn.init.normal_(layer.recurrent.weight, std=10)
    torch.testing.assert_close(torch.linalg.matrix_norm(layer.bounded(), 2), torch.tensor(0.5))
    torch.nn.init.normal_(layer.recurrent.weight, std=0.01)
    assert torch.equal(layer.bounded(), layer.recurrent.weight)


def test_messages_can_be_silenced_in_every_iteration():
    graph, layer = odd_graph(), shaken(FixedPointLayer(3, 4))
    x = vertex_features(graph, 3)
    with cut.patch(layer, {"messages": torch.zeros_like}):
        torch.testing.assert_close(layer(x, graph), torch.tanh(layer.map(x)))
    with cut.trace(layer, "messages") as seen:
        h = layer(x, graph)
    heard = torch.zeros_like(h).index_add(0, graph.arcs[1], seen["messages"])
    torch.testing.assert_close(torch.tanh(layer.map(x) + heard), h)


def test_two_components_settle_as_each_alone():
    layer = shaken(FixedPointLayer(2, 3))
    parts = [Graph(torch.tensor([[0], [1]])), Graph(torch.tensor([[0, 1], [1, 2]]))]
    x = vertex_features(Graph.batch(parts), 2)
    together = layer(x, Graph.batch(parts))
    torch.testing.assert_close(together, torch.cat([layer(x[:2], parts[0]), layer(x[2:], parts[1])]))


def test_mistakes_are_told():
    with pytest.raises(ValueError, match=r"contraction must be between 0 and 1, got 1\.0"):
        FixedPointLayer(3, 4, contraction=1.0)
    layer = shaken(FixedPointLayer(3, 4, contraction=0.99, limit=5))
    with pytest.raises(ValueError, match=r"within 5 iterations, got entries that still move by .* lower contraction="):
        layer(vertex_features(odd_graph(), 3), odd_graph())
    with pytest.raises(ValueError, match="weights must be 0 or more"):
        layer(torch.zeros(2, 3).double(), Graph(torch.tensor([[0], [1]]), weights=torch.tensor([-1.0])))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision(dtype: torch.dtype):
    torch.manual_seed(0)
    graph, layer = Graph(torch.tensor([[0, 1, 2], [1, 2, 3]])), FixedPointLayer(4, 6)
    x = torch.randn(4, 4)
    expected = layer(x, graph)
    half = layer.to(dtype)(x.to(dtype).requires_grad_(), graph)
    assert half.dtype == dtype
    torch.testing.assert_close(half.float(), expected, atol=0.05, rtol=0)
    half.float().sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in layer.parameters())


@pytest.mark.parametrize("directed", [False, True])
def test_features_of_edges_are_read(directed: bool):
    """At rest h = tanh(x W + b + Σ ā_a (h_i U + f_a W_e)), every arc by itself; gradients as written out."""
    graph, layer = odd_graph(directed, features=2), shaken(FixedPointLayer(3, 4, contraction=0.7, edge_inputs=2))
    x = vertex_features(graph, 3).requires_grad_()
    h, u, a = layer(x, graph), layer.bounded(), mean_weights(graph, torch.float64).arcs
    heard = torch.zeros_like(h)
    for k, ((i, j), e) in enumerate(zip(graph.arcs.T.tolist(), graph.arc_edges.tolist(), strict=True)):
        heard[j] += a[k] * (h[i] @ u + graph.edge_features[e] @ layer.map_edges.weight)
    torch.testing.assert_close(torch.tanh(layer.map(x) + heard), h, atol=1e-11, rtol=0)
    told = a[:, None] * layer.map_edges(graph.edge_features)[graph.arc_edges]
    other = settle_open(layer.map(x), u, a, graph, limit=300, edges=told)
    learned = (x, layer.recurrent.weight, layer.map_edges.weight)
    torch.testing.assert_close(gradients(h, *learned), gradients(other, *learned))
    assert_equivariant(layer, graph, 3)
    assert_differentiable(layer, graph, 3)


def test_messages_hold_what_edges_say():
    graph, layer = odd_graph(features=2), shaken(FixedPointLayer(3, 4, edge_inputs=2))
    x = vertex_features(graph, 3)
    with cut.trace(layer, "messages") as seen:
        h = layer(x, graph)
    heard = torch.zeros_like(h).index_add(0, graph.arcs[1], seen["messages"])
    torch.testing.assert_close(torch.tanh(layer.map(x) + heard), h)
    with cut.patch(layer, {"messages": lambda m: m}):
        torch.testing.assert_close(layer(x, graph), h)
    with cut.patch(layer, {"messages": torch.zeros_like}):
        torch.testing.assert_close(layer(x, graph), torch.tanh(layer.map(x)))


def test_without_features_of_edges_nothing_changed():
    assert list(dict(FixedPointLayer(3, 4).named_parameters())) == ["map.weight", "map.bias", "recurrent.weight"]
    with pytest.raises(ValueError, match=r"built for edges without features, got a graph with 2 .* edge_inputs=2"):
        FixedPointLayer(3, 4).double()(vertex_features(odd_graph(), 3), odd_graph(features=2))
