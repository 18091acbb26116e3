r"""Attacks by gradients: FGSM takes one step along the sign of the gradient, PGD many small ones.

    g       = ∂L(f(x), y)/∂x
    FGSM    x′ = clip(x + ε sign(g))
    PGD     x_{i+1} = Π(x_i + α sign(g_i))      Π: back into the ball of size ε, clipped to pixel bounds

PGD starts at x or at a uniform point of the ball; several starts find more (`attack` restarts). In the 2-norm the sign
is replaced by g/‖g‖₂. L is the cross-entropy, so a step lowers the probability of the true class, or the margin loss,
so a step lowers the lead of the true class over the next one (`margins.py`): neither is always the stronger.

Goodfellow, Shlens and Szegedy 2015 (FGSM); Madry et al. 2018 (PGD). Notes: N3 §8.3.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from cutaway.training.attacks.balls import Ball, Images
from cutaway.training.attacks.margins import Cost, cross_entropy_cost

Classifier = Callable[[Tensor], Tensor]


def loss_gradient(model: Classifier, x: Images, labels: Int[Tensor, "b"], cost: Cost = cross_entropy_cost) -> Images:
    """∂L/∂x of the summed ``cost``: each image's own gradient, whatever the size of the batch."""
    with torch.enable_grad():
        x = x.detach().requires_grad_()
        loss = cost(model(x), labels).sum()
        if not loss.requires_grad:
            raise ValueError(
                "gradients must reach the images, got a model whose outputs have none (rounding, thresholds, .detach() "
                'or no_grad inside); use kind="square", which needs none'
            )
        (gradient,) = torch.autograd.grad(loss, x)
    return gradient


def fgsm(model: Classifier, images: Images, labels: Int[Tensor, "b"], ball: Ball) -> Images:
    """x′ = clip(x + ε sign(g)): the whole way in one step."""
    g = loss_gradient(model, images, labels)
    return ball.project(images + ball.epsilon * ball.steepest(g), images)


def pgd(
    model: Classifier,
    images: Images,
    labels: Int[Tensor, "b"],
    ball: Ball,
    steps: int,
    step: float,
    start: Float[Tensor, "b *pixels"] | None = None,
    cost: Cost = cross_entropy_cost,
) -> Images:
    """``steps`` steps of size ``step`` up the ``cost``, each projected back; from ``images`` (+ ``start``)."""
    x = images if start is None else ball.project(images + start, images)
    for _ in range(steps):
        g = loss_gradient(model, x, labels, cost)
        x = ball.project(x + step * ball.steepest(g), images)
    return x


__all__ = ["Classifier", "fgsm", "loss_gradient", "pgd"]
