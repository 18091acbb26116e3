r"""Principal directions: along the first ones rows vary most. Their cost grows with the rows, not with width².

    X ≈ U S Vᵀ,  v_1 … v_k the rows of Vᵀ          X: rows without their mean

Up to 1,024 rows or columns they are exact: the eigenvectors of XᵀX, or those of XXᵀ (one number a pair of rows), each
carried over by Xᵀ. Beyond, they are the best within the span of a few random mixtures of the rows, sharpened by turns
of XᵀX, which lets the directions with small singular values fade:

    Q = orth(Xᵀ Ω);   Q ← orth(Xᵀ (X Q)), a few times;   V = Q W,  W the principal directions of X Q

Pearson 1901; Halko, Martinsson, Tropp 2011, algorithm 4.4.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from cutaway.blocks.checks import expect_float, expect_positive

_EXACT = 1024  # rows or columns of a matrix whose eigenvectors take a second
_MORE, _TURNS = 10, 6  # mixtures beyond the directions asked for, and turns


def principal_directions(centred: Float[Tensor, "n p"], count: int) -> Float[Tensor, "k p"]:
    r"""The first ``count`` principal directions of rows without their mean, or as many as there can be: one a row.

        v_1 = argmax ‖X v‖ over ‖v‖ = 1,   v_2 the same among those at right angles to v_1, …

    Random mixtures are of a fixed seed: the same rows have the same directions.

    >>> principal_directions(torch.tensor([[1.0, 1.0], [-1.0, -1.0]]), 1).abs()
    tensor([[0.7071, 0.7071]])
    """
    expect_float("centred", centred)
    expect_positive(count=count)
    n, p = centred.shape
    count = min(count, n, p)
    if min(n, p) <= _EXACT:
        return _exact(centred.double(), count).to(centred.dtype)
    size = min(count + _MORE, n, p)
    mixtures = torch.randn(size, n, generator=torch.Generator().manual_seed(0)).to(centred)
    q = _orthonormal((mixtures @ centred).T)
    for _ in range(_TURNS):
        q = _orthonormal(centred.T @ (centred @ q))
    inner = torch.linalg.eigh(_square(centred @ q).double()).eigenvectors.flip(1)
    return (q @ inner[:, :count].to(q.dtype)).T


def _exact(x: Tensor, count: int) -> Tensor:
    if x.shape[1] <= x.shape[0]:
        return torch.linalg.eigh(_square(x)).eigenvectors.flip(1)[:, :count].T
    rows = torch.linalg.eigh(_square(x.T)).eigenvectors.flip(1)[:, :count]
    return _orthonormal(x.T @ rows).T  # also where rows do not vary: any direction at right angles will do


def _square(x: Tensor) -> Tensor:
    return x.T @ x


def _orthonormal(x: Tensor) -> Tensor:
    return torch.linalg.qr(x).Q


__all__ = ["principal_directions"]
