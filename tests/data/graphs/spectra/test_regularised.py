"""The regularised Laplacian: written out densely, a case by hand, and what it is for."""

import networkx
import numpy as np
import pytest
import torch

import cutaway as cut
from cutaway.data.graphs.spectra.regularised import RegularisedLaplacian, regularised_eigenpairs, unit_rows


def written_out(graph: networkx.Graph, tau: float) -> np.ndarray:
    a = networkx.to_numpy_array(graph) + tau / len(graph)
    d = a.sum(1)
    return np.eye(len(a)) - a / np.sqrt(d[:, None] * d)


@pytest.mark.parametrize("n", [400, 1200])  # dense, and Lanczos
def test_equal_to_the_matrix_written_out(n: int):
    theirs = networkx.planted_partition_graph(4, n // 4, 24 / n, 1 / n, seed=3)
    graph = cut.data.as_graph(theirs)
    tau = float(np.mean([d for _, d in theirs.degree]))
    matrix = written_out(theirs, tau)
    values, vectors = np.linalg.eigh(matrix)
    found = regularised_eigenpairs(graph, 4)
    assert found.method == ("dense" if n == 400 else "Lanczos")
    assert found.converged.all()
    np.testing.assert_allclose(found.values, values[:4], atol=1e-4)
    np.testing.assert_allclose(np.abs(np.linalg.det(found.vectors.T @ vectors[:, :4])), 1, atol=1e-3)
    x = np.random.default_rng(0).normal(size=(n, 3))
    product = RegularisedLaplacian(cut.data.to_scipy(graph).astype(float).tocsr(), tau)
    np.testing.assert_allclose(product @ x, matrix @ x, atol=1e-12)
    np.testing.assert_allclose(product @ x[:, 0], matrix @ x[:, 0], atol=1e-12)


def test_zero_comes_once_whatever_the_components():
    graph = cut.data.as_graph(networkx.disjoint_union(networkx.complete_graph(4), networkx.complete_graph(4)))
    found = regularised_eigenpairs(graph, 3)  # d = τ = 3: L_τ of the indicator's difference has d_τ − d = 3 over 6
    np.testing.assert_allclose(found.values[:2], [0, 0.5], atol=1e-12)
    assert found.components == 2


def test_rows_of_length_one():
    np.testing.assert_allclose(unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]])), [[0.6, 0.8], [0, 0]])


def test_mistakes():
    graph = cut.data.as_graph(networkx.path_graph(4))
    with pytest.raises(ValueError, match="from 1 to the number of vertices, got 5 for 4"):
        regularised_eigenpairs(graph, 5)
    with pytest.raises(ValueError, match="tau must be above 0, got -1"):
        regularised_eigenpairs(graph, 2, -1.0)
    with pytest.raises(ValueError, match="tau must be above 0, got 0; the mean degree"):
        regularised_eigenpairs(cut.blocks.Graph(torch.empty(2, 0, dtype=torch.long), 3), 2)
