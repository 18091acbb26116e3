r"""The margin of the true class, and what attacks make larger: the cross-entropy, or the margin with its sign turned.

    margin          m(z, y) = z_y − max_{c≠y} z_c                below 0 where another class wins
    cross-entropy   L(z, y) = log Σ_c exp z_c − z_y              ∂L/∂z = p − e_y: vanishes as p_y → 1
    margin loss     L(z, y) = max_{c≠y} z_c − z_y = −m(z, y)     ∂L/∂z = e_c − e_y: however sure the model is

Where a model is very sure, the cross-entropy has gradients near 0 and weighs every class by its probability; the margin
looks at the one class that is nearest. Of a linear model z = W x + b with ε in the ∞-norm (no pixel at its bounds), the
least margin against class c is known:  m − ε ‖w_y − w_c‖₁,  and one step of size ε along the sign reaches it.

Carlini and Wagner 2017 (their f₆ without a floor); the margin of logits, as that of log p: the two differ by nothing.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

Cost = Callable[[Tensor, Tensor], Tensor]


def margin(logits: Float[Tensor, "b k"], labels: Int[Tensor, "b"]) -> Float[Tensor, "b"]:
    """z_y − max_{c≠y} z_c = log p_y − max_{c≠y} log p_c: below 0 where another class wins.

    >>> margin(torch.tensor([[3.0, 1.0, 2.0]]), torch.tensor([0]))
    tensor([1.])
    """
    true = logits.gather(1, labels[:, None])[:, 0]
    others = logits.scatter(1, labels[:, None], -torch.inf)
    return true - others.amax(1)


def margin_cost(logits: Float[Tensor, "b k"], labels: Int[Tensor, "b"]) -> Float[Tensor, "b"]:
    """L = max_{c≠y} z_c − z_y of each image."""
    return -margin(logits, labels)


def cross_entropy_cost(logits: Float[Tensor, "b k"], labels: Int[Tensor, "b"]) -> Float[Tensor, "b"]:
    """L = log Σ_c exp z_c − z_y of each image."""
    return F.cross_entropy(logits, labels, reduction="none")


__all__ = ["Cost", "cross_entropy_cost", "margin", "margin_cost"]
