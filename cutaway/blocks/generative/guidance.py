r"""Classifier-free guidance: one network predicts with and without the class, and the difference is made larger.

    ŷ = y_∅ + w (y_c − y_∅)

w = 0 is sampling without a class, w = 1 with it, and w > 1 goes further away from what any class would look like:
samples are clearer and less different from one another. In training the class is dropped for a share of the images.
Ho, Salimans 2021, who write (1 + w′) y_c − w′ y_∅ with w′ = w − 1.
"""

from jaxtyping import Float
from torch import Tensor

from cutaway.blocks.checks import expect_same_shape


def guide(conditional: Float[Tensor, "*s"], unconditional: Float[Tensor, "*s"], guidance: float) -> Float[Tensor, "*s"]:
    r"""The prediction with a class, taken further from the one without.

        ŷ = y_∅ + w (y_c − y_∅)

    >>> import torch
    >>> guide(torch.tensor([3.0]), torch.tensor([1.0]), 1.5)
    tensor([4.])
    """
    expect_same_shape("unconditional", unconditional, "conditional", conditional)
    return unconditional + guidance * (conditional - unconditional)
