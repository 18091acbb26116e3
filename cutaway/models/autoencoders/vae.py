r"""`VAE`, the variational autoencoder: its codes are drawn, and lie where codes drawn from a normal distribution lie.

    μ, log σ = encoder(x),   z = μ + σ ⊙ ε                   the code, q(z | x)
    p(x | z) = Π Bernoulli(x_i; σ(s_i)) or Π N(x_i; m_i, τ²), with s or m = decoder(z)
    ELBO = log p(x | z) − KL(q(z | x) ‖ N(0, I)) ≤ log p(x)
    loss = −log p(x | z) + β · ½ Σ (μ² + σ² − log σ² − 1)

To sample, z is drawn from N(0, I) and decoded. τ is one learned number for all pixels; values of pixels from 0 to 1 are
numbers on a line, so that densities may be above 1. Kingma, Welling 2014; β: Higgins et al. 2017. Importance bound:

    log p(x) ≥ log 1/K Σ_k p(x | z_k) p(z_k) / q(z_k | x)    Burda, Grosse, Salakhutdinov 2016

Notes: N4 (✎: the KL has log σ², and ε the shape of z).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.checks import expect_choice, expect_positive, expect_width
from cutaway.blocks.generative.latents import GaussianLatent, kl_to_standard_normal
from cutaway.inside.taps import Tap
from cutaway.models.autoencoders.code_classifier import CodeClassifier, classes_by_code
from cutaway.models.autoencoders.image_coders import ImageCoderSpec, ImageDecoder, ImageEncoder
from cutaway.models.base import Model, choose_spec
from cutaway.models.specs.plain_data import NamedSpec
from cutaway.overriding import override

LIKELIHOODS = ("bernoulli", "gaussian")
_LOG_2PI = math.log(2 * math.pi)


@dataclass(frozen=True)
class VAESpec(ImageCoderSpec):
    """The images, the design of encoder and decoder, the width of the code, and the likelihood of pixels."""

    model: ClassVar[str] = "VAE"

    latents: int = 20
    likelihood: str = "bernoulli"  # bernoulli | gaussian
    shared_scale: bool = False  # one σ for all images, in place of one that the encoder gives

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_positive(latents=self.latents)
        expect_choice("likelihood", self.likelihood, LIKELIHOODS)


class Varied(NamedTuple):
    """What a VAE makes of images: ``output`` (logits, or means of pixels), the drawn code ``z``, its μ and log σ."""

    output: Float[Tensor, "b c h w"]
    z: Float[Tensor, "b z"]
    mean: Float[Tensor, "b z"]
    log_scale: Float[Tensor, "b z"]


class VAE(Model):
    """``model(images)`` gives the decoder's output and the code; ``encode``, ``decode`` and ``sample`` give tensors.

    Tap: ``code`` (z, as it is decoded); of the latent layer ``latent.mean`` and ``latent.log_scale``.
    """

    kind: ClassVar[type[NamedSpec]] = VAESpec
    tasks: ClassVar[tuple[str, ...]] = ("images",)
    spec: VAESpec

    def __init__(self, spec: VAESpec | None = None, **sizes: Any) -> None:
        super().__init__(choose_spec(spec, sizes, VAESpec))
        spec = self.spec
        self.encoder = ImageEncoder(spec)
        self.latent = GaussianLatent(spec.features, spec.latents, spec.shared_scale, start=-1.0)
        self.code = Tap()
        self.decoder = ImageDecoder(spec, spec.latents)
        self.log_pixel_scale = nn.Parameter(torch.tensor(-1.0)) if spec.likelihood == "gaussian" else None

    @override
    def forward(self, images: Float[Tensor, "b c h w"], generator: torch.Generator | None = None) -> Varied:
        z, mean, log_scale = self.latent(self.encoder(images), generator)
        return Varied(self._output(z), z, mean, log_scale)

    def _output(self, z: Tensor) -> Tensor:
        if self.code.live:
            z = self.code(z)
        return self.decoder(z)

    def embed(self, images: Float[Tensor, "b c h w"]) -> Float[Tensor, "b z"]:
        """The code of each image."""
        return self.encode(images)

    def encode(self, images: Float[Tensor, "b c h w"]) -> Float[Tensor, "b z"]:
        """The means of the codes of images."""
        return self.latent.distribution(self.encoder(images))[0]

    @override
    def with_labels(self, labels: Sequence[str], each: str = "sequence", pooling: str | None = None) -> CodeClassifier:
        """The encoder under a fresh head for these classes, which reads the means of the code."""
        body = {name: x for name, x in self.state_dict().items() if name.startswith("encoder.")}
        means = self.latent.to_mean.state_dict()
        body |= {f"to_code.{name}": x for name, x in means.items()}
        return classes_by_code(self.spec, self.spec.latents, "real", body, labels, each, pooling)

    def decode(self, codes: Float[Tensor, "b z"]) -> Float[Tensor, "b c h w"]:
        """The mean image of each code: probabilities of a white pixel, or mean values."""
        expect_width("codes", codes, self.spec.latents)
        output = self._output(codes)
        return output.sigmoid() if self.spec.likelihood == "bernoulli" else output

    def log_likelihood(self, images: Float[Tensor, "b c h w"], output: Float[Tensor, "b c h w"]) -> Float[Tensor, "b"]:
        """log p(x | z) of the decoder's output, in nats an image."""
        if self.log_pixel_scale is None:
            pixels = -nn.functional.binary_cross_entropy_with_logits(output, images, reduction="none")
        else:
            apart = (images - output) * torch.exp(-self.log_pixel_scale)
            pixels = -0.5 * apart.square() - self.log_pixel_scale - 0.5 * _LOG_2PI
        return pixels.flatten(1).sum(1)

    def elbo_parts(
        self, images: Float[Tensor, "b c h w"], generator: torch.Generator | None = None
    ) -> tuple[Float[Tensor, "b"], Float[Tensor, "b"]]:
        """log p(x | z) of one draw, and the KL; their difference is the ELBO."""
        output, _, mean, log_scale = self(images, generator)
        return self.log_likelihood(images, output), kl_to_standard_normal(mean, log_scale)

    def importance_bound(
        self, images: Float[Tensor, "b c h w"], draws: int, generator: torch.Generator | None = None
    ) -> Float[Tensor, "b"]:
        """log 1/K Σ_k p(x, z_k) / q(z_k | x): a tighter bound of log p(x), the tighter the more ``draws``."""
        expect_positive(draws=draws)
        mean, log_scale = self.latent.distribution(self.encoder(images))
        found = []
        for _ in range(draws):
            noise = torch.randn(mean.shape, generator=generator, device=mean.device, dtype=mean.dtype)
            z = mean + log_scale.exp() * noise
            log_prior = -0.5 * (z.square() + _LOG_2PI).sum(1)
            log_posterior = -(0.5 * noise.square() + log_scale + 0.5 * _LOG_2PI).sum(1)
            found.append(self.log_likelihood(images, self._output(z)) + log_prior - log_posterior)
        return torch.stack(found).logsumexp(0) - math.log(draws)

    def sample(self, count: int, generator: torch.Generator | None = None) -> Float[Tensor, "b c h w"]:
        """Images of codes drawn from N(0, I)."""
        z = torch.randn(count, self.spec.latents, generator=generator).to(self.device, self.latent.to_mean.weight.dtype)
        return self.decode(z).clamp(0, 1)


__all__ = ["VAE", "VAESpec", "Varied"]
