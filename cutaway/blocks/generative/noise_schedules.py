r"""Noise schedules: how much of an image is left, and how much noise is added, at each of T levels.

    x_t = α_t x₀ + σ_t ε,   ε ~ N(0, I),   t = 0 … T          α₀ = 1, σ₀ = 0: the image itself
    linear      β_t from 10⁻⁴ to 0.02,   ᾱ_t = Π (1 − β_s),   α_t = √ᾱ_t,   σ_t = √(1 − ᾱ_t)
    cosine      ᾱ_t = f(t) / f(0),   f(t) = cos²(π/2 · (t/T + s) / (1 + s)),   β_t ≤ 0.999
    straight    α_t = 1 − t/T,   σ_t = t/T                     a straight line from image to noise
    SNR_t = α_t² / σ_t²                                        signal-to-noise ratio

Ho, Jain, Abbeel 2020 (linear); Nichol, Dhariwal 2021, eq. 17 (cosine); Lipman et al. 2023, Liu et al. 2023 (straight).
"""

import math
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from cutaway.blocks.checks import expect_choice, expect_positive

_MOST_NOISE = 0.999  # of β: keeps α above 0 at the last level of the cosine schedule


class NoiseSchedule(NamedTuple):
    """The share of the image, ``signal`` α_t, and of noise, ``noise`` σ_t, at levels t = 0 … T."""

    signal: Float[Tensor, "levels"]
    noise: Float[Tensor, "levels"]

    @property
    def levels(self) -> int:
        """T: the highest level."""
        return len(self.signal) - 1

    def snr(self) -> Float[Tensor, "levels"]:
        """SNR_t = α_t² / σ_t², infinite at level 0."""
        return (self.signal / self.noise).square()

    def add_noise(
        self, x0: Float[Tensor, "b ..."], noise: Float[Tensor, "b ..."], level: Int[Tensor, "b"]
    ) -> Float[Tensor, "b ..."]:
        """x_t = α_t x₀ + σ_t ε, each image at a level of its own."""
        alpha, sigma = self.at(level, x0)
        return alpha * x0 + sigma * noise

    def at(self, level: Int[Tensor, "*b"], like: Tensor) -> tuple[Tensor, Tensor]:
        """α_t and σ_t of some levels, in the dtype of ``like`` and with axes of 1 up to its shape."""
        shape = (*level.shape, *[1] * (like.ndim - level.ndim))
        signal, noise = (part.to(like)[level].view(shape) for part in self)
        return signal, noise

    def timesteps(self, steps: int) -> list[int]:
        """``steps`` + 1 levels from T down to 0, evenly spaced: where a sampler stops on its way."""
        expect_positive(steps=steps)
        if steps > self.levels:
            raise ValueError(
                f"a sampler takes at most as many steps as there are levels, got steps={steps} and {self.levels} "
                f"levels; try steps={min(self.levels, 25)}"
            )
        return [round(self.levels * (steps - i) / steps) for i in range(steps + 1)]


def linear_betas(levels: int = 1000, first: float = 1e-4, last: float = 0.02) -> Float[Tensor, "{levels}"]:
    r"""The variance of the noise that each level adds, growing evenly.

        β_t = β_1 + (β_T − β_1) (t − 1) / (T − 1)

    Fewer levels than 1000 add as much more each, so that as little is left of the image at the end.

    >>> linear_betas(1000)[[0, -1]]
    tensor([1.0000e-04, 2.0000e-02])
    """
    expect_positive(levels=levels)
    scale = 1000 / levels
    return torch.linspace(first * scale, last * scale, levels, dtype=torch.float64).clamp(max=_MOST_NOISE).float()


def cosine_betas(levels: int = 1000, offset: float = 0.008) -> Float[Tensor, "{levels}"]:
    r"""The variance of the noise that each level adds, so that the image fades as a squared cosine.

        β_t = min(1 − ᾱ_t / ᾱ_{t−1}, 0.999),   ᾱ_t = f(t) / f(0),   f(t) = cos²(π/2 · (t/T + s) / (1 + s))

    >>> cosine_betas(2)
    tensor([0.5062, 0.9990])
    """
    expect_positive(levels=levels)
    t = torch.arange(levels + 1, dtype=torch.float64) / levels
    f = torch.cos(math.pi / 2 * (t + offset) / (1 + offset)).square()
    return (1 - f[1:] / f[:-1]).clamp(max=_MOST_NOISE).float()


def from_betas(betas: Float[Tensor, "levels"]) -> NoiseSchedule:
    r"""The schedule of given variances: ᾱ_t = Π (1 − β_s), α_t = √ᾱ_t, σ_t = √(1 − ᾱ_t); α² + σ² = 1 at every level."""
    left = torch.cat([torch.ones(1, dtype=torch.float64), (1 - betas.double().cpu()).cumprod(0)])
    return NoiseSchedule(left.sqrt().to(betas.dtype), (1 - left).sqrt().to(betas.dtype))


def straight_path(levels: int = 1000) -> NoiseSchedule:
    r"""α_t = 1 − t/T and σ_t = t/T: the line from image to noise; at level T nothing is left of the image."""
    expect_positive(levels=levels)
    t = torch.arange(levels + 1, dtype=torch.float64) / levels
    return NoiseSchedule((1 - t).float(), t.float())


SCHEDULES = {
    "linear": lambda levels: from_betas(linear_betas(levels)),
    "cosine": lambda levels: from_betas(cosine_betas(levels)),
    "straight": straight_path,
}


def noise_schedule(name: str, levels: int = 1000) -> NoiseSchedule:
    r"""The schedule of a name: linear, cosine or straight; x_t = α_t x₀ + σ_t ε.

    >>> noise_schedule("straight", 4).signal
    tensor([1.0000, 0.7500, 0.5000, 0.2500, 0.0000])
    """
    expect_choice("schedule", name, SCHEDULES)
    return SCHEDULES[name](levels)
