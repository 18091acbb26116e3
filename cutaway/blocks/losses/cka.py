r"""Centred kernel alignment: how alike two representations of the same examples are, from 0 to 1.

    CKA(X, Y) = ‖Yᵀ X‖²_F / (‖Xᵀ X‖_F ‖Yᵀ Y‖_F)            X (n, p), Y (n, q), their columns centred

It is 1 if one is the other turned, mirrored or scaled, so that representations of different widths, or of two networks
whose neurons stand in another order, can be compared. Kornblith, Norouzi, Lee, Hinton 2019, eq. 3 (linear kernel).
Notes: N3 §8.
"""

from jaxtyping import Float
from torch import Tensor

from cutaway.blocks.checks import expect_float


def linear_cka(x: Float[Tensor, "n p"], y: Float[Tensor, "n q"]) -> Float[Tensor, ""]:
    r"""CKA of two representations, row i of both being that of example i; 0 if one of them is constant.

        CKA(X, Y) = ‖Yᵀ X‖²_F / (‖Xᵀ X‖_F ‖Yᵀ Y‖_F)

    >>> import torch
    >>> x = torch.tensor([[0.0, 1.0], [1.0, 0.0], [2.0, 5.0]])
    >>> round(float(linear_cka(x, 3 * x.flip(1))), 4)  # the same, mirrored and scaled
    1.0
    """
    for name, z in (("x", x), ("y", y)):
        expect_float(name, z)
        if z.ndim != 2:
            raise ValueError(f"{name} must have shape (examples, width), got {tuple(z.shape)}; flatten it")
    if len(x) != len(y) or len(x) < 2:
        raise ValueError(f"CKA compares the same examples, at least two, got {len(x)} and {len(y)}; give both")
    x, y = x - x.mean(0), y - y.mean(0)
    if len(x) < max(x.shape[1], y.shape[1]):  # the same numbers by the smaller products of examples
        k, l = x @ x.T, y @ y.T
        together, alone = (k * l).sum(), k.norm() * l.norm()
    else:
        together, alone = (y.T @ x).square().sum(), (x.T @ x).norm() * (y.T @ y).norm()
    return together / alone.where(alone > 0, alone.new_ones(()))


__all__ = ["linear_cka"]
