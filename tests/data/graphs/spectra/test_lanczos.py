"""When Lanczos is worth its steps, and what it finds."""

import networkx
import numpy as np
import pytest
import scipy.sparse as sparse

import cutaway as cut
from cutaway.data.graphs.spectra.eigenpairs import eigenpairs
from cutaway.data.graphs.spectra.lanczos import is_hopeless, lanczos_eigenvectors
from cutaway.data.graphs.spectra.multigrid import measure


def laplacian_of(graph: networkx.Graph) -> tuple[sparse.csr_array, np.ndarray]:
    n = graph.number_of_nodes()
    return sparse.csr_array(networkx.laplacian_matrix(graph).astype(float)), np.full((n, 1), n**-0.5)


@pytest.mark.parametrize(
    ("graph", "hopeless"),
    [
        (networkx.planted_partition_graph(3, 400, 0.05, 0.002, seed=2), False),
        (networkx.complete_graph(300), False),
        (networkx.grid_2d_graph(40, 40), True),
        (networkx.path_graph(2000), True),
    ],
)
def test_clusters_are_for_it_and_grids_are_not(graph: networkx.Graph, hopeless: bool):
    assert is_hopeless(*laplacian_of(graph), seed=0) is hopeless


def test_the_method_follows_from_the_trial():
    blocks = cut.data.as_graph(networkx.planted_partition_graph(3, 500, 0.05, 0.002, seed=2))
    assert eigenpairs(blocks, 3).method == "Lanczos"
    assert eigenpairs(cut.data.as_graph(networkx.grid_2d_graph(40, 40)), 3).method == "LOBPCG with multigrid"


def test_what_is_known_is_not_found_again():
    matrix, known = laplacian_of(networkx.planted_partition_graph(3, 100, 0.2, 0.01, seed=1))
    vectors = lanczos_eigenvectors(matrix, known, 3, 0)
    np.testing.assert_allclose(known.T @ vectors, 0, atol=1e-8)
    values, residuals = measure(matrix, vectors)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(matrix.toarray())[1:4], rtol=1e-6)
    assert (residuals < 1e-3).all()
