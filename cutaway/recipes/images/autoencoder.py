r"""`autoencoder`: squeezes images through a narrow code and makes them anew."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.recipes.checks import expect_at_least
from cutaway.recipes.images.generative import GenerativeRecipe
from cutaway.recipes.settings import FIRST, MODEL, setting

if TYPE_CHECKING:
    import numpy as np
    from torch import Generator, Tensor, nn

    from cutaway.data.images.image_data import ImageData, ImageRows
    from cutaway.runs.run import Run

_SCATTER = 0.3  # of the noise that is added to codes to make new images, in spreads of the codes
_FLIPS = 0.1  # of bits, where codes are binary


@dataclass(frozen=True)
class AutoencoderRecipe(GenerativeRecipe):
    """Compresses images into a few numbers (or bits) and makes them anew; with --noise it learns to clean images.

    A linear one finds the subspace of principal components, one with a single bit the two centroids of K-means.
    """

    name: ClassVar[str] = "autoencoder"
    unit: ClassVar[str] = "squared error a pixel"
    quality: ClassVar[str] = (
        "Squared error 0.0107 a pixel on digits' test images with 8 numbers a code, after 26 s of one core; 8 "
        "principal components 0.0249."
    )
    meanings: ClassVar[dict[str, str]] = {
        "loss": "the squared error of a pixel between an image and what is made anew of its code",
        "error_of_noisy_images": "the squared error of a pixel if the noise is left as it is",
        "angle_to_principal_components": "the largest angle, in degrees, between what it can make and what they can",
    }

    codes: int = setting(8, FIRST)
    """numbers in a code, the bottleneck"""
    design: Literal["linear", "dense", "conv"] = setting("dense", FIRST)
    """of encoder and decoder: one linear map, dense layers, or convolutions"""
    code: Literal["real", "binary"] = setting("real", MODEL)
    """numbers, or zeros and ones"""
    noise: float = setting(0.0, FIRST)
    """spread of the noise that is added to images, which it then learns to take away; pixels lie in 0–1"""
    width: int = setting(256, MODEL)
    """units of a dense layer; of conv, channels of the first stage (try 16)"""
    depth: int = setting(2, MODEL)
    """dense layers of encoder and of decoder; of conv, residual blocks of a stage"""
    steps: int = 3000
    rate: float = 2e-3
    beta: float = 0.99
    weight_decay: float = 1e-4
    ema: float = 0.99

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_at_least(self, 1, "codes", "width", "depth")
        expect_at_least(self, 0, "noise")

    def build(self, data: "ImageData") -> "nn.Module":
        from cutaway.models.autoencoders.autoencoder import Autoencoder
        from cutaway.tasks.images.pca_kmeans import as_rows

        channels, height, width = data.shape
        model = Autoencoder(
            image=(height, width),
            channels=channels,
            design=self.design,
            width=self.width,
            depth=self.depth,
            codes=self.codes,
            code=self.code,
        )
        model.start(as_rows(data.train, 5000).view(-1, *data.shape))
        return model

    def cost(self, model: "nn.Module", images: "Tensor", labels: "Tensor") -> "Tensor":
        import torch

        given = images + self.noise * torch.randn_like(images) if self.noise else images
        return (model(given) - images).square().mean()

    def measure(self, model: "nn.Module", images: "ImageRows", draws: int = 1) -> dict[str, float]:
        """The squared error a pixel; of a denoising one that of cleaned images beside that of the noisy ones."""
        import torch

        from cutaway.data.images.image_batches import every_image
        from cutaway.tasks.images.pixels import as_pixels

        generator = torch.Generator().manual_seed(0)
        error = noisy = 0.0
        with torch.no_grad():
            for batch in every_image(images):
                x = as_pixels(model, batch.pixels)
                noise = self.noise * torch.randn(x.shape, generator=generator).to(x)
                error += (model(x + noise) - x).square().flatten(1).mean(1).sum().item()
                noisy += noise.square().flatten(1).mean(1).sum().item()
        found = {"loss": error / len(images)}
        return found | {"error_of_noisy_images": noisy / len(images)} if self.noise else found

    def naive(self, data: "ImageData", images: "ImageRows") -> dict[str, Any]:
        """Principal components, as many as there are codes; for bits, K-means with a centroid for each code."""
        import torch

        from cutaway.tasks.images.pca_kmeans import as_rows, centroids_of, nearest_of, principal_components

        train, x = as_rows(data.train), as_rows(images)
        generator = torch.Generator().manual_seed(0)
        given = x + self.noise * torch.randn(x.shape, generator=generator)
        if self.code == "binary" and 2**self.codes <= min(64, len(train)):
            rule = f"K-means, the nearest of {2**self.codes} centroids"
            rebuilt = nearest_of(given, centroids_of(train, 2**self.codes, self.seed))
        elif self.code == "binary":
            rule, rebuilt = "the mean image", train.mean(0).expand_as(x)
        else:
            components = principal_components(train, self.codes)
            rule, rebuilt = f"{len(components.directions)} principal components", components.rebuilt(given)
        return {"rule": rule, "metrics": {"loss": (rebuilt - x).square().mean().item()}}

    def at_the_end(self, model: Any, data: "ImageData") -> dict[str, float]:
        """Of a linear one, the largest angle between what it can make and the principal components, in degrees."""
        from cutaway.tasks.images.pca_kmeans import as_rows, principal_angles, principal_components

        if self.design != "linear" or self.code != "real":
            return {}
        components = principal_components(as_rows(data.train), self.codes)
        rows = model.decoder.out.weight.detach().cpu()
        return {"angle_to_principal_components": principal_angles(rows, components.directions).max().item()}

    def sampler_of(
        self, run: "Run", guidance: float | None, steps: int | None
    ) -> "Callable[[int, np.ndarray | None, Generator], Tensor]":
        """Codes of training images, moved a little and decoded: z_k + ε (N4); bits are flipped now and then."""
        from cutaway.tasks.images.latent_codes import CodedImages

        coded = CodedImages.of_training(run)
        return lambda count, classes, generator: coded.scattered(
            run.model, count, classes, generator, _FLIPS if self.code == "binary" else _SCATTER, self.code == "binary"
        )
