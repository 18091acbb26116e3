r"""Tiny, crowded eigenvalues, as of grids, roads and neighbourhoods of points: LOBPCG on every level of a multigrid.

    A_{ℓ+1} = Pᵀ A_ℓ P,   B_{ℓ+1} = Pᵀ B_ℓ P        each level joins some vertices of the one before; A_0 = L, B_0 = I
    A_ℓ x = λ B_ℓ x                                  solved on the coarsest level, brought up, mended on every level
    Z = cycle(R)                                     about A⁻¹R: damped Jacobi before and after the coarser level's part

A coarse level almost knows the smooth eigenvectors; a few steps a level mend them, so that the finest, the dearest one,
needs about a dozen. Vertices are put into an order in which neighbours lie near each other (reverse Cuthill–McKee), and
all vectors go through a cycle together: both are a matter of the cache, and of a factor of ten.
Knyazev 2001 (LOBPCG); Vaněk, Mandel, Brezina 1996 (smoothed aggregation, by PyAMG); Brandt, McCormick, Ruge 1983.
"""

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float

from cutaway.data.seeded_draws import draw_uniform
from cutaway.extras import need

if TYPE_CHECKING:
    from scipy import sparse

GUARDS = 3  # vectors carried beside those asked for: the last ones come slowest
_COARSEST = 500  # vertices of the level that is solved densely
_STEPS = 6  # of LOBPCG between two looks at the residuals
_ROUNDS = 15  # of so many steps on the finest level, at most
_ACCURACY = 0.0025  # residual beside the eigenvalue at which it stops


class Level(NamedTuple):
    """A level of the multigrid: its matrices, the way up to it from the next coarser one, and its smoother."""

    a: "sparse.csr_array"
    b: "sparse.csr_array | None"  # None: the identity
    up: "sparse.csr_array"
    down: "sparse.csr_array"
    damping: Float[np.ndarray, "n 1"]  # ω D⁻¹


class Multigrid(NamedTuple):
    """The levels from the finest on; of the coarsest the matrices A and B, dense, and A's pseudo-inverse."""

    levels: list[Level]
    coarsest: tuple[np.ndarray, np.ndarray]
    inverse: np.ndarray

    def cycle(self, r: Float[np.ndarray, "n k"], first: int = 0) -> Float[np.ndarray, "n k"]:
        """One V-cycle from level ``first``: about A⁻¹ r, for all columns at once. It is linear and symmetric."""
        if first == len(self.levels):
            return self.inverse @ r
        level = self.levels[first]
        z = level.damping * r
        z += level.up @ self.cycle(level.down @ (r - level.a @ z), first + 1)
        z += level.damping * (r - level.a @ z)
        return z


def make_multigrid(matrix: "sparse.csr_array", smooth: Float[np.ndarray, "n 1"]) -> Multigrid:
    """Levels by smoothed aggregation; ``smooth`` is what every level must be able to say: the eigenvector of 0."""
    pyamg = need("pyamg", "graphs", "eigenpairs of a large graph")
    sparse = need("scipy.sparse", "graphs", "eigenpairs")
    shift = 1e-9 * float(matrix.diagonal().mean())
    regular = sparse.csr_matrix(matrix + shift * sparse.eye_array(matrix.shape[0]))  # L is singular, this must not be
    regular.indices, regular.indptr = regular.indices.astype(np.int32), regular.indptr.astype(np.int32)
    # PyAMG draws from NumPy's own stream: the same draws each time, and none taken from it
    state = np.random.get_state()  # noqa: NPY002
    np.random.seed(0)  # noqa: NPY002
    try:
        theirs = pyamg.smoothed_aggregation_solver(
            regular, B=smooth, max_coarse=_COARSEST, presmoother=None, postsmoother=None
        ).levels
    finally:
        np.random.set_state(state)  # noqa: NPY002
    levels, b = [], None
    for level in theirs[:-1]:
        a, up = sparse.csr_array(level.A), sparse.csr_array(level.P)
        down = up.T.tocsr()
        levels.append(Level(a, b, up, down, _damping(a)))
        b = down @ (up if b is None else b @ up)
    a = theirs[-1].A.toarray()
    return Multigrid(levels, (a, np.eye(len(a)) if b is None else b.toarray()), np.linalg.pinv(a, hermitian=True))


