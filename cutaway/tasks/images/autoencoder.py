r"""The learner of the recipe `autoencoder`: squeezes images through a narrow code and makes them anew.

    cost = mean (decode(encode(x + σ ε)) − x)²          σ = 0, unless it learns to clean images

Its baselines are what a linear one and one with a bit can reach: principal components, and the centroids of K-means.
"""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from cutaway.data.images.image_batches import every_image
from cutaway.data.images.image_data import ImageRows
from cutaway.overriding import override
from cutaway.tasks.images.image_makers import ImageMaker, Sampler
from cutaway.tasks.images.latent_codes import CodedImages
from cutaway.tasks.images.pca_kmeans import as_rows, centroids_of, nearest_of, principal_angles, principal_components
from cutaway.tasks.images.pixels import as_pixels

_SCATTER = 0.3  # of the noise that is added to codes to make new images, in spreads of the codes
_FLIPS = 0.1  # of bits, where codes are binary
_CENTROIDS = 64  # of K-means, at most


class Reconstructor(ImageMaker):
    """An encoder and a decoder with a code between."""

    @override
    def pixel_cost(self, model: Any, images: Float[Tensor, "b c h w"], labels: Int[Tensor, "b"]) -> Tensor:
        noise = self.settings.noise
        given = images + noise * torch.randn_like(images) if noise else images
        return (model(given) - images).square().mean()

    @override
    @torch.no_grad()
    def measure(self, model: Any, rows: ImageRows, draws: int = 1) -> dict[str, float]:
        """The squared error a pixel; of a denoising one that of cleaned images beside that of the noisy ones."""
        generator = torch.Generator().manual_seed(0)
        error = noisy = 0.0
        for batch in every_image(rows):
            x = as_pixels(model, batch.pixels)
            noise = self.settings.noise * torch.randn(x.shape, generator=generator).to(x)
            error += (model(x + noise) - x).square().flatten(1).mean(1).sum().item()
            noisy += noise.square().flatten(1).mean(1).sum().item()
        found = {"loss": error / len(rows)}
        return found | {"error_of_noisy_images": noisy / len(rows)} if self.settings.noise else found

    @override
    def baseline(self, rows: ImageRows) -> dict[str, Any]:
        """Principal components, as many as there are codes; for bits, K-means with a centroid for each code."""
        settings = self.settings
        train, x = as_rows(self.task.parts.train), as_rows(rows)
        given = x + settings.noise * torch.randn(x.shape, generator=torch.Generator().manual_seed(0))
        if settings.code == "binary" and 2**settings.codes <= min(_CENTROIDS, len(train)):
            rule = f"K-means, the nearest of {2**settings.codes} centroids"
            rebuilt = nearest_of(given, centroids_of(train, 2**settings.codes, settings.seed))
        elif settings.code == "binary":
            rule, rebuilt = "the mean image", train.mean(0).expand_as(x)
        else:
            components = principal_components(train, settings.codes)
            rule, rebuilt = f"{len(components.directions)} principal components", components.rebuilt(given)
        return {"rule": rule, "metrics": {"loss": (rebuilt - x).square().mean().item()}}

    @override
    def last_metrics(self, model: Any) -> dict[str, float]:
        """Of a linear one, the largest angle between what it can make and the principal components, in degrees."""
        if self.settings.design != "linear" or self.settings.code != "real":
            return {}
        components = principal_components(as_rows(self.task.parts.train), self.settings.codes)
        rows = model.decoder.out.weight.detach().cpu()
        return {"angle_to_principal_components": principal_angles(rows, components.directions).max().item()}

    def test_bounds(self, rows: ImageRows) -> dict[str, float]:
        """Further figures of test images: none."""
        return {}

    @override
    def sampler(self, guidance: float | None, steps: int | None) -> Sampler:
        """Codes of training images, moved a little and decoded: z_k + ε (N4); bits are flipped now and then."""
        coded = CodedImages.of(self.model, self.task.parts.train)
        bits = self.settings.code == "binary"
        scatter = _FLIPS if bits else _SCATTER
        return lambda count, classes, generator: coded.scattered(self.model, count, classes, generator, scatter, bits)
