r"""Lanczos: the ends of a spectrum from products with the matrix alone; the method for eigenvalues that stand apart.

    K_m = span(v, Lv, …, L^{m−1}v)         the space in which it looks
    T = VᵀLV                               tridiagonal: α on the diagonal, β beside it
    residual of a Ritz pair (θ, s) of T    β_m |s_m|, known without its vector

Its error falls by a factor that depends on how far an eigenvalue is from the next, beside the width of the spectrum.
A trial of a few steps tells whether to begin at all. Lanczos 1950; Lehoucq, Sorensen, Yang 1998
(ARPACK, which SciPy calls).
"""

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from cutaway.data.graphs.spectra.multigrid import refine
from cutaway.data.seeded_draws import draw_uniform
from cutaway.extras import need

if TYPE_CHECKING:
    from scipy import sparse

_RESTARTS = 8
_STEPS = 30  # of the trial
_HOPELESS = 1.0  # residual of the first Ritz pair beside its value, after the trial


def is_hopeless(matrix: "sparse.csr_array", known: Float[np.ndarray, "n c"], seed: int) -> bool:
    """Whether 30 steps leave even the smallest eigenvalue unknown: its residual as large as itself.

    Of a graph of few well-joined clusters the ratio is about 0.1 then; of a grid or of near points it is 3 and more.
    """
    linalg = need("scipy.linalg", "graphs", "eigenpairs")
    n = matrix.shape[0]
    steps = min(_STEPS, n // 2)
    basis = np.zeros((steps + 1, n))
    basis[0] = _start(n, seed)
    basis[0] -= known @ (known.T @ basis[0])
    basis[0] /= np.linalg.norm(basis[0])
    diagonal, beside = [], []
    for m in range(steps):
        w = matrix @ basis[m]
        diagonal.append(float(w @ basis[m]))
        for _ in range(2):  # right angles to all of them, and twice: once leaves errors that grow fivefold a step
            w -= basis[: m + 1].T @ (basis[: m + 1] @ w)
            w -= known @ (known.T @ w)
        beside.append(float(np.linalg.norm(w)))
        if beside[-1] < 1e-10 * max(abs(diagonal[-1]), 1e-300):  # the space is whole: all in it is exact
            return False
        basis[m + 1] = w / beside[-1]
    theta, s = linalg.eigh_tridiagonal(diagonal, beside[:-1])
    return bool(beside[-1] * abs(s[-1, 0]) > _HOPELESS * theta[0])


def lanczos_eigenvectors(
    matrix: "sparse.csr_array", known: Float[np.ndarray, "n c"], count: int, seed: int
) -> Float[np.ndarray, "n k"] | None:
    """The largest eigenvectors of s I − L − 2s U Uᵀ: what is known is sent to the other end of the spectrum."""
    linalg = need("scipy.sparse.linalg", "graphs", "eigenpairs")
    n = matrix.shape[0]
    s = float(2 * matrix.diagonal().max()) or 1.0  # no eigenvalue of L is larger (Gershgorin)

    def product(x: np.ndarray) -> np.ndarray:
        x = x.reshape(-1)
        return s * x - matrix @ x - 2 * s * (known @ (known.T @ x))

    operator = linalg.LinearOperator((n, n), matvec=product, dtype=np.float64)
    wide = min(n - 1, max(2 * count + 10, 24))
    try:
        _, vectors = linalg.eigsh(
            operator, k=count, which="LA", v0=_start(n, seed), tol=1e-5, ncv=wide, maxiter=_RESTARTS
        )
    except linalg.ArpackNoConvergence as stopped:
        vectors = stopped.eigenvectors
        if vectors is None or vectors.shape[1] < count:
            return None
    return refine(matrix, vectors)


def _start(n: int, seed: int) -> Float[np.ndarray, "n"]:
    return draw_uniform(seed, "lanczos", 0, n) - 0.5


__all__ = ["is_hopeless", "lanczos_eigenvectors"]
