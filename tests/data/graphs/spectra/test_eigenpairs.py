"""Eigenpairs: closed forms, LAPACK's, every method alike, residuals, and what does not converge."""

import networkx
import numpy as np
import pytest
import torch

import cutaway as cut
from cutaway.blocks.graphs.laplacian import laplacian
from cutaway.data.graphs.spectra import eigenpairs as module
from cutaway.data.graphs.spectra.eigenpairs import eigenpairs, fiedler_vector

BLOCKS = networkx.planted_partition_graph(4, 60, 0.3, 0.02, seed=1)


@pytest.mark.parametrize("method", ["dense", "lanczos", "lobpcg", "auto"])
@pytest.mark.parametrize("kind", ["plain", "symmetric", "random_walk"])
def test_every_method_equals_lapacks(method: str, kind: str):
    graph = cut.data.as_graph(BLOCKS)
    found = eigenpairs(graph, 6, kind, method)
    matrix = laplacian(graph.adjacency(torch.float64).to_dense(), kind).numpy()
    expected = np.sort(np.linalg.eigvals(matrix).real)[:6]
    np.testing.assert_allclose(found.values, expected, atol=1e-5 if method == "lobpcg" else 1e-8)
    assert found.converged.all()
    np.testing.assert_allclose(np.linalg.norm(found.vectors, axis=0), 1)
    # the norm in which L_rw is symmetric weighs vertices by their degrees
    root = graph.degrees(dtype=torch.float64).sqrt().numpy()[:, None] if kind == "random_walk" else 1.0
    away = np.linalg.norm(root * (matrix @ found.vectors - found.vectors * found.values), axis=0)
    written_out = away / np.linalg.norm(root * found.vectors, axis=0)
    np.testing.assert_allclose(found.residuals, written_out, atol=1e-10)


def test_the_path_of_the_notes():
    """λ = 0, 1, 3 and the notes' Q, its signs by our rule."""
    found = eigenpairs(cut.data.as_graph(networkx.path_graph(3)), 3, "plain")
    np.testing.assert_allclose(found.values, [0, 1, 3], atol=1e-12)
    q = np.array([[3**-0.5, 2**-0.5, -(6**-0.5)], [3**-0.5, 0, 2 * 6**-0.5], [3**-0.5, -(2**-0.5), -(6**-0.5)]])
    np.testing.assert_allclose(np.abs(found.vectors), np.abs(q), atol=1e-12)


def test_eigenvalues_that_come_twice():
    """Of a cycle λ = 2 − 2 cos(2πk/n), each twice, and tiny: 4e-6 here."""
    n = 3001
    found = eigenpairs(cut.data.as_graph(networkx.cycle_graph(n)), 5, "plain")
    expected = [2 - 2 * np.cos(2 * np.pi * k / n) for k in (0, 1, 1, 2, 2)]
    assert found.converged.all()
    np.testing.assert_allclose(found.values, expected, rtol=1e-4)
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(5), atol=1e-6)


def test_tiny_eigenvalues_need_the_preconditioner():
    """A path of 3,000 vertices: λ₂ = 2 − 2 cos(π/n), about 1e-6."""
    n = 3000
    found = eigenpairs(cut.data.as_graph(networkx.path_graph(n)), 4, "plain")
    np.testing.assert_allclose(found.values, [2 - 2 * np.cos(np.pi * k / n) for k in range(4)], rtol=1e-4, atol=1e-15)
    assert found.method == "LOBPCG with multigrid"
    assert (found.residuals[1:] < 0.01 * found.values[1:]).all()


def test_what_did_not_converge_is_said(monkeypatch: pytest.MonkeyPatch):
    graph = cut.data.as_graph(networkx.path_graph(3000))
    monkeypatch.setattr(
        module,
        "lanczos_eigenvectors",
        lambda matrix, known, count, seed: np.linalg.qr(np.random.default_rng(0).normal(size=(3000, count)))[0],
    )
    with pytest.warns(UserWarning, match=r"2 of 3 eigenpairs did not converge: λ\d = .* above 1 % of it"):
        found = eigenpairs(graph, 3, "plain", "lanczos")
    assert found.converged.tolist() == [True, False, False]
    assert found.summary().count("NOT CONVERGED") == 2


@pytest.mark.parametrize("kind", ["plain", "symmetric", "random_walk"])
def test_components_are_the_multiplicity_of_zero(kind: str):
    theirs = networkx.disjoint_union_all([BLOCKS, networkx.cycle_graph(5), networkx.empty_graph(1)])
    found = eigenpairs(cut.data.as_graph(theirs), 6, kind)
    assert found.components == 3
    assert found.values[:3].tolist() == [0, 0, 0]
    assert found.values[3] > 1e-6
    assert found.converged.all()
    large = eigenpairs(cut.data.as_graph(networkx.disjoint_union(networkx.path_graph(2000), BLOCKS)), 4, kind)
    assert large.values[:2].tolist() == [0, 0]
    assert large.values[2] > 0
    only = eigenpairs(cut.data.as_graph(networkx.empty_graph(50)), 4, kind)
    assert only.values.tolist() == [0, 0, 0, 0]
    assert only.method == "components"


