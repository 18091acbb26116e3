"""The oriented incidence matrix: L = PPᵀ."""

import networkx
import pytest
import torch

from cutaway.blocks.graphs.incidence import oriented_incidence
from cutaway.blocks.graphs.laplacian import dirichlet_energy, laplacian


def test_the_laplacian_is_its_square():
    graph = networkx.gnm_random_graph(13, 29, seed=0)
    edges = torch.tensor(list(graph.edges)).T
    weights = torch.rand(29, dtype=torch.float64)
    a = torch.zeros(13, 13, dtype=torch.float64).index_put(tuple(edges), weights)
    a = a + a.T
    p = oriented_incidence(edges, weights, 13)
    torch.testing.assert_close(p @ p.T, laplacian(a))
    f = torch.randn(13, dtype=torch.float64)
    torch.testing.assert_close((p.T @ f).square().sum(), dirichlet_energy(f, a))
    sparse = oriented_incidence(edges, weights, 13, sparse=True)
    assert sparse.layout == torch.sparse_csr
    torch.testing.assert_close(sparse.to_dense(), p)
    theirs = networkx.incidence_matrix(graph, nodelist=range(13), oriented=True).toarray()
    torch.testing.assert_close(-oriented_incidence(edges, vertices=13), torch.from_numpy(theirs).float())


def test_a_loop_has_a_zero_column():
    assert oriented_incidence(torch.tensor([[0, 1], [0, 0]])).tolist() == [[0.0, -1.0], [0.0, 1.0]]
    assert oriented_incidence(torch.zeros(2, 0, dtype=torch.int64), vertices=3).shape == (3, 0)


@pytest.mark.untyped
def test_mistakes():
    edges = torch.tensor([[0, 1], [1, 2]])
    with pytest.raises(ValueError, match=r"shape \(2, edges\), got \(3, 2\)"):
        oriented_incidence(torch.zeros(3, 2, dtype=torch.int64))
    with pytest.raises(ValueError, match="from 0 to 1, got 0 to 2"):
        oriented_incidence(edges, vertices=2)
    with pytest.raises(ValueError, match=r"0 or more, got -1"):
        oriented_incidence(edges, torch.tensor([1.0, -1.0]))
