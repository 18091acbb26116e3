r"""Tensors whose numbers do not lie in one block: nested ones, whose parts differ in length, and sparse ones.

nested    torch.nested, of either layout: (batch, ragged, width)
sparse    COO, CSR and the like, as the gradient of an embedding with sparse=True
"""

from typing import Any

import torch
from torch import Tensor


def sides_of(x: Tensor) -> tuple[Any, ...]:
    """The shape of a tensor. A ragged side of a nested tensor has no one length: it is a symbol, or "ragged"."""
    if not x.is_nested or x.layout is not torch.strided:
        return tuple(x.shape)
    return tuple(_side(x, axis) for axis in range(x.dim()))


def _side(x: Tensor, axis: int) -> int | str:
    try:
        return x.size(axis)
    except RuntimeError:  # parts differ in it
        return "ragged"


def dense(x: Tensor) -> Tensor:
    """The numbers of a tensor in one block: itself, if they are; the parts of a nested one below each other.

    >>> dense(torch.eye(2).to_sparse()).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    >>> dense(torch.nested.nested_tensor([torch.zeros(2, 3), torch.ones(4, 3)], layout=torch.jagged)).shape
    torch.Size([6, 3])
    """
    if x.is_nested:
        width = sides_of(x)[-1]
        parts = [part.reshape(-1, width if isinstance(width, int) else 1) for part in x.unbind()]
        return torch.cat(parts) if parts else x.new_zeros(0, 1)
    return x if x.layout is torch.strided else x.to_dense()


__all__ = ["dense", "sides_of"]