def _damping(a: "sparse.csr_array") -> Float[np.ndarray, "n 1"]:
    """ω D⁻¹ with ω = 4/(3ρ), where ρ ≥ the eigenvalues of D⁻¹A, by its rows (Gershgorin)."""
    diagonal = a.diagonal()
    sums = np.asarray(abs(a).sum(1)).reshape(-1)
    return (4 / 3 / float((sums / diagonal).max()) / diagonal)[:, None]


def multigrid_eigenvectors(
    matrix: "sparse.csr_array",
    known: Float[np.ndarray, "n c"],
    count: int,
    degrees: Float[np.ndarray, "n"] | None,
    seed: int,
) -> Float[np.ndarray, "n k"]:
    """The ``count`` smallest eigenvectors of a Laplacian orthogonal to those known; ``degrees`` if it is normed.

    It stops when residuals are below a quarter of a hundredth of their eigenvalues, or after 90 steps on the finest
    level: whether an eigenpair converged is for the caller to measure.
    """
    csgraph = need("scipy.sparse.csgraph", "graphs", "eigenpairs")
    order = csgraph.reverse_cuthill_mckee(matrix, symmetric_mode=True)
    matrix, known = matrix[order][:, order].tocsr(), known[order]
    smooth = np.ones(len(order)) if degrees is None else np.sqrt(np.where(degrees > 0, degrees, 1))[order]
    grid = make_multigrid(matrix, smooth[:, None])
    x = _from_coarse_levels(grid, known, count + GUARDS, seed)
    for _ in range(_ROUNDS):
        x = refine(matrix, _improved(matrix, x, grid, 0, None, known))
        values, residuals = measure(matrix, x[:, :count])
        if (residuals <= _ACCURACY * values).all():
            break
    found = np.empty_like(x[:, :count])
    found[order] = x[:, :count]
    return found


def _from_coarse_levels(grid: Multigrid, known: Float[np.ndarray, "n c"], wide: int, seed: int) -> np.ndarray:
    """The coarsest level's first eigenvectors, mended on every level on the way up: a start that is near."""
    linalg = need("scipy.linalg", "graphs", "eigenpairs")
    n, c = known.shape
    x = linalg.eigh(*grid.coarsest)[1][:, : wide + c]
    for k in reversed(range(len(grid.levels))):
        x = grid.levels[k].up @ x
        if k:
            x = _improved(grid.levels[k].a, x, grid, k, grid.levels[k].b, None)
    x = (x - known @ (known.T @ x))[:, c:]  # the first ones are those of 0
    if x.shape[1] < wide or not np.isfinite(x).all():
        return draw_uniform(seed, "lobpcg", 0, n * wide).reshape(n, wide) - 0.5
    return x


def _improved(a: Any, x: np.ndarray, grid: Multigrid, level: int, b: Any, known: np.ndarray | None) -> np.ndarray:
    """Some steps of LOBPCG on one level; what cannot be improved (vectors that depend on one another) stays."""
    linalg = need("scipy.sparse.linalg", "graphs", "eigenpairs")
    n = len(x)
    cycle = linalg.LinearOperator(
        (n, n),
        matvec=lambda r: grid.cycle(r.reshape(n, 1), level).reshape(-1),
        matmat=lambda r: grid.cycle(r, level),
        dtype=np.float64,
    )
    known = None if known is None or not known.shape[1] else known
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # how far it came is measured here
        try:
            return linalg.lobpcg(a, x, B=b, M=cycle, Y=known, largest=False, tol=1e-14, maxiter=_STEPS)[1]
        except (ValueError, np.linalg.LinAlgError):
            return x


def refine(matrix: "sparse.csr_array", vectors: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "n k"]:
    """Rayleigh–Ritz in the space of some vectors: the best eigenvectors that it holds, smallest first."""
    q = np.linalg.qr(vectors)[0]
    inner = q.T @ (matrix @ q)
    return q @ np.linalg.eigh((inner + inner.T) / 2)[1]


def measure(matrix: Any, vectors: Float[np.ndarray, "n k"]) -> tuple[np.ndarray, np.ndarray]:
    """Rayleigh quotients qᵀLq and residuals ‖Lq − λq‖ of unit vectors."""
    images = matrix @ vectors
    values = (vectors * images).sum(0)
    return values, np.linalg.norm(images - vectors * values, axis=0)


__all__ = ["GUARDS", "Multigrid", "make_multigrid", "measure", "multigrid_eigenvectors", "refine"]
