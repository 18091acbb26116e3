"""Chebyshev filters, against torch_geometric, eigenvectors and by hand."""

import pytest
import torch
import torch_geometric.nn
from graph_cases import assert_differentiable, assert_equivariant, odd_graph, set_weights, shaken, vertex_features

import cutaway as cut
from cutaway.blocks import ChebyshevLayer, Graph


@pytest.mark.parametrize("largest", [2.0, 1.6])
@pytest.mark.parametrize("order", [1, 2, 4])
def test_equals_torch_geometric(order: int, largest: float):
    graph, layer = odd_graph(), shaken(ChebyshevLayer(4, 3, order, largest=largest))
    peer = torch_geometric.nn.ChebConv(4, 3, K=order).double()
    set_weights({p.weight: m.weight.T for p, m in zip(peer.lins, layer.maps, strict=True)} | {peer.bias: layer.bias})
    x = vertex_features(graph, 4)
    theirs = peer(x, graph.arcs, graph.arc_weights, lambda_max=torch.tensor(largest, dtype=torch.float64))
    torch.testing.assert_close(layer(x, graph), theirs)


@pytest.mark.parametrize("order", [1, 2, 3, 5])
@pytest.mark.parametrize("outputs", [3, 6])  # fewer than inputs: from the other end
def test_both_ways_to_sum_are_equal(order: int, outputs: int):
    graph, layer = odd_graph(), shaken(ChebyshevLayer(4, outputs, order, largest=1.8))
    x = vertex_features(graph, 4)
    found = layer(x, graph)
    with cut.patch(layer, {"terms": lambda t: t}):  # an edit takes the terms as they are written
        torch.testing.assert_close(layer(x, graph), found)
    with cut.trace(layer, "terms") as seen:
        assert torch.equal(layer(x, graph), found)  # a look changes nothing
    assert seen["terms"].shape == (order, graph.vertices, 4)


def test_it_is_a_filter_of_the_spectrum():
    """Y = Q (Σ θ_k T_k(λ − 1)) Qᵀ x on a connected graph, T_k(λ) = cos(k arccos λ)."""
    graph = Graph(torch.tensor([[0, 1, 2, 3, 4, 0], [1, 2, 3, 4, 0, 2]]))
    layer = shaken(ChebyshevLayer(1, 1, 4, bias=False))
    A = graph.adjacency(torch.float64).to_dense()
    d = A.sum(0).rsqrt()
    λ, Q = torch.linalg.eigh(torch.eye(5, dtype=torch.float64) - d[:, None] * A * d)
    gains = sum(m.weight.item() * torch.cos(k * torch.arccos((λ - 1).clamp(-1, 1))) for k, m in enumerate(layer.maps))
    x = vertex_features(graph, 1)
    torch.testing.assert_close(layer(x, graph), Q @ (gains[:, None] * (Q.T @ x)))


def test_it_sees_as_far_as_its_order():
    path = Graph(torch.stack([torch.arange(6), torch.arange(1, 7)]))
    x = torch.zeros(7, 1, dtype=torch.float64, requires_grad=True)
    for order in (1, 2, 4):
        (g,) = torch.autograd.grad(shaken(ChebyshevLayer(1, 1, order))(x, path)[0].sum(), x)
        assert (g[:, 0] != 0).nonzero()[:, 0].max() == order - 1


def test_laws_and_terms():
    graph, layer = odd_graph(), shaken(ChebyshevLayer(4, 3))
    assert_equivariant(layer, graph, 4)
    assert_differentiable(layer, graph, 4)
    x = vertex_features(graph, 4)
    torch.testing.assert_close(layer(x.to_sparse_csr(), graph), layer(x, graph))
    with cut.patch(layer, {"terms": lambda t: t * torch.tensor([1.0, 0.0, 0.0])[:, None, None]}):
        torch.testing.assert_close(layer(x, graph), layer.maps[0](x) + layer.bias)


def test_mistakes_are_told():
    with pytest.raises(ValueError, match="a Chebyshev filter needs an undirected graph"):
        ChebyshevLayer(4, 3)(torch.zeros(13, 4), odd_graph(directed=True))
    signed = Graph(torch.tensor([[0], [1]]), weights=torch.tensor([-1.0]))
    with pytest.raises(ValueError, match="weights must be 0 or more"):
        ChebyshevLayer(4, 3)(torch.zeros(2, 4), signed)
