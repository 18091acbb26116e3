"""The Laplacians: the notes' numbers, SciPy's and their laws."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csgraph

from cutaway.blocks.graphs.laplacian import degrees, dirichlet_energy, laplacian

PATH = torch.tensor([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=torch.float64)


def random_adjacency(n: int = 11, seed: int = 0, isolated: bool = True) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    a = torch.rand(n, n, generator=generator, dtype=torch.float64)
    a = torch.where(torch.rand(n, n, generator=generator) < 0.4, a, 0).triu(1)
    a = a + a.T
    if isolated:
        a[3] = a[:, 3] = 0
    return a


def test_the_numbers_of_the_notes():
    """N3 §7.1.3–7.1.5 and §7.3: L, L_sym, L_rw, λ = 0, 1, 3 and Q of the path v1–v2–v3."""
    r, s = 2**-0.5, 6**-0.5
    plain = torch.tensor([[1.0, -1, 0], [-1, 2, -1], [0, -1, 1]], dtype=torch.float64)
    symmetric = torch.tensor([[1, -r, 0], [-r, 1, -r], [0, -r, 1]], dtype=torch.float64)
    walk = torch.tensor([[1, -1, 0], [-0.5, 1, -0.5], [0, -1, 1]], dtype=torch.float64)
    torch.testing.assert_close(laplacian(PATH), plain)
    torch.testing.assert_close(laplacian(PATH, "symmetric"), symmetric)
    torch.testing.assert_close(laplacian(PATH, "random_walk"), walk)
    values, q = torch.linalg.eigh(laplacian(PATH))
    torch.testing.assert_close(values, torch.tensor([0.0, 1, 3], dtype=torch.float64), atol=1e-12, rtol=0)
    expected = torch.tensor([[3**-0.5, -r, s], [3**-0.5, 0, -2 * s], [3**-0.5, r, s]], dtype=torch.float64)
    torch.testing.assert_close((q.T @ expected).abs(), torch.eye(3, dtype=torch.float64))  # but for signs
    torch.testing.assert_close(expected @ torch.diag(values) @ expected.T, plain)


@pytest.mark.parametrize(("signal", "energy"), [((1, 1, 1), 0), ((-1, 0, 1), 2), ((1, -2, 1), 18)])
def test_the_energies_of_the_notes(signal: tuple[int, ...], energy: int):
    f = torch.tensor(signal, dtype=torch.float64)
    assert f @ laplacian(PATH) @ f == energy
    assert dirichlet_energy(f, PATH) == energy
    assert dirichlet_energy(f, PATH.to_sparse_csr()) == energy


@pytest.mark.parametrize("kind", ["plain", "symmetric"])
def test_equal_to_scipys(kind: str):
    """SciPy's symmetric Laplacian has a zero row for an isolated vertex, too."""
    a = random_adjacency()
    theirs = csgraph.laplacian(a.numpy(), normed=kind == "symmetric")
    torch.testing.assert_close(laplacian(a, kind), torch.from_numpy(theirs))


@pytest.mark.parametrize("kind", ["plain", "symmetric", "random_walk"])
@pytest.mark.parametrize("layout", [torch.sparse_csr, torch.sparse_coo, torch.sparse_csc])
def test_sparse_in_sparse_out(kind: str, layout: torch.layout):
    a = random_adjacency()
    sparse = laplacian(a.to_sparse(layout=layout), kind)
    assert sparse.layout == layout
    torch.testing.assert_close(sparse.to_dense(), laplacian(a, kind))
    torch.testing.assert_close(degrees(a.to_sparse(layout=layout)), a.sum(1))


@pytest.mark.parametrize("kind", ["plain", "symmetric", "random_walk"])
def test_a_vertex_without_edges_has_a_zero_row(kind: str):
    matrix = laplacian(random_adjacency(), kind)
    assert not matrix[3].any()
    assert not matrix[:, 3].any()
    assert torch.isfinite(matrix).all()