def test_the_fiedler_vector_cuts_the_karate_club():
    data = cut.data.read_graph("karate-club")
    value, vector = fiedler_vector(data.graph)
    theirs = networkx.algebraic_connectivity(networkx.karate_club_graph(), weight=None)
    assert value == pytest.approx(theirs, rel=1e-6)
    sides = (vector > 0).astype(int)
    agreement = np.mean(sides == data.targets.numpy())
    assert max(agreement, 1 - agreement) > 0.9


@pytest.mark.parametrize("kind", ["plain", "symmetric", "random_walk"])
def test_the_fiedler_vector_of_a_graph_in_pieces_tells_the_largest_from_the_rest(kind: str):
    """L q = 0 and q is at right angles to the first such vector; one of the pieces hangs by an edge of weight 0."""
    edges = torch.tensor([[0, 1, 2, 3, 5, 6], [1, 2, 3, 0, 6, 0]])
    graph = cut.blocks.Graph(edges, 9, torch.tensor([1.0, 2.0, 3.0, 1.0, 2.0, 0.0]))
    value, vector = fiedler_vector(graph, kind)
    assert value == 0.0
    matrix = laplacian(graph.adjacency(torch.float64).to_dense(), kind).numpy()
    rounding = 9 * np.finfo(np.float64).eps * np.linalg.norm(matrix)
    np.testing.assert_allclose(matrix @ vector, 0, atol=rounding)
    assert np.linalg.norm(vector) == pytest.approx(1)
    assert ((vector > 0) == np.isin(np.arange(9), [0, 1, 2, 3])).all()
    degrees = graph.degrees().double().numpy()
    degrees = np.where(degrees > 0, degrees, 1)
    first = {"plain": np.ones(9), "symmetric": np.sqrt(degrees), "random_walk": degrees}[kind]
    assert abs(vector @ first) <= rounding * np.linalg.norm(first)
    assert networkx.algebraic_connectivity(networkx.Graph([(0, 1), (2, 3)]), weight=None) == 0.0  # theirs, too
    with pytest.raises(ValueError, match="needs two vertices or more, got 1"):
        fiedler_vector(cut.blocks.Graph(torch.zeros(2, 0, dtype=torch.int64), 1))


def test_an_edge_of_weight_0_connects_neither_components_nor_the_laplacian():
    graph = cut.blocks.Graph(torch.tensor([[0, 1, 2], [1, 2, 3]]), weights=torch.tensor([1.0, 0.0, 2.0]))
    pairs = eigenpairs(graph, 4, "plain")
    assert pairs.components == int((np.abs(pairs.values) < 1e-12).sum()) == 2
    assert cut.data.connected_components(graph).sizes == (2, 2)


def test_signs_and_seeds_are_fixed():
    graph = cut.data.as_graph(networkx.planted_partition_graph(3, 500, 0.05, 0.002, seed=2))
    one, two = eigenpairs(graph, 4), eigenpairs(graph, 4)
    assert np.array_equal(one.vectors, two.vectors)
    assert (one.vectors[np.abs(one.vectors).argmax(0), np.arange(4)] > 0).all()
    values, vectors = one.tensors()
    assert values.dtype == vectors.dtype == torch.float32


def test_mistakes():
    graph = cut.data.as_graph(networkx.path_graph(5))
    with pytest.raises(ValueError, match="from 1 to the number of vertices, got 6 for 5"):
        eigenpairs(graph, 6)
    with pytest.raises(ValueError, match="iterative method finds few eigenpairs, got 4 of 5 vertices"):
        eigenpairs(graph, 4, method="lanczos")
    with pytest.raises(ValueError, match="of an undirected graph, got a directed one"):
        eigenpairs(cut.blocks.Graph(torch.tensor([[0], [1]]), directed=True), 1)
    with pytest.raises(ValueError, match=r"weights of 0 or more, got -2"):
        eigenpairs(cut.blocks.Graph(torch.tensor([[0], [1]]), weights=torch.tensor([-2.0])), 1)


@pytest.mark.untyped
def test_an_unknown_kind():
    with pytest.raises(ValueError, match="kind must be one of plain, symmetric, random_walk, got 'sym'"):
        eigenpairs(cut.data.as_graph(networkx.path_graph(5)), 2, "sym")
