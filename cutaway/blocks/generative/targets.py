r"""What a denoising network predicts: the noise, the image, or a mixture of both. Each follows from any other and x_t.

    x_t = α x₀ + σ ε                    what the network is given
    y = a x₀ + b ε                      what it predicts
        noise       a = 0,   b = 1      ε                    Ho, Jain, Abbeel 2020
        image       a = 1,   b = 0      x₀
        velocity    a = −σ,  b = α      v = α ε − σ x₀       Salimans, Ho 2022
        flow        a = −1,  b = 1      u = ε − x₀           Lipman et al. 2023: speed along the straight path
    x₀ = (b x_t − σ y) / (α b − σ a)    both equations solved: Cramer's rule
    ε  = (α y − a x_t) / (α b − σ a)

The determinant α b − σ a is α, −σ, α² + σ² and α + σ: nothing is left of x₀ in x_t and ε where α = 0, nor of ε in x_t
and x₀ where σ = 0, while velocity and flow tell both at every level.
"""

from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor

from cutaway.blocks.checks import expect_choice, expect_same_shape

TARGETS = ("noise", "image", "velocity", "flow")
Share = Float[Tensor, "..."] | float


class Denoised(NamedTuple):
    """What x_t is made of, as a network sees it: the ``image`` x₀ and the ``noise`` ε."""

    image: Float[Tensor, "*s"]
    noise: Float[Tensor, "*s"]


def target_shares(target: str, signal: Share, noise: Share) -> tuple[Share, Share]:
    """The shares a of x₀ and b of ε in a target y = a x₀ + b ε."""
    expect_choice("target", target, TARGETS)
    shares: dict[str, tuple[Share, Share]] = {
        "noise": (0.0, 1.0),
        "image": (1.0, 0.0),
        "velocity": (-noise, signal),
        "flow": (-1.0, 1.0),
    }
    return shares[target]


def denoising_target(
    target: str, x0: Float[Tensor, "*s"], noise: Float[Tensor, "*s"], signal: Share, scale: Share
) -> Float[Tensor, "*s"]:
    r"""What a network is to predict for x_t = α x₀ + σ ε, with ``signal`` α and ``scale`` σ.

        y = a x₀ + b ε

    >>> import torch
    >>> denoising_target("velocity", torch.tensor([1.0]), torch.tensor([2.0]), 0.8, 0.6)
    tensor([1.])
    """
    expect_same_shape("noise", noise, "x0", x0)
    a, b = target_shares(target, signal, scale)
    return a * x0 + b * noise


def denoise(
    target: str, prediction: Float[Tensor, "*s"], x_t: Float[Tensor, "*s"], signal: Share, scale: Share
) -> Denoised:
    r"""The image and the noise that a prediction stands for, with ``signal`` α and ``scale`` σ of x_t = α x₀ + σ ε.

        x₀ = (b x_t − σ y) / (α b − σ a),   ε = (α y − a x_t) / (α b − σ a)

    >>> import torch
    >>> image, noise = denoise("flow", torch.tensor([1.0]), torch.tensor([1.25]), 0.75, 0.25)
    >>> image, noise
    (tensor([1.]), tensor([2.]))
    """
    expect_same_shape("prediction", prediction, "x_t", x_t)
    a, b = target_shares(target, signal, scale)
    determinant = signal * b - scale * a
    return Denoised((b * x_t - scale * prediction) / determinant, (signal * prediction - a * x_t) / determinant)


def convert_prediction(
    prediction: Float[Tensor, "*s"], source: str, target: str, x_t: Float[Tensor, "*s"], signal: Share, scale: Share
) -> Float[Tensor, "*s"]:
    r"""The prediction of one target as that of another.

        y′ = a′ x₀ + b′ ε,   with x₀ and ε from y and x_t

    >>> import torch
    >>> convert_prediction(torch.tensor([2.0]), "noise", "image", torch.tensor([2.0]), 0.8, 0.6)
    tensor([1.0000])
    """
    image, noise = denoise(source, prediction, x_t, signal, scale)
    return denoising_target(target, image, noise, signal, scale)


def squared_error_weight(target: str, signal: Share, scale: Share) -> Share:
    r"""How a target weighs the error of the image: ‖y − ŷ‖² = weight · ‖x₀ − x̂₀‖², for one x_t.

        weight = ((α b − σ a) / σ)²

    >>> import torch
    >>> squared_error_weight("noise", torch.tensor(0.8), torch.tensor(0.6))  # the signal-to-noise ratio
    tensor(1.7778)
    """
    a, b = target_shares(target, signal, scale)
    return ((signal * b - scale * a) / scale) ** 2


__all__ = [
    "TARGETS",
    "Denoised",
    "convert_prediction",
    "denoise",
    "denoising_target",
    "squared_error_weight",
    "target_shares",
]
