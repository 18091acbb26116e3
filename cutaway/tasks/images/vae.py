r"""The learner of the recipe `vae`: an encoder of Gaussians and a decoder, trained by a bound of log p(x).

    −ELBO = E_{z ~ q(z|x)} [−log p(x|z)] + KL(q(z|x) ‖ N(0, I))          cost: the KL times β

Where the likelihood is Bernoulli's, each pixel is drawn black or white by its grey value: anew for every batch of
training, once (seed 0) for images that are measured. Kingma and Welling 2014; the bound by several draws of the code is
that of Burda et al. 2016.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from cutaway.data.images.image_batches import every_image
from cutaway.data.images.image_data import ImageData, ImageRows
from cutaway.overriding import override
from cutaway.tasks.images.image_makers import ImageMaker, Sampler
from cutaway.tasks.images.latent_codes import CodedImages
from cutaway.tasks.images.pca_kmeans import as_rows, bits_alone, greys_alone, share_lost_as_bits
from cutaway.tasks.images.pixels import as_pixels

DRAWS = 100  # of the importance bound
_GREYS = 0.25  # share of variance lost by drawing pixels black or white, from which on greys are kept: MNIST has 0.16
_LOOKED_AT = 2000  # images, to choose a likelihood


def fitting_likelihood(data: ImageData) -> str:
    """The likelihood of pixels that suits images, by how much of their variance greys would lose as bits."""
    few_greys = data.shape[0] == 1 and share_lost_as_bits(as_rows(data.train, _LOOKED_AT)) < _GREYS
    return "bernoulli" if few_greys else "gaussian"


class Variational(ImageMaker):
    """A model with an ELBO."""

    @override
    def facts(self) -> dict[str, Any]:
        return {"summary": f"{self.task.parts.summary()}\n{self._likelihood_in_words()}"}

    def _likelihood_in_words(self) -> str:
        if self.model.spec.likelihood == "gaussian":
            return "likelihood: Gaussian, of grey or colour values (log densities, not comparable to those of bits)"
        if not self.settings.binarise:
            return "likelihood: Bernoulli, with grey values as probabilities (not comparable to ELBOs of bits)"
        return "likelihood: Bernoulli; pixels are drawn black or white by their grey value, once for evaluation"

    def as_seen(
        self, model: Any, images: Float[Tensor, "b c h w"], generator: torch.Generator | None = None
    ) -> Float[Tensor, "b c h w"]:
        """Images as the likelihood takes them: black and white where it is Bernoulli's."""
        if model.spec.likelihood != "bernoulli" or not self.settings.binarise:
            return images
        return (torch.rand(images.shape, generator=generator).to(images) < images).to(images.dtype)

    def once_seen(self, model: Any, rows: ImageRows) -> Iterator[Float[Tensor, "b c h w"]]:
        """Batches of images, black and white by draws of seed 0: the same whenever they are asked for."""
        generator = torch.Generator().manual_seed(0)
        for batch in every_image(rows):
            yield self.as_seen(model, as_pixels(model, batch.pixels), generator)

    @override
    def pixel_cost(self, model: Any, images: Float[Tensor, "b c h w"], labels: Int[Tensor, "b"]) -> Tensor:
        likelihood, kl = model.elbo_parts(self.as_seen(model, images))
        return (self.settings.kl_weight * kl - likelihood).mean()

    @override
    @torch.no_grad()
    def measure(self, model: Any, rows: ImageRows, draws: int = 1) -> dict[str, float]:
        """−ELBO (with β) and its parts, in nats an image: the mean of some ``draws`` of codes."""
        codes, weight = torch.Generator().manual_seed(1), self.settings.kl_weight
        sums = torch.zeros(2, dtype=torch.float64)
        for x in self.once_seen(model, rows):
            for _ in range(draws):
                sums += torch.stack([part.double().sum().cpu() for part in model.elbo_parts(x, codes)])
        likelihood, kl = (sums / (draws * len(rows))).tolist()
        found = {"loss": weight * kl - likelihood, "reconstruction": -likelihood, "kl": kl}
        return found if weight == 1 else found | {"elbo": likelihood - kl}

    @torch.no_grad()
    def test_bounds(self, rows: ImageRows) -> dict[str, float]:
        """A tighter bound of log p(x) than the ELBO, in nats an image."""
        generator, model = torch.Generator().manual_seed(2), self.model
        bounds = [model.importance_bound(x, DRAWS, generator).double().sum() for x in self.once_seen(model, rows)]
        return {f"importance_bound_{DRAWS}": sum(bound.item() for bound in bounds) / len(rows)}

    @override
    def baseline(self, rows: ImageRows) -> dict[str, Any]:
        """Pixels that know nothing of one another."""
        train, x = as_rows(self.task.parts.train), as_rows(rows, len(rows))
        if self.model.spec.likelihood == "gaussian":
            rule = "the mean image, with one spread for all pixels"
            return {"rule": rule, "metrics": {"loss": greys_alone(train, x)}}
        if self.settings.binarise:
            x = (torch.rand(x.shape, generator=torch.Generator().manual_seed(0)) < x).float()
        rule = "each pixel white as often as in training, whatever the others are"
        return {"rule": rule, "metrics": {"loss": bits_alone(train, x)}}

    @override
    def sampler(self, guidance: float | None, steps: int | None) -> Sampler:
        """Codes from N(0, I); of a class, from the Gaussian of the codes of its training images."""
        model: Any = self.model
        known: list[CodedImages] = []

        def draw(count: int, classes: Int[np.ndarray, "n"] | None, generator: torch.Generator) -> Tensor:
            if classes is None:
                return model.sample(count, generator)
            if not known:
                known.append(CodedImages.of(model, self.task.parts.train))
            codes = known[0].of_classes(classes, generator)
            return model.decode(codes.to(model.device)).clamp(0, 1)

        return draw
