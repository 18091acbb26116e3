r"""The effective rank of a matrix: how many directions it really uses.

    p_i = σ_i / Σ_j σ_j,     erank(W) = exp(−Σ_i p_i log p_i)

As many equal singular values as there are give that number; one that outweighs all others gives 1. Updates that tuning
makes have a low one, which is why LoRA works (Hu et al. 2022, §7.3). Roy and Vetterli 2007, eq. 3.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from cutaway.blocks.checks import expect_float


def effective_rank(matrix: Float[Tensor, "i o"]) -> Float[Tensor, ""]:
    r"""erank(W) = exp(H(σ / Σσ)), H the entropy; 0 of a matrix of zeros.

    >>> effective_rank(torch.eye(3))
    tensor(3.)
    """
    expect_float("matrix", matrix)
    if matrix.ndim != 2:
        raise ValueError(f"matrix must have two axes, got shape {tuple(matrix.shape)}; flatten all but one")
    sizes = torch.linalg.svdvals(matrix)
    total = sizes.sum()
    p = sizes / total.where(total > 0, total.new_ones(()))
    return torch.special.entr(p).sum().exp() * (total > 0)


__all__ = ["effective_rank"]