@settings(max_examples=20)
@given(st.integers(0, 10_000))
def test_laws(seed: int):
    """fᵀLf = ½Σa_ij(f_i−f_j)²; L ⪰ 0; rows add up to 0; tr L = Σ degrees = twice the sum of edge weights."""
    a = random_adjacency(7, seed)
    f = torch.randn(7, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    matrix = laplacian(a)
    energy = torch.stack([f[:, c] @ matrix @ f[:, c] for c in range(3)])
    torch.testing.assert_close(dirichlet_energy(f, a), energy)
    written_out = sum(a[i, j] * (f[i] - f[j]) ** 2 for i in range(7) for j in range(7)) / 2
    torch.testing.assert_close(energy, written_out)
    assert torch.linalg.eigvalsh(matrix).min() > -1e-12
    torch.testing.assert_close(matrix.sum(1), torch.zeros(7, dtype=torch.float64))
    torch.testing.assert_close(matrix.trace(), degrees(a).sum())
    torch.testing.assert_close(matrix.trace(), 2 * a.triu(1).sum())


def test_indicators_of_components_span_the_null_space():
    """Two components: eigenvalue 0 twice, with the indicator vectors as eigenvectors (N3 §7.4.2)."""
    a = torch.block_diag(PATH, PATH, PATH[:2, :2])
    values, q = torch.linalg.eigh(laplacian(a))
    assert (values < 1e-12).sum() == 3
    indicators = torch.block_diag(*(torch.ones(n, 1, dtype=torch.float64) for n in (3, 3, 2)))
    assert not (laplacian(a) @ indicators).any()
    null = q[:, :3]
    torch.testing.assert_close(null @ (null.T @ indicators), indicators)


def test_the_fiedler_vector_solves_rayleigh_ritz():
    """q₂ has the least energy of all signals of length 1 that are orthogonal to 1 (N3 §7.4.3)."""
    a = random_adjacency(9, 5, isolated=False)
    values, q = torch.linalg.eigh(laplacian(a))
    assert values[1] > 1e-9  # connected
    torch.testing.assert_close(dirichlet_energy(q[:, 1], a), values[1])
    f = torch.randn(9, 200, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    f = f - f.mean(0)
    assert (dirichlet_energy(f / f.norm(dim=0), a) >= values[1] - 1e-12).all()


@pytest.mark.parametrize("kind", ["plain", "symmetric", "random_walk"])
def test_gradients(kind: str):
    a = random_adjacency(5, 1, isolated=False).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: laplacian(x.abs() + 0.1, kind), a)
    f = torch.randn(5, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: dirichlet_energy(x, a.detach().to_sparse_csr()), f)


def test_empty_and_single():
    assert laplacian(torch.zeros(0, 0)).shape == (0, 0)
    assert laplacian(torch.zeros(1, 1).to_sparse_csr()).to_dense().tolist() == [[0.0]]
    loop = torch.tensor([[3.0, 1.0], [1.0, 0.0]])  # a loop changes nothing: it adds to D what A takes away
    assert laplacian(loop).tolist() == [[1.0, -1.0], [-1.0, 1.0]]


@pytest.mark.untyped
def test_mistakes():
    with pytest.raises(ValueError, match=r"square matrix, got shape \(2, 3\)"):
        laplacian(torch.ones(2, 3))
    with pytest.raises(ValueError, match=r"weights of 0 or more, got -0\.5"):
        laplacian(torch.tensor([[0.0, -0.5], [-0.5, 0.0]]))
    with pytest.raises(ValueError, match=r"weights of 0 or more, got -0\.5"):
        laplacian(torch.tensor([[0.0, -0.5], [-0.5, 0.0]]).to_sparse_csr())
    with pytest.raises(ValueError, match="finite numbers, got nan or inf"):
        laplacian(torch.tensor([[0.0, torch.inf], [torch.inf, 0.0]]))
    with pytest.raises(ValueError, match="kind must be one of plain, symmetric, random_walk, got 'sym'"):
        laplacian(PATH, "sym")
    with pytest.raises(ValueError, match=r"float tensor, got torch\.int64"):
        laplacian(torch.ones(2, 2, dtype=torch.int64))
    with pytest.raises(ValueError, match=r"each of the 3 vertices, got shape \(4,\)"):
        dirichlet_energy(torch.ones(4), PATH)
