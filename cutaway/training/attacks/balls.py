r"""The ball of changes that an attack may make: at most ε in a norm, and no pixel outside its bounds.

    ‖δ‖_∞ ≤ ε    every pixel moves by at most ε;  steepest step sign(g)
    ‖δ‖₂  ≤ ε    the whole image moves by at most ε;  steepest step g/‖g‖₂

Goodfellow, Shlens and Szegedy 2015; Madry et al. 2018. Notes: N3 §8.3.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from cutaway.blocks.checks import expect_choice

Images = Float[Tensor, "b *pixels"]


@dataclass(frozen=True)
class Ball:
    """Changes of at most ``epsilon`` in the ``norm`` ("inf" or "2") that keep values within ``bounds``."""

    epsilon: float
    norm: str = "inf"
    bounds: tuple[float, float] = (0.0, 1.0)

    def __post_init__(self) -> None:
        expect_choice("norm", self.norm, ("inf", "2"))
        if not 0 <= self.epsilon < float("inf"):
            raise ValueError(f"epsilon must be a number of at least 0, got {self.epsilon}; try epsilon=0.1")
        if len(self.bounds) != 2 or not self.bounds[0] < self.bounds[1]:
            raise ValueError(f"bounds must be (lowest, highest) of a pixel, got {self.bounds}; try bounds=(0, 1)")

    def steepest(self, gradient: Images) -> Images:
        """The change of size 1 along which the loss rises fastest, to first order."""
        if self.norm == "inf":
            return gradient.sign()
        return gradient / _lengths(gradient).clamp_min(torch.finfo(gradient.dtype).tiny)

    def project(self, x: Images, images: Images) -> Images:
        """The point of the ball around ``images`` that is nearest to ``x``, clipped to the bounds."""
        if self.norm == "inf":
            x = torch.minimum(torch.maximum(x, images - self.epsilon), images + self.epsilon)
        else:
            change = x - images
            x = images + change * (self.epsilon / _lengths(change).clamp_min(self.epsilon or 1)).clamp(max=1)
        return x.clamp(*self.bounds)

    def draw(self, like: Images, generator: torch.Generator | None = None) -> Images:
        """Changes that are uniform in the ball."""
        if self.norm == "inf":
            return torch.empty_like(like).uniform_(-self.epsilon, self.epsilon, generator=generator)
        direction = torch.empty_like(like).normal_(generator=generator)
        size = torch.rand(len(like), *[1] * (like.ndim - 1), generator=generator, dtype=like.dtype, device=like.device)
        return self.epsilon * size ** (1 / max(like[:1].numel(), 1)) * self.steepest(direction)


def _lengths(x: Images) -> Float[Tensor, "b *ones"]:
    """‖x‖₂ of each image, broadcastable."""
    return x.flatten(1).norm(dim=1).view(len(x), *[1] * (x.ndim - 1))


__all__ = ["Ball"]
