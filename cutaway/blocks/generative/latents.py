r"""The Gaussian latent code: a network gives a mean and a spread for every input, and the code is drawn from them.

    z = μ + σ ⊙ ε,  ε ~ N(0, I)                           reparameterisation: a draw that gradients pass through
    KL(N(μ, σ²) ‖ N(0, I)) = ½ Σ (μ² + σ² − log σ² − 1)

The network puts out μ and log σ, so that σ is above 0. As a variant, one σ serves all inputs and is learned beside the
weights. Kingma, Welling 2014, §2.4 and appendix B. Notes: N4, where ε has the shape of z (✎: it is no single number)
and the KL has log σ².
"""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.checks import expect_float, expect_positive, expect_same_shape, expect_width
from cutaway.blocks.dense.affine import Linear
from cutaway.inside.taps import Tap
from cutaway.overriding import override

_WIDEST = 10.0  # of |log σ|: beyond, σ² would leave the range of float32


def reparameterise(
    mean: Float[Tensor, "*b z"], log_scale: Float[Tensor, "*b z"], noise: Float[Tensor, "*b z"]
) -> Float[Tensor, "*b z"]:
    r"""A draw from a Gaussian as a function of its mean and spread, and of noise that depends on neither.

        z = μ + σ ⊙ ε

    >>> reparameterise(torch.tensor([1.0, 2.0]), torch.zeros(2), torch.tensor([0.5, -0.5]))
    tensor([1.5000, 1.5000])
    """
    expect_float("mean", mean)
    expect_same_shape("log_scale", log_scale, "mean", mean)
    expect_same_shape("noise", noise, "mean", mean)
    return mean + log_scale.exp() * noise


def kl_to_standard_normal(mean: Float[Tensor, "*b z"], log_scale: Float[Tensor, "*b z"]) -> Float[Tensor, "*b"]:
    r"""How far a Gaussian of independent entries is from the standard normal one, in nats.

        KL = ½ Σ (μ² + σ² − log σ² − 1)

    >>> kl_to_standard_normal(torch.tensor([1.0, 0.0]), torch.zeros(2))
    tensor(0.5000)
    """
    expect_float("mean", mean)
    expect_same_shape("log_scale", log_scale, "mean", mean)
    # σ² − log σ² − 1 with u = log σ² is (eᵘ − 1) − u, which expm1 keeps exact near σ = 1.
    u = 2 * log_scale
    return 0.5 * (mean.square() + torch.expm1(u) - u).sum(-1)


class GaussianCode(NamedTuple):
    """A draw ``z``, and the ``mean`` and ``log_scale`` of the Gaussian that it was drawn from."""

    z: Float[Tensor, "*b z"]
    mean: Float[Tensor, "*b z"]
    log_scale: Float[Tensor, "*b z"]


class GaussianLatent(nn.Module):
    r"""Hidden values to the mean and spread of a code, and to a draw of it.

        μ = x W + b,  log σ = x V + c,  z = μ + σ ⊙ ε

    With ``shared_scale`` there is one learned log σ for each entry of the code, whatever the input. log σ starts at
    ``start`` and is kept within ±10, where σ² is a float32. In evaluation mode too z is a draw, from ``generator`` if
    one is given. Taps: ``mean``, ``log_scale``, ``output`` (z).
    """

    def __init__(self, inputs: int, latents: int, shared_scale: bool = False, start: float = 0.0) -> None:
        super().__init__()
        expect_positive(inputs=inputs, latents=latents)
        self.inputs, self.latents, self.shared_scale, self.start = inputs, latents, shared_scale, start
        self.to_mean = Linear(inputs, latents)
        self.to_log_scale = None if shared_scale else Linear(inputs, latents)
        self.shared_log_scale = nn.Parameter(torch.full((latents,), float(start))) if shared_scale else None
        self.mean = Tap()
        self.log_scale = Tap()
        self.output = Tap()

    def distribution(self, x: Float[Tensor, "*b i"]) -> tuple[Float[Tensor, "*b z"], Float[Tensor, "*b z"]]:
        """μ and log σ."""
        expect_float("x", x)
        expect_width("x", x, self.inputs)
        mean = self.to_mean(x)
        if self.to_log_scale is None:
            assert self.shared_log_scale is not None
            log_scale = self.shared_log_scale.expand_as(mean)
        else:
            log_scale = self.to_log_scale(x) + self.start
        log_scale = log_scale.clamp(-_WIDEST, _WIDEST)
        if self.mean.live:
            mean = self.mean(mean)
        if self.log_scale.live:
            log_scale = self.log_scale(log_scale)
        return mean, log_scale

    @override
    def forward(self, x: Float[Tensor, "*b i"], generator: torch.Generator | None = None) -> GaussianCode:
        mean, log_scale = self.distribution(x)
        # One seed gives one code whatever the dtype: noise is drawn in float32.
        noise = torch.randn(mean.shape, generator=generator, device=mean.device, dtype=torch.float32).to(mean.dtype)
        z = reparameterise(mean, log_scale, noise)
        if self.output.live:
            z = self.output(z)
        return GaussianCode(z, mean, log_scale)

    @override
    def extra_repr(self) -> str:
        return f"inputs={self.inputs}, latents={self.latents}" + ", shared_scale=True" * self.shared_scale
