"""The multigrid behind tiny eigenvalues: its cycle is symmetric and near the inverse; closed forms; reproducible."""

import networkx
import numpy as np
import pytest

import cutaway as cut
from cutaway.data.graphs.spectra import multigrid as module
from cutaway.data.graphs.spectra.eigenpairs import adjacency_matrix, eigenpairs
from cutaway.data.graphs.spectra.multigrid import make_multigrid, measure, multigrid_eigenvectors, refine

SIDE = 40


def grid_laplacian() -> np.ndarray:
    a = adjacency_matrix(
        cut.data.as_graph(networkx.convert_node_labels_to_integers(networkx.grid_2d_graph(SIDE, SIDE)))
    )
    import scipy.sparse as sparse

    return (sparse.diags_array(np.asarray(a.sum(1)).reshape(-1), format="csr") - a).tocsr()


def test_a_cycle_is_symmetric_positive_and_near_the_inverse():
    matrix = grid_laplacian()
    multigrid = make_multigrid(matrix, np.ones((SIDE**2, 1)))
    assert len(multigrid.levels) >= 1
    r = np.random.default_rng(0).normal(size=(SIDE**2, 3))
    r -= r.mean(0)
    assert (np.linalg.eigvalsh(r.T @ multigrid.cycle(r)) > 0).all()
    x = np.zeros_like(r)
    for _ in range(30):
        x += multigrid.cycle(r - matrix @ x)
    assert np.linalg.norm(r - matrix @ x) < 1e-3 * np.linalg.norm(r)


def test_a_cycle_is_linear_and_symmetric():
    """Columns do not meet; but a product of several columns may round otherwise than a product of one.

    An inverse multiplies rounding by 1/λ. L itself has λ = 0 (made 1e-9 by a shift), so that digits would be lost along
    the constant signal; of L + I no eigenvalue is below 1, and a result is known to n eps times the length of r.
    """
    matrix = grid_laplacian()
    matrix.setdiag(matrix.diagonal() + 1)
    multigrid = make_multigrid(matrix, np.ones((SIDE**2, 1)))
    r = np.random.default_rng(0).normal(size=(SIDE**2, 3))
    z, length = multigrid.cycle(r), np.linalg.norm(r)
    rounding = SIDE**2 * np.finfo(np.float64).eps * length
    np.testing.assert_allclose(z[:, :1], multigrid.cycle(r[:, :1]), rtol=0, atol=rounding)
    np.testing.assert_allclose(multigrid.cycle(2 * r - 1), 2 * z - multigrid.cycle(np.ones_like(r)), atol=4 * rounding)
    np.testing.assert_allclose(r.T @ z, (r.T @ z).T, rtol=0, atol=rounding * length)
    assert np.abs(z[:, 1:] - z[:, :1]).max() > 1e6 * rounding  # the bound would notice another column


def test_eigenvalues_of_a_grid_by_their_formula():
    """λ = (2 − 2 cos(πi/s)) + (2 − 2 cos(πj/s)): most of them twice."""
    one = 2 - 2 * np.cos(np.pi * np.arange(SIDE) / SIDE)
    expected = np.sort((one[:, None] + one).reshape(-1))[:8]
    found = eigenpairs(cut.data.as_graph(networkx.grid_2d_graph(SIDE, SIDE)), 8, "plain", "lobpcg")
    np.testing.assert_allclose(found.values, expected, rtol=1e-4, atol=1e-12)
    assert (found.residuals[1:] <= 0.0025 * found.values[1:]).all()
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(8), atol=1e-8)


def test_numpys_random_stream_is_left_alone_and_results_repeat():
    matrix, known = grid_laplacian(), np.full((SIDE**2, 1), 1 / SIDE)
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    one = multigrid_eigenvectors(matrix, known, 4, None, 0)
    assert np.array_equal(np.random.get_state()[1], before)  # noqa: NPY002
    assert np.array_equal(one, multigrid_eigenvectors(matrix, known, 4, None, 0))


def test_after_the_budget_what_did_not_converge_is_said(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "_ROUNDS", 1)
    monkeypatch.setattr(module, "_STEPS", 1)
    graph = cut.data.as_graph(networkx.grid_2d_graph(SIDE, SIDE))
    with pytest.warns(UserWarning, match=r"\d of 8 eigenpairs did not converge: λ\d = 0\.\d+ has a residual"):
        found = eigenpairs(graph, 8, "plain")
    assert not found.converged[1:].all()


def test_the_best_vectors_of_a_space_and_their_residuals():
    matrix = np.diag([1.0, 2.0, 5.0])
    mixed = np.array([[1.0, 1.0], [1.0, -1.0], [0.0, 0.0]])
    values, residuals = measure(matrix, refine(matrix, mixed))
    np.testing.assert_allclose(values, [1, 2])
    np.testing.assert_allclose(residuals, 0, atol=1e-12)
    values, residuals = measure(matrix, np.array([[0.6], [0.8], [0.0]]))
    np.testing.assert_allclose(values, [0.36 + 1.28])
    np.testing.assert_allclose(residuals, [np.hypot(0.64 * 0.6, 0.36 * 0.8)])
