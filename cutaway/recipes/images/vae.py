r"""`vae`: a variational autoencoder, whose codes can be drawn, walked through and mixed."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from cutaway.overriding import override
from cutaway.recipes.checks import expect_at_least
from cutaway.recipes.images.generative import GenerativeRecipe
from cutaway.recipes.settings import FIRST, MODEL, setting
from cutaway.tasks.abilities.ability import Offer

if TYPE_CHECKING:
    from torch import nn

    from cutaway.data.images.image_data import ImageData
    from cutaway.tasks.images.vae import Variational


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
    task_kind: ClassVar[str] = "images/reconstruct"
    unit: ClassVar[str] = "nats an image"
    quality: ClassVar[str] = (
        "On MNIST, black and white by chance, an ELBO of −89.6 nats on the test images (each pixel alone −206), after "
        "--steps 10000 --rate 3e-3 --ema 0.999, 8 minutes of one core, one seed. `python benchmarks/run.py generative`."
    )
    meanings: ClassVar[dict[str, str]] = {
        "reconstruction": "−log p(image | code), what the decoder cannot tell from the code",
        "kl": "the nats that codes tell of their images",
        "loss": "both together (the KL times β), with β = 1 a bound from above of −log p(image)",
        "importance_bound_100": "a tighter bound of log p(image) than −loss, by 100 draws of the code",
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

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_at_least(self, 1, "latents", "width", "depth")
        expect_at_least(self, 0, "kl_weight")

    @override
    def new_model(self, data: "ImageData") -> "nn.Module":
        from cutaway.models.autoencoders.vae import VAE
        from cutaway.tasks.images.vae import fitting_likelihood

        channels, height, width = data.shape
        return VAE(
            image=(height, width),
            channels=channels,
            design=self.design,
            width=self.width,
            depth=self.depth,
            latents=self.latents,
            likelihood=fitting_likelihood(data) if self.likelihood == "auto" else self.likelihood,
            shared_scale=self.shared_scale,
        )

    @override
    def learner_kind(self) -> "type[Variational]":
        from cutaway.tasks.images.vae import Variational

        return Variational
