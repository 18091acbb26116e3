r"""`autoencoder`: squeezes images through a narrow code and makes them anew."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from cutaway.overriding import override
from cutaway.recipes.checks import expect_at_least
from cutaway.recipes.images.generative import GenerativeRecipe
from cutaway.recipes.settings import FIRST, MODEL, setting

if TYPE_CHECKING:
    from torch import nn

    from cutaway.data.images.image_data import ImageData
    from cutaway.tasks.images.autoencoder import Reconstructor


@dataclass(frozen=True)
class AutoencoderRecipe(GenerativeRecipe):
    """Compresses images into a few numbers (or bits) and makes them anew; with --noise it learns to clean images.

    A linear one finds the subspace of principal components, one with a single bit the two centroids of K-means.
    """

    name: ClassVar[str] = "autoencoder"
    task_kind: ClassVar[str] = "images/reconstruct"
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

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_at_least(self, 1, "codes", "width", "depth")
        expect_at_least(self, 0, "noise")

    @override
    def new_model(self, data: "ImageData") -> "nn.Module":
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

    @override
    def learner_kind(self) -> "type[Reconstructor]":
        from cutaway.tasks.images.autoencoder import Reconstructor

        return Reconstructor
