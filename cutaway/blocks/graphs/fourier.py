r"""The Fourier transform of signals, in time and on graphs, and convolution as a product of spectra.

    x̂ = F x,  F_kt = exp(−2πi kt/n)         of a signal in time; circular convolution: F(x ⊛ w) = Fx ⊙ Fw
    x̂ = Qᵀx,  x = Q x̂                       of a signal on a graph, with L = Q Λ Qᵀ
    x ⊛ w = Q (Qᵀx ⊙ Qᵀw)                   spectral convolution: multiply the spectra and go back
    y = Q (g ⊙ Qᵀx)                         spectral filter: a gain g_k for every frequency λ_k

Small λ_k are slow waves over the graph, large ones fast. With the first k columns of Q alone, what is faster is left
out. Eigenvectors have an arbitrary sign, and those of a repeated λ an arbitrary basis: a spectrum changes with both,
and so does x ⊛ w, a product of two. A filter does not change with signs, nor, with equal gains at equal λ, with bases.
Shuman et al. 2013, §II–III; Bruna et al. 2014. Notes: N3 §7.8, where Q(·), the way back, is missing.
"""

import math

import torch
from jaxtyping import Complex, Float
from torch import Tensor


def dft_matrix(length: int, dtype: torch.dtype = torch.complex64) -> Complex[Tensor, "n n"]:
    """F_kt = exp(−2πi kt/n): F x is `torch.fft.fft(x)`, and its columns are orthogonal.

    >>> dft_matrix(2).real
    tensor([[ 1.,  1.],
            [ 1., -1.]])
    """
    if length < 1:
        raise ValueError(f"length must be at least 1, got {length}; give the number of samples of the signal")
    if not dtype.is_complex:
        raise ValueError(f"dtype must be complex, got {dtype}; use torch.complex64 or torch.complex128")
    steps = torch.arange(length)
    turns = torch.outer(steps, steps) % length  # whole turns change nothing, and would cost digits
    angles = -2 * math.pi / length * turns.to(torch.float64)
    return torch.polar(torch.ones_like(angles), angles).to(dtype)


def graph_fourier(signal: Float[Tensor, "n *c"], eigenvectors: Float[Tensor, "n k"]) -> Float[Tensor, "k *c"]:
    """x̂ = Qᵀx: how much of each eigenvector of the Laplacian a signal holds, in every channel.

    >>> q = torch.tensor([[1.0, -1.0], [1.0, 1.0]]) / 2**0.5  # of two vertices and an edge
    >>> graph_fourier(torch.tensor([3.0, 3.0]), q)  # a constant signal is the slowest wave
    tensor([4.2426, 0.0000])
    """
    _expect_same_vertices("signal", signal, eigenvectors)
    return eigenvectors.T @ signal


def inverse_graph_fourier(spectrum: Float[Tensor, "k *c"], eigenvectors: Float[Tensor, "n k"]) -> Float[Tensor, "n *c"]:
    """x = Q x̂, the signal of a spectrum.

    >>> q = torch.tensor([[1.0, -1.0], [1.0, 1.0]]) / 2**0.5
    >>> inverse_graph_fourier(torch.tensor([2**0.5, 0.0]), q).round(decimals=3)
    tensor([1., 1.])
    """
    if spectrum.shape[:1] != eigenvectors.shape[1:]:
        raise ValueError(
            f"spectrum must have a value for each of the {eigenvectors.shape[1]} eigenvectors, got shape "
            f"{tuple(spectrum.shape)}; take as many as there are columns"
        )
    return eigenvectors @ spectrum


def spectral_convolution(
    signal: Float[Tensor, "n *c"], kernel: Float[Tensor, "n *w"], eigenvectors: Float[Tensor, "n k"]
) -> Float[Tensor, "n *c"]:
    """x ⊛ w = Q (Qᵀx ⊙ Qᵀw); the kernel is a signal on the graph too, of as many channels or of none.

    The answer depends on a choice that the graph does not make: with −q_k in place of q_k, as good an eigenvector, its
    k-th term changes sign, and another basis of a repeated eigenvalue changes it, too. So results compare only between
    calls with the same ``eigenvectors``; two programs, or two computers, may differ. `spectral_filter` takes gains,
    which are no signal, and has no such choice of sign.

    >>> q = torch.tensor([[1.0, -1.0], [1.0, 1.0]]) / 2**0.5
    >>> w = q[:, 0] + q[:, 1]  # a kernel with spectrum 1, 1
    >>> spectral_convolution(torch.tensor([1.0, 3.0]), w, q).round(decimals=3)
    tensor([1., 3.])
    >>> spectral_convolution(torch.tensor([1.0, 3.0]), w, q * torch.tensor([1.0, -1.0])).round(decimals=3)  # −q₁
    tensor([3., 1.])
    """
    _expect_same_vertices("kernel", kernel, eigenvectors)
    w = graph_fourier(kernel, eigenvectors)
    return spectral_filter(signal, w, eigenvectors)


def spectral_filter(
    signal: Float[Tensor, "n *c"], gains: Float[Tensor, "k *g"], eigenvectors: Float[Tensor, "n k"]
) -> Float[Tensor, "n *c"]:
    """y = Q (g ⊙ Qᵀx): every frequency of a signal times its gain; one gain for all channels, or one for each.

    >>> q = torch.tensor([[1.0, -1.0], [1.0, 1.0]]) / 2**0.5
    >>> slow = torch.tensor([1.0, 0.0])  # the slow wave alone: the mean
    >>> spectral_filter(torch.tensor([1.0, 3.0]), slow, q).round(decimals=3)
    tensor([2., 2.])
    """
    x = graph_fourier(signal, eigenvectors)
    g = gains.reshape(*gains.shape, *(1 for _ in range(x.ndim - gains.ndim)))
    if g.shape[0] != x.shape[0] or g.ndim != x.ndim:
        raise ValueError(
            f"gains must have one for each of the {x.shape[0]} eigenvectors, got shape {tuple(gains.shape)}; give "
            f"shape ({x.shape[0]},) or {tuple(x.shape)}"
        )
    return inverse_graph_fourier(g * x, eigenvectors)


def _expect_same_vertices(name: str, signal: Tensor, eigenvectors: Tensor) -> None:
    if eigenvectors.ndim != 2 or signal.ndim == 0 or signal.shape[0] != eigenvectors.shape[0]:
        raise ValueError(
            f"{name} must have a value for each vertex that the eigenvectors have, got shapes {tuple(signal.shape)} "
            f"and {tuple(eigenvectors.shape)}; give (vertices,) or (vertices, channels), and (vertices, eigenvectors)"
        )


__all__ = [
    "dft_matrix",
    "graph_fourier",
    "inverse_graph_fourier",
    "spectral_convolution",
    "spectral_filter",
]
