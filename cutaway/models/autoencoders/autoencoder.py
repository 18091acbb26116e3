r"""`Autoencoder` squeezes an image through a narrow code and makes it anew.

    z = encode(x)            the code: ``codes`` numbers, or zeros and ones
    x̂ = decode(z)            trained so that ‖x̂ − x‖² is small

With one linear map on either side the best code is that of principal components: the decoder's rows span the same
subspace (Bourlard, Kamp 1988; Baldi, Hornik 1989). With one binary unit the two images that can be decoded are the
centroids of K-means with K = 2. Given noisy images and asked for the clean ones, it learns to denoise (Vincent et al.
2008). Hinton, Salakhutdinov 2006. Notes: N3 §2.3.4–2.3.5, §2.4.4.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from cutaway.blocks.checks import expect_choice, expect_positive, expect_width
from cutaway.blocks.dense.affine import Linear
from cutaway.blocks.generative.binary_codes import BinaryCode
from cutaway.inside.taps import Tap
from cutaway.models.autoencoders.code_classifier import CodeClassifier, classes_by_code
from cutaway.models.autoencoders.image_coders import CODES, ImageCoderSpec, ImageDecoder, ImageEncoder
from cutaway.models.base import Model, choose_spec
from cutaway.models.specs.plain_data import NamedSpec
from cutaway.overriding import override


@dataclass(frozen=True)
class AutoencoderSpec(ImageCoderSpec):
    """The images, the design of encoder and decoder, and the code between them."""

    model: ClassVar[str] = "Autoencoder"

    codes: int = 32  # numbers in a code
    code: str = "real"  # real | binary

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_positive(codes=self.codes)
        expect_choice("code", self.code, CODES)


class Autoencoder(Model):
    """images → codes → images: ``model(images)`` are the images made anew, ``encode`` and ``decode`` its halves.

    Pixels lie between 0 and 1; the mean image, which the model keeps, is taken off first and added last. Linear
    designs may decode values outside of 0 to 1, as PCA does. Tap: ``code`` (z).
    """

    kind: ClassVar[type[NamedSpec]] = AutoencoderSpec
    tasks: ClassVar[tuple[str, ...]] = ("images",)
    spec: AutoencoderSpec
    mean: Tensor

    def __init__(self, spec: AutoencoderSpec | None = None, **sizes: Any) -> None:
        super().__init__(choose_spec(spec, sizes, AutoencoderSpec))
        spec = self.spec
        self.register_buffer("mean", torch.zeros(spec.channels, *spec.image))
        self.encoder = ImageEncoder(spec)
        make = BinaryCode if spec.code == "binary" else Linear
        self.to_code = make(spec.features, spec.codes)
        self.code = Tap()
        self.decoder = ImageDecoder(spec, spec.codes)

    @override
    def forward(self, images: Float[Tensor, "b c h w"]) -> Float[Tensor, "b c h w"]:
        return self.decode(self.encode(images))

    def embed(self, images: Float[Tensor, "b c h w"]) -> Float[Tensor, "b z"]:
        """The code of each image."""
        return self.encode(images)

    def encode(self, images: Float[Tensor, "b c h w"]) -> Float[Tensor, "b z"]:
        """The codes of images."""
        z = self.to_code(self.encoder(images - self.mean))
        if self.code.live:
            z = self.code(z)
        return z

    def decode(self, codes: Float[Tensor, "b z"]) -> Float[Tensor, "b c h w"]:
        """The images of codes."""
        expect_width("codes", codes, self.spec.codes)
        return self.decoder(codes) + self.mean

    @override
    def with_labels(self, labels: Sequence[str], each: str = "sequence", pooling: str | None = None) -> CodeClassifier:
        """The encoder under a fresh head for these classes, which reads the code."""
        body = {name: x for name, x in self.state_dict().items() if not name.startswith("decoder.")}
        return classes_by_code(self.spec, self.spec.codes, self.spec.code, body, labels, each, pooling)

    @torch.no_grad()
    def start(self, images: Float[Tensor, "n c h w"]) -> None:
        """Takes the mean image from training images; a binary code starts with borders between them."""
        self.mean.copy_(images.mean(0))
        if isinstance(self.to_code, BinaryCode):
            self.to_code.start_from(self.encoder(images - self.mean))
            for parameter in self.decoder.out.parameters():  # a decoder that knows nothing must not move the borders
                torch.nn.init.zeros_(parameter)


__all__ = ["Autoencoder", "AutoencoderSpec"]
