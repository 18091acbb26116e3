r"""The Gaussian likelihood of a real number.

    log p(y) = −½ z² − log σ − ½ log 2π,      z = (y − μ) / σ
    F(y) = ½ (1 + erf(z / √2)),               sample y = μ + σ ε, ε ~ N(0, 1)
    μ = o₁,  σ = softplus(o₂)                 from two unconstrained outputs o

A network predicts o for a series divided by its scale ν; then y has location ν μ and scale ν σ. Gauss 1809; as the
output of a forecaster: Salinas et al. 2020, eq. 3.
"""

import math
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from cutaway.blocks.checks import expect_float, expect_width


def gaussian_log_density(
    y: Float[Tensor, "*b"], location: Float[Tensor, "*b"], scale: Float[Tensor, "*b"]
) -> Float[Tensor, "*b"]:
    r"""The log density of a Gaussian.

        log p(y) = −½ ((y − μ) / σ)² − log σ − ½ log 2π

    >>> gaussian_log_density(torch.tensor(0.0), torch.tensor(0.0), torch.tensor(1.0))
    tensor(-0.9189)
    """
    expect_float("y", y)
    z = (y - location) / scale
    return -0.5 * z.square() - scale.log() - 0.5 * math.log(2 * math.pi)


class Gaussian(NamedTuple):
    """Gaussian distributions, one an entry of its parameters."""

    location: Float[Tensor, "..."]
    scale: Float[Tensor, "..."]

    @classmethod
    def from_unconstrained(cls, raw: Float[Tensor, "*b 2"]) -> "Gaussian":
        """The distributions of a network's two outputs: μ = o₁, σ = softplus(o₂)."""
        expect_width("raw", raw, 2)
        return cls(raw[..., 0], torch.nn.functional.softplus(raw[..., 1]))

    def scaled(self, factor: Tensor) -> "Gaussian":
        """The distributions of ν y, where these are of y."""
        return Gaussian(self.location * factor, self.scale * factor)

    @property
    def mean(self) -> Tensor:
        return self.location

    def log_density(self, y: Tensor) -> Tensor:
        return gaussian_log_density(y, self.location, self.scale)

    def cdf(self, y: Tensor) -> Tensor:
        """The probability of a value of at most y."""
        return torch.special.ndtr((y - self.location) / self.scale)

    def sample(self, generator: torch.Generator | None = None) -> Tensor:
        """One value of each."""
        noise = torch.randn(
            self.location.shape, generator=generator, dtype=self.location.dtype, device=self.location.device
        )
        return self.location + self.scale * noise
