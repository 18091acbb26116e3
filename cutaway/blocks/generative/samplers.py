r"""Samplers: one step from a noisier level t to a less noisy level s, once the network has said what x_t is made of.

    DDPM    x_s ~ q(x_s | x_t, x₀) = N(m, v)                              a draw from the posterior
            m = (α_{t|s} σ_s² x_t + α_s σ²_{t|s} x₀) / σ_t²,   v = σ²_{t|s} σ_s² / σ_t²
            α_{t|s} = α_t / α_s,   σ²_{t|s} = σ_t² − α²_{t|s} σ_s²
    DDIM    x_s = α_s x₀ + σ_s ε                                          the same image and noise, mixed anew
    Euler   x_s = x_t + (σ_s − σ_t) u,   u = ε − x₀                       along the straight path, α + σ = 1

DDIM and Euler draw nothing: the noise that they start from decides the image. On the straight path they are one.
For neighbouring levels the posterior is that of DDPM with β_t = 1 − α²_{t|s}. Ho, Jain, Abbeel 2020, eq. 6–7; Kingma
et al. 2021, appendix A (any two levels); Song, Meng, Ermon 2021, eq. 12 (DDIM); Lipman et al. 2023 (Euler).
"""

from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor

from cutaway.blocks.checks import expect_same_shape

SAMPLERS = ("ddpm", "ddim", "euler")


class Level(NamedTuple):
    """A level of noise: the shares ``signal`` α and ``noise`` σ of x = α x₀ + σ ε."""

    signal: float
    noise: float


def ddpm_posterior(
    x_t: Float[Tensor, "*s"], image: Float[Tensor, "*s"], now: Level, then: Level
) -> tuple[Float[Tensor, "*s"], float]:
    """The mean m and the variance v of x_s, given x_t and the image."""
    expect_same_shape("image", image, "x_t", x_t)
    ratio = now.signal / then.signal
    between = max(now.noise**2 - ratio**2 * then.noise**2, 0.0)
    mean = (ratio * then.noise**2 / now.noise**2) * x_t + (then.signal * between / now.noise**2) * image
    return mean, between * then.noise**2 / now.noise**2


def ddpm_step(
    x_t: Float[Tensor, "*s"], image: Float[Tensor, "*s"], now: Level, then: Level, noise: Float[Tensor, "*s"]
) -> Float[Tensor, "*s"]:
    r"""A draw from the posterior of x_s, given x_t and the image.

        x_s = m + √v · noise

    >>> import torch
    >>> x = torch.tensor([1.0])
    >>> ddpm_step(x, x, Level(0.6, 0.8), Level(1.0, 0.0), x)  # the last step gives the image
    tensor([1.])
    """
    mean, variance = ddpm_posterior(x_t, image, now, then)
    return mean + variance**0.5 * noise


def ddim_step(image: Float[Tensor, "*s"], noise: Float[Tensor, "*s"], then: Level) -> Float[Tensor, "*s"]:
    r"""The image and the noise that x_t is made of, mixed for another level.

        x_s = α_s x₀ + σ_s ε

    >>> import torch
    >>> ddim_step(torch.tensor([1.0]), torch.tensor([2.0]), Level(0.8, 0.6))
    tensor([2.])
    """
    expect_same_shape("noise", noise, "image", image)
    return then.signal * image + then.noise * noise


def euler_step(x_t: Float[Tensor, "*s"], flow: Float[Tensor, "*s"], now: Level, then: Level) -> Float[Tensor, "*s"]:
    r"""A step along the straight path, at the speed u = ε − x₀.

        x_s = x_t + (σ_s − σ_t) u

    >>> import torch
    >>> euler_step(torch.tensor([1.25]), torch.tensor([1.0]), Level(0.75, 0.25), Level(1.0, 0.0))
    tensor([1.])
    """
    expect_same_shape("flow", flow, "x_t", x_t)
    return x_t + (then.noise - now.noise) * flow
