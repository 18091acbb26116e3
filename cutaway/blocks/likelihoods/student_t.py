r"""The Student-t likelihood of a real number: a Gaussian with heavier tails, the heavier the fewer its freedom k.

    log p(y) = log Γ((k+1)/2) − log Γ(k/2) − ½ log(k π) − log σ − (k+1)/2 · log(1 + z²/k),     z = (y − μ) / σ
    F(y) = 1 − ½ I_x(k/2, ½)  for z ≥ 0, with x = k / (k + z²);  F(−z) = 1 − F(z)
    sample   y = μ + σ √(k (u^(−2/k) − 1)) cos(2π v),   u, v uniform                            (Bailey 1994)
    μ = o₁,  σ = softplus(o₂),  k = 2 + softplus(o₃)    from three unconstrained outputs o: the variance is finite

As k grows, it becomes the Gaussian. Student 1908; sampling: Bailey 1994 (polar generation with the t-distribution).
"""

import math
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from cutaway.blocks.checks import expect_float, expect_width
from cutaway.blocks.likelihoods.incomplete_beta import incomplete_beta


def student_t_log_density(
    y: Float[Tensor, "*b"], location: Float[Tensor, "*b"], scale: Float[Tensor, "*b"], freedom: Float[Tensor, "*b"]
) -> Float[Tensor, "*b"]:
    r"""The log density of Student's t-distribution of ``freedom`` k, moved and stretched.

        log p(y) = log Γ((k+1)/2) − log Γ(k/2) − ½ log(k π) − log σ − (k+1)/2 · log(1 + z²/k),   z = (y − μ) / σ

    >>> zero, one = torch.zeros(()), torch.ones(())
    >>> student_t_log_density(zero, zero, one, one)  # Cauchy: −log π
    tensor(-1.1447)
    """
    expect_float("y", y)
    z = (y - location) / scale
    k = freedom
    normaliser = torch.lgamma((k + 1) / 2) - torch.lgamma(k / 2) - 0.5 * torch.log(k * math.pi) - scale.log()
    return normaliser - (k + 1) / 2 * torch.log1p(z.square() / k)


class StudentT(NamedTuple):
    """Student-t distributions, one an entry of its parameters."""

    location: Float[Tensor, "..."]
    scale: Float[Tensor, "..."]
    freedom: Float[Tensor, "..."]

    @classmethod
    def from_unconstrained(cls, raw: Float[Tensor, "*b 3"]) -> "StudentT":
        """The distributions of a network's three outputs: μ = o₁, σ = softplus(o₂), k = 2 + softplus(o₃)."""
        expect_width("raw", raw, 3)
        softplus = torch.nn.functional.softplus
        return cls(raw[..., 0], softplus(raw[..., 1]), 2 + softplus(raw[..., 2]))

    def scaled(self, factor: Tensor) -> "StudentT":
        """The distributions of ν y, where these are of y."""
        return StudentT(self.location * factor, self.scale * factor, self.freedom)

    @property
    def mean(self) -> Tensor:
        return self.location

    def log_density(self, y: Tensor) -> Tensor:
        return student_t_log_density(y, self.location, self.scale, self.freedom)

    def cdf(self, y: Tensor) -> Tensor:
        """The probability of a value of at most y."""
        z = (y - self.location) / self.scale
        tail = 0.5 * incomplete_beta(self.freedom / (self.freedom + z.square()), self.freedom / 2, 0.5)
        return torch.where(z > 0, 1 - tail, tail)

    def sample(self, generator: torch.Generator | None = None) -> Tensor:
        """One value of each."""
        like = self.location
        u, v = torch.rand(2, *like.shape, generator=generator, dtype=like.dtype, device=like.device)
        u = 1 - u  # in (0, 1]
        k = self.freedom
        # u^(−2/k) − 1, exact for large k too
        radius = (k * torch.expm1(-2 / k * u.log())).sqrt()
        return self.location + self.scale * radius * torch.cos(2 * math.pi * v)
