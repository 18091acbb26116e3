r"""Tensors are arrays of any order; this file has their product, and the test whether one is a product of vectors.

    (S ⊗ T)_{i…j…} = S_{i…} T_{j…}          tensor product: the orders add
    T = v₁ ⊗ v₂ ⊗ … ⊗ vₙ                    a pure tensor, of rank one

Hitchcock 1927; Kolda and Bader 2009, §2–3. Notes: N0 §1.2, where the sums are in Einstein's notation: an index that
occurs twice is summed over. That is `torch.einsum`, and these are the notes' examples:

>>> A, B, v = torch.tensor([[1, 2], [3, 4]]), torch.tensor([[0, 1], [1, 1]]), torch.tensor([1, -1])
>>> torch.einsum("ij,j->i", A, v)  # A v
tensor([-1, -1])
>>> torch.einsum("ik,kj->ij", A, B)  # A B
tensor([[2, 3],
        [4, 7]])
>>> torch.einsum("ii->", A)  # the trace of A
tensor(5)
>>> torch.einsum("ik,jk->ij", A, B)  # A Bᵀ
tensor([[2, 3],
        [4, 7]])
>>> S, T = torch.arange(12).view(2, 3, 2), torch.ones(3, 2, 4, dtype=torch.long)
>>> torch.einsum("ikl,klj->ij", S, T)  # the sum over k and l
tensor([[15, 15, 15, 15],
        [51, 51, 51, 51]])
"""

from functools import reduce

import torch
from jaxtyping import Float
from torch import Tensor

from cutaway.blocks.checks import expect_float


def outer(*tensors: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """The tensor product, S ⊗ T: every entry of S times every entry of T. Associative, not commutative.

    >>> outer(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 5.0, 7.0]))
    tensor([[ 3.,  5.,  7.],
            [ 6., 10., 14.]])
    """
    if not tensors:
        raise ValueError("outer needs at least one tensor, got none; an empty product is torch.ones(())")
    for number, tensor in enumerate(tensors):
        expect_float(f"tensors[{number}]", tensor)
    return reduce(lambda S, T: S.reshape(S.shape + (1,) * T.ndim) * T, tensors)


def pure_tensor(*vectors: Float[Tensor, "_"]) -> Float[Tensor, "..."]:
    """T = v₁ ⊗ … ⊗ vₙ, the product of vectors: its order is their number.

    >>> pure_tensor(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 0.0]), torch.tensor([3.0]))
    tensor([[[3.],
             [0.]],
    <BLANKLINE>
            [[6.],
             [0.]]])
    """
    for number, vector in enumerate(vectors):
        if vector.ndim != 1:
            raise ValueError(
                f"vectors[{number}] must be of order 1, got shape {tuple(vector.shape)}; for other orders use outer"
            )
    return outer(*vectors)


def matricise(tensor: Float[Tensor, "..."], axis: int) -> Float[Tensor, "d rest"]:
    """T₍ₖ₎[i, …] = T[…, i, …], the tensor as a matrix: a row for each index of ``axis``, all other axes flattened.

    >>> matricise(torch.zeros(2, 3, 5), axis=1).shape
    torch.Size([3, 10])
    """
    if not -tensor.ndim <= axis < tensor.ndim:
        raise ValueError(
            f"axis must be one of the tensor's {tensor.ndim}, got axis={axis} for shape {tuple(tensor.shape)}; "
            "count from 0, or from the end with -1"
        )
    return tensor.movedim(axis, 0).flatten(1) if tensor.ndim > 1 else tensor.unsqueeze(1)


def is_pure(tensor: Float[Tensor, "..."], tolerance: float | None = None) -> bool:
    """Whether the tensor is a product of vectors: rank T ≤ 1, which holds iff rank T₍ₖ₎ ≤ 1 for every axis k.

    A singular value counts as zero if it is at most ``tolerance`` times the largest one; the default allows for the
    rounding of the tensor's dtype. The zero tensor is pure (a factor is zero), and so is any tensor of order 0 or 1.

    >>> is_pure(torch.tensor([[1.0, 2.0], [2.0, 4.0]])), is_pure(torch.eye(2))
    (True, False)
    """
    expect_float("tensor", tensor)
    if tensor.numel() == 0:
        return True
    matrices = [matricise(tensor, axis) for axis in range(tensor.ndim)]
    return all(int(torch.linalg.matrix_rank(matrix, rtol=tolerance)) <= 1 for matrix in matrices)
