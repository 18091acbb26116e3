r"""The negative binomial likelihood of a count: a Poisson whose rate varies.

    log p(y) = log Γ(y + 1/α) − log Γ(1/α) − log y! + (1/α) log(1 / (1 + α μ)) + y log(α μ / (1 + α μ))
    mean μ,  variance μ + α μ²,  F(y) = I_p(1/α, ⌊y⌋ + 1) with p = 1 / (1 + α μ)
    sample   rate ~ Gamma(1/α, mean μ),  y ~ Poisson(rate)
    μ = softplus(o₁),  α = softplus(o₂)                      from two unconstrained outputs o
    μ ← ν μ,  α ← α / √ν                                     for a series of scale ν

As the dispersion α falls to 0, it becomes the Poisson distribution. Salinas et al. 2020, eq. 4 and §3.3 (scaling).
"""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from cutaway.blocks.checks import expect_float, expect_width
from cutaway.blocks.likelihoods.incomplete_beta import incomplete_beta

_LEAST = 1e-6  # of mean and dispersion: at 0 the density has no derivative
_NEARLY_POISSON = 1e-4  # of α: below, Γ(y + 1/α) / Γ(1/α) is a difference of numbers too large for float32


def negative_binomial_log_density(
    counts: Float[Tensor, "*b"], mean: Float[Tensor, "*b"], dispersion: Float[Tensor, "*b"]
) -> Float[Tensor, "*b"]:
    r"""The log probability of counts under a negative binomial distribution of mean μ and variance μ + α μ².

        log p(y) = log Γ(y + 1/α) − log Γ(1/α) − log y! − (1/α) log(1 + α μ) + y log(α μ / (1 + α μ))

    >>> negative_binomial_log_density(torch.tensor(0.0), torch.tensor(1.0), torch.tensor(1.0)).exp()  # geometric
    tensor(0.5000)
    """
    expect_float("counts", counts)
    α, μ, y = dispersion.clamp(min=_LEAST), mean.clamp(min=_LEAST), counts
    r = 1 / α
    spread = torch.log1p(α * μ)
    return _log_rising(y, r) - torch.lgamma(y + 1) + y * (μ.log() - spread) - r * spread


def _log_rising(y: Tensor, r: Tensor) -> Tensor:
    """log Γ(y + r) − log Γ(r) − y log r, by Stirling's series where r is large and the difference would cancel."""
    near = r > 1 / _NEARLY_POISSON
    small = torch.where(near, torch.ones_like(r), r)
    exact = torch.lgamma(y + small) - torch.lgamma(small) - y * small.log()
    large = torch.where(near, r, torch.full_like(r, 1 / _NEARLY_POISSON))
    stirling = (y + large - 0.5) * torch.log1p(y / large) - y + (1 / (y + large) - 1 / large) / 12
    return torch.where(near, stirling, exact)


class NegativeBinomial(NamedTuple):
    """Negative binomial distributions, one an entry of its parameters."""

    average: Float[Tensor, "..."]
    dispersion: Float[Tensor, "..."]

    @classmethod
    def from_unconstrained(cls, raw: Float[Tensor, "*b 2"]) -> "NegativeBinomial":
        """The distributions of a network's two outputs: μ = softplus(o₁), α = softplus(o₂)."""
        expect_width("raw", raw, 2)
        μ, α = torch.nn.functional.softplus(raw).unbind(-1)
        return cls(μ, α)

    def scaled(self, factor: Tensor) -> "NegativeBinomial":
        """The distributions of a series of scale ν: μ ν and α / √ν."""
        return NegativeBinomial(self.average * factor, self.dispersion / factor.sqrt())

    @property
    def mean(self) -> Tensor:
        return self.average

    def log_density(self, y: Tensor) -> Tensor:
        return negative_binomial_log_density(y, self.average, self.dispersion)

    def cdf(self, y: Tensor) -> Tensor:
        """The probability of a count of at most y."""
        α, μ = self.dispersion.clamp(min=_LEAST), self.average.clamp(min=_LEAST)
        p = 1 / (1 + α * μ)
        return torch.where(y < 0, 0.0, incomplete_beta(p, 1 / α, y.floor().clamp(min=0) + 1))

    def sample(self, generator: torch.Generator | None = None) -> Tensor:
        """One count of each."""
        α, μ = self.dispersion.clamp(min=_LEAST), self.average.clamp(min=_LEAST)
        gamma = torch._standard_gamma(1 / α, generator=generator)  # torch.distributions takes no generator
        return torch.poisson(gamma * α * μ, generator=generator)
