r"""`vae`: a variational autoencoder, whose codes can be drawn, walked through and mixed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.recipes.checks import expect_at_least
from cutaway.recipes.images.generative import GenerativeRecipe
from cutaway.recipes.settings import FIRST, MODEL, setting
from cutaway.tasks.abilities.ability import Offer

if TYPE_CHECKING:
    import numpy as np
    from torch import Generator, Tensor, nn

    from cutaway.data.images.image_data import ImageData, ImageRows
    from cutaway.runs.run import Run

_DRAWS = 100  # of the importance bound
_GREYS = 0.25  # share of variance lost by drawing pixels black or white, from which on greys are kept: MNIST has 0.16


@dataclass(frozen=True)
class VAERecipe(GenerativeRecipe):
    """Learns codes that look as if drawn from a normal distribution, so that new ones can be drawn and decoded.

    Images that are nearly black and white, as scanned writing is, become so: each pixel is drawn by its grey value,
    anew for every batch in training, once for validation and test (seed 0). Then the bounds in the report are log
    probabilities of whole images, in nats. ELBOs of grey values (--no-binarise, or --likelihood gaussian, which is
    for images with many greys and for colour) are not comparable to these.
    """

    name: ClassVar[str] = "vae"
    abilities: ClassVar[tuple[Offer, ...]] = (Offer("test"),)
    unit: ClassVar[str] = "nats an image"
    quality: ClassVar[str] = (
        "On MNIST, black and white by chance, an ELBO of −89.6 nats on the test images (each pixel alone −206), after "
        "--steps 10000 --rate 3e-3 --ema 0.999, 8 minutes of one core, one seed. `python benchmarks/run.py generative`."
    )
    meanings: ClassVar[dict[str, str]] = {
        "reconstruction": "−log p(image | code), what the decoder cannot tell from the code",
        "kl": "the nats that codes tell of their images",
        "loss": "both together (the KL times β), with β = 1 a bound from above of −log p(image)",
        f"importance_bound_{_DRAWS}": f"a tighter bound of log p(image) than −loss, by {_DRAWS} draws of the code",
    }

    latents: int = setting(20, FIRST)
    """numbers in a code"""
    kl_weight: float = setting(1.0, FIRST)
    """β, the weight of the KL: above 1 codes are more normal and images less exact"""
    design: Literal["linear", "dense", "conv"] = setting("conv", FIRST)
    """of encoder and decoder: one linear map, dense layers, or convolutions"""
    likelihood: Literal["auto", "bernoulli", "gaussian"] = setting("auto", MODEL)
    """of pixels: bernoulli (black or white) or gaussian (numbers); auto is the first where few pixels are grey"""
    binarise: bool = setting(True, MODEL)
    """draw grey pixels black or white; without it grey values stand for probabilities"""
    shared_scale: bool = setting(False, MODEL)
    """one spread of codes for all images"""
    width: int = setting(16, MODEL)
    """channels of the first stage; of dense, units of a layer (try 512)"""
    depth: int = setting(1, MODEL)
    """residual blocks of a stage; of dense, layers of encoder and of decoder"""
    steps: int = 1500
    batch: int = 64
    rate: float = 2e-3
    beta: float = 0.99
    weight_decay: float = 1e-2
    warmup: int = 100
    clip: float = 50.0
    ema: float = 0.998

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_at_least(self, 1, "latents", "width", "depth")
        expect_at_least(self, 0, "kl_weight")

    def build(self, data: "ImageData") -> "nn.Module":
        from cutaway.models.autoencoders.vae import VAE

        channels, height, width = data.shape
        return VAE(
            image=(height, width),
            channels=channels,
            design=self.design,
            width=self.width,
            depth=self.depth,
            latents=self.latents,
            likelihood=self.likelihood_for(data),
            shared_scale=self.shared_scale,
        )

    def likelihood_for(self, data: "ImageData") -> str:
        """The likelihood that was asked for; else by how much of the images' variance greys would lose as bits."""
        from cutaway.tasks.images.pca_kmeans import as_rows, share_lost_as_bits

        if self.likelihood != "auto":
            return self.likelihood
        few_greys = data.shape[0] == 1 and share_lost_as_bits(as_rows(data.train, 2000)) < _GREYS
        return "bernoulli" if few_greys else "gaussian"

    def said_before(self, data: "ImageData") -> str:
        chosen = self.likelihood_for(data)
        if chosen == "gaussian":
            return "likelihood: Gaussian, of grey or colour values (log densities, not comparable to those of bits)"
        if not self.binarise:
            return "likelihood: Bernoulli, with grey values as probabilities (not comparable to ELBOs of bits)"
        return "likelihood: Bernoulli; pixels are drawn black or white by their grey value, once for evaluation"

    def as_seen(self, model: Any, images: "Tensor", generator: "Generator | None" = None) -> "Tensor":
        """Images as the likelihood takes them: black and white where it is Bernoulli's."""
        import torch

        if model.spec.likelihood != "bernoulli" or not self.binarise:
            return images
        return (torch.rand(images.shape, generator=generator).to(images) < images).to(images.dtype)

    def cost(self, model: Any, images: "Tensor", labels: "Tensor") -> "Tensor":
        likelihood, kl = model.elbo_parts(self.as_seen(model, images))
        return (self.kl_weight * kl - likelihood).mean()

    def measure(self, model: Any, images: "ImageRows", draws: int = 1) -> dict[str, float]:
        """−ELBO (with β) and its parts, in nats an image: the mean of some ``draws`` of codes."""
        import torch

        codes = torch.Generator().manual_seed(1)
        sums = torch.zeros(2, dtype=torch.float64)
        with torch.no_grad():
            for x in self.once_seen(model, images):
                for _ in range(draws):
                    sums += torch.stack([part.double().sum().cpu() for part in model.elbo_parts(x, codes)])
        likelihood, kl = (sums / (draws * len(images))).tolist()
        found = {"loss": self.kl_weight * kl - likelihood, "reconstruction": -likelihood, "kl": kl}
        return found if self.kl_weight == 1 else found | {"elbo": likelihood - kl}

    def once_seen(self, model: Any, images: "ImageRows") -> Any:
        """Batches of images, black and white by draws of seed 0: the same whenever they are asked for."""
        import torch

        from cutaway.data.images.image_batches import every_image
        from cutaway.tasks.images.pixels import as_pixels

        generator = torch.Generator().manual_seed(0)
        for batch in every_image(images):
            yield self.as_seen(model, as_pixels(model, batch.pixels), generator)

    def importance_bound(self, model: Any, images: "ImageRows", draws: int = _DRAWS) -> float:
        """A tighter bound of log p(x) than the ELBO, in nats an image."""
        import torch

        generator = torch.Generator().manual_seed(2)
        with torch.no_grad():
            total = sum(
                model.importance_bound(x, draws, generator).double().sum().item() for x in self.once_seen(model, images)
            )
        return total / len(images)

    def naive(self, data: "ImageData", images: "ImageRows") -> dict[str, Any]:
        """Pixels that know nothing of one another."""
        import torch

        from cutaway.tasks.images.pca_kmeans import as_rows, bits_alone, greys_alone

        train, x = as_rows(data.train), as_rows(images, len(images))
        if self.likelihood_for(data) == "gaussian":
            rule = "the mean image, with one spread for all pixels"
            return {"rule": rule, "metrics": {"loss": greys_alone(train, x)}}
        if self.binarise:
            x = (torch.rand(x.shape, generator=torch.Generator().manual_seed(0)) < x).float()
        rule = "each pixel white as often as in training, whatever the others are"
        return {"rule": rule, "metrics": {"loss": bits_alone(train, x)}}

    def test_metrics(self, run: "Run") -> dict[str, float]:
        images = self.dataset(run).open_test()
        found = super().test_metrics(run)
        bound = self.importance_bound(run.model, images)
        return found | {f"importance_bound_{_DRAWS}": bound}

    def sampler_of(
        self, run: "Run", guidance: float | None, steps: int | None
    ) -> "Callable[[int, np.ndarray | None, Generator], Tensor]":
        """Codes from N(0, I); of a class, from the Gaussian of the codes of its training images."""
        from cutaway.tasks.images.latent_codes import CodedImages

        model: Any = run.model
        known: list[CodedImages] = []

        def draw(count: int, classes: "np.ndarray | None", generator: "Generator") -> "Tensor":
            if classes is None:
                return model.sample(count, generator)
            if not known:
                known.append(CodedImages.of_training(run))
            codes = known[0].of_classes(classes, generator)
            return model.decode(codes.to(model.device)).clamp(0, 1)

        return draw
