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
    largest = matrix.abs().amax()
    sizes = torch.linalg.svdvals(matrix / largest.where(largest > 0, largest.new_ones(())))
    p = sizes / sizes.sum().clamp(min=torch.finfo(sizes.dtype).tiny)
    entropy = -(p * p.clamp(min=torch.finfo(p.dtype).tiny).log()).sum()  # 0 log 0 = 0, and its slope is finite
    return entropy.exp() * (largest > 0)


__all__ = ["effective_rank"]
