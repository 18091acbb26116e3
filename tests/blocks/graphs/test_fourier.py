"""Fourier transforms: torch.fft's, their laws, and convolution as a product of spectra."""

import pytest
import torch

from cutaway.blocks.graphs.fourier import (
    dft_matrix,
    graph_fourier,
    inverse_graph_fourier,
    spectral_convolution,
    spectral_filter,
)
from cutaway.blocks.graphs.laplacian import laplacian

Q = torch.linalg.eigh(laplacian(torch.tensor([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=torch.float64)))[1]


def random_basis(n: int = 7) -> torch.Tensor:
    a = torch.rand(n, n, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).triu(1)
    return torch.linalg.eigh(laplacian(a + a.T))[1]


@pytest.mark.parametrize("n", [1, 2, 7, 64])
def test_the_dft_as_a_matrix(n: int):
    x = torch.randn(n, dtype=torch.complex128)
    f = dft_matrix(n, torch.complex128)
    torch.testing.assert_close(f @ x, torch.fft.fft(x))
    torch.testing.assert_close(f.conj().T @ f, n * torch.eye(n, dtype=torch.complex128))  # orthogonal columns


def test_the_dft_turns_circular_convolution_into_a_product():
    n = 11
    x, w = torch.randn(2, n, dtype=torch.float64)
    convolved = torch.stack([sum(x[s] * w[(t - s) % n] for s in range(n)) for t in range(n)])
    f = dft_matrix(n, torch.complex128)
    torch.testing.assert_close(f @ convolved.to(f.dtype), (f @ x.to(f.dtype)) * (f @ w.to(f.dtype)))


def test_there_and_back():
    q, x = random_basis(), torch.randn(7, 3, dtype=torch.float64)
    torch.testing.assert_close(inverse_graph_fourier(graph_fourier(x, q), q), x)
    torch.testing.assert_close(graph_fourier(x, q).norm(), x.norm())  # Parseval
    k = 4  # the first eigenvectors alone: the projection on what is slow
    slow = inverse_graph_fourier(graph_fourier(x, q[:, :k]), q[:, :k])
    torch.testing.assert_close(slow, q[:, :k] @ q[:, :k].T @ x)


def test_spectral_convolution_by_hand():
    """Of the path: x = (1, 0, 0) and w = (0, 1, 0), written out with N3's Q."""
    r = [3**-0.5, 2**-0.5, 6**-0.5]
    q = torch.tensor([[r[0], -r[1], r[2]], [r[0], 0, -2 * r[2]], [r[0], r[1], r[2]]], dtype=torch.float64)
    x, w = torch.eye(3, dtype=torch.float64)[:2]
    spectra = [r[0] * r[0], -r[1] * 0, r[2] * -2 * r[2]]  # Qᵀx ⊙ Qᵀw = 1/3, 0, −1/3
    expected = sum(s * q[:, k] for k, s in enumerate(spectra))
    torch.testing.assert_close(spectral_convolution(x, w, q), expected)


def test_laws_of_spectral_convolution():
    """It commutes, is linear, and with channels works on each; a filter by 1 changes nothing."""
    q = random_basis()
    x, w = torch.randn(2, 7, 3, dtype=torch.float64)
    torch.testing.assert_close(spectral_convolution(x, w, q), spectral_convolution(w, x, q))
    each = torch.stack([spectral_convolution(x[:, c], w[:, c], q) for c in range(3)], 1)
    torch.testing.assert_close(spectral_convolution(x, w, q), each)
    one = torch.stack([spectral_convolution(x[:, c], w[:, 0], q) for c in range(3)], 1)
    torch.testing.assert_close(spectral_convolution(x, w[:, 0], q), one)
    torch.testing.assert_close(spectral_filter(x, torch.ones(7, dtype=torch.float64), q), x)


def test_spectral_convolution_changes_with_the_sign_of_an_eigenvector():
    """With −q₁ the second term changes its sign: y' = y − 2 x̂₁ ŵ₁ q₁. A filter does not change."""
    q = random_basis()
    x, w, gains = torch.randn(3, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    turned = q.clone()
    turned[:, 1] *= -1
    laplacian_of = q @ torch.diag(torch.arange(7.0, dtype=torch.float64)) @ q.T  # both are its eigenvectors
    torch.testing.assert_close(turned.T @ laplacian_of @ turned, q.T @ laplacian_of @ q)
    change = spectral_convolution(x, w, turned) - spectral_convolution(x, w, q)
    torch.testing.assert_close(change, -2 * (q[:, 1] @ x) * (q[:, 1] @ w) * q[:, 1])
    assert change.abs().max() > 0.01
    torch.testing.assert_close(spectral_filter(x, gains, turned), spectral_filter(x, gains, q))


def test_spectral_convolution_changes_with_the_basis_of_a_repeated_eigenvalue():
    """The triangle has λ = 0, 3, 3: each orthonormal basis of the last two is as good; a filter takes g(3) for both."""
    triangle = torch.ones(3, 3, dtype=torch.float64) - torch.eye(3, dtype=torch.float64)
    values, q = torch.linalg.eigh(laplacian(triangle))
    torch.testing.assert_close(values, torch.tensor([0.0, 3, 3], dtype=torch.float64))
    r = 0.5**0.5
    turned = q @ torch.tensor([[1.0, 0, 0], [0, r, -r], [0, r, r]], dtype=torch.float64)
    torch.testing.assert_close(laplacian(triangle) @ turned, turned * values)
    x, w = torch.tensor([[1.0, 2, 4], [0, 1, -3]], dtype=torch.float64)
    assert (spectral_convolution(x, w, turned) - spectral_convolution(x, w, q)).abs().max() > 0.01
    gains = torch.tensor([1.0, 0.5, 0.5], dtype=torch.float64)
    torch.testing.assert_close(spectral_filter(x, gains, turned), spectral_filter(x, gains, q))


def test_a_polynomial_of_the_laplacian_is_a_filter():
    """Q g(Λ) Qᵀ x = g(L) x: such a filter needs no eigenvectors and reaches as far as its degree."""
    a = torch.tensor([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=torch.float64)
    matrix, x = laplacian(a), torch.randn(3, dtype=torch.float64)
    values = torch.tensor([0.0, 1, 3], dtype=torch.float64)
    torch.testing.assert_close(spectral_filter(x, 2 - values + values**2, Q), 2 * x - matrix @ x + matrix @ matrix @ x)


def test_gradients():
    q = random_basis(5)
    x, w = (torch.randn(5, 2, dtype=torch.float64, requires_grad=True) for _ in range(2))
    assert torch.autograd.gradcheck(lambda a, b: spectral_convolution(a, b, q), (x, w))


@pytest.mark.untyped
def test_mistakes():
    with pytest.raises(ValueError, match="length must be at least 1, got 0"):
        dft_matrix(0)
    with pytest.raises(ValueError, match=r"dtype must be complex, got torch\.float32"):
        dft_matrix(3, torch.float32)
    with pytest.raises(ValueError, match=r"got shapes \(4,\) and \(3, 3\)"):
        graph_fourier(torch.ones(4), Q)
    with pytest.raises(ValueError, match=r"each of the 3 eigenvectors, got shape \(2,\)"):
        inverse_graph_fourier(torch.ones(2), Q)
    with pytest.raises(ValueError, match=r"each of the 3 eigenvectors, got shape \(2,\)"):
        spectral_filter(torch.ones(3).double(), torch.ones(2).double(), Q)
