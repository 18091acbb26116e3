r"""`ContrastiveEncoder` learns from images alone: two changed views of one image must find each other among many.

    h = encoder(x)                   a CNN or a ViT: what one keeps
    z = φ(h U + c) W + b             the projection, thrown away afterwards: it may forget what the views do not share
    ℓ = NT-Xent(z, z')               two views x, x' of each image, the others of the batch are what it is not

Chen et al. 2020 (SimCLR), §2. Notes: N3 §8.6.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.checks import expect_positive
from cutaway.blocks.dense.affine import Dense, Linear
from cutaway.models.base import Model, choose_spec
from cutaway.models.convolutional.cnn import CNN, CNNSpec
from cutaway.models.specs.architectures import ViTSpec
from cutaway.models.specs.plain_data import NamedSpec
from cutaway.models.transformers.vit import ViT
from cutaway.overriding import override


@dataclass(frozen=True)
class ContrastiveSpec(NamedSpec):
    """The encoder, a ``cnn`` or a ``vit``, neither with a head, and the sizes of the projection."""

    model: ClassVar[str] = "ContrastiveEncoder"

    cnn: CNNSpec | None = None
    vit: ViTSpec | None = None
    hidden: int = 128  # of the projection
    projected: int = 64  # numbers that are compared

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_positive(hidden=self.hidden, projected=self.projected)
        if (self.cnn is None) == (self.vit is None):
            given = "none" if self.cnn is None else "both"
            raise ValueError(f"a ContrastiveEncoder has one encoder, cnn or vit, got {given}; give one of them")
        if (self.cnn is not None and self.cnn.classes) or (self.vit is not None and self.vit.head is not None):
            raise ValueError("the encoder has no head, got one; build its spec with classes=0 (cnn) or None (vit)")

    @override
    def layers_and_width(self) -> tuple[int, int]:
        encoder = self.cnn or self.vit
        assert encoder is not None
        return encoder.layers_and_width()


class ContrastiveEncoder(Model):
    """z = ContrastiveEncoder(images), which is compared; ``represent`` gives h, which is kept.

    ``encoder`` is a CNN or a ViT.
    """

    kind: ClassVar[type[NamedSpec]] = ContrastiveSpec
    input_kind: ClassVar[str] = "images"
    tasks: ClassVar[tuple[str, ...]] = ("images",)
    spec: ContrastiveSpec

    def __init__(self, spec: ContrastiveSpec | None = None, **sizes: Any) -> None:
        super().__init__(choose_spec(spec, sizes, ContrastiveSpec))
        own = self.spec
        if own.cnn is not None:
            self.encoder: CNN | ViT = CNN(own.cnn)
            width = self.encoder.width
        else:
            assert own.vit is not None
            self.encoder, width = ViT(own.vit), own.vit.width
        self.project = nn.Sequential(Dense(width, own.hidden, nn.functional.relu), Linear(own.hidden, own.projected))

    @override
    def forward(self, images: Float[Tensor, "b c h w"]) -> Float[Tensor, "b z"]:
        return self.project(self.represent(images))

    @override
    def represent(self, images: Float[Tensor, "b c h w"]) -> Float[Tensor, "b d"]:
        """h: of a CNN its pooled feature maps, of a ViT the mean over the patches."""
        h = self.encoder(images)
        return h if h.ndim == 2 else h[:, 1:].mean(1)

    def embed(self, images: Float[Tensor, "b c h w"]) -> Float[Tensor, "b d"]:
        """A vector for each image: what `represent` gives."""
        return self.represent(images)

    def pixel_filters(self) -> Float[Tensor, "n c h w"]:
        """The filters over pixels that the encoder begins with."""
        return self.encoder.pixel_filters()

    @override
    def with_labels(self, labels: Sequence[str], each: str = "sequence", pooling: str | None = None) -> Model:
        """The encoder under a fresh head for these classes; a ViT's over the mean of the patches unless told else."""
        usual = None if self.spec.vit is None else "mean"
        return self.encoder.with_labels(labels, each, pooling or usual)


__all__ = ["ContrastiveEncoder", "ContrastiveSpec"]
