r"""`CodeClassifier` gives an image a class by its code: an encoder that learned from images alone, and a head.

    z = encode(x)              the encoder of an autoencoder, or the means of a VAE; the decoder is thrown away
    logits = z W + b

Images without labels teach the encoder, few labels are enough for the head. Hinton, Salakhutdinov 2006. Notes: N3 §8.3.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.checks import expect_choice, expect_positive
from cutaway.blocks.dense.affine import Linear
from cutaway.blocks.generative.binary_codes import BinaryCode
from cutaway.blocks.losses.tasks import Head, Task
from cutaway.inside.taps import Tap
from cutaway.models.autoencoders.image_coders import CODES, ImageCoderSpec, ImageEncoder
from cutaway.models.base import Model, choose_spec
from cutaway.models.specs.plain_data import NamedSpec
from cutaway.overriding import override


@dataclass(frozen=True)
class CodeClassifierSpec(ImageCoderSpec):
    """The images, the design of the encoder, its code, and how many classes there are."""

    model: ClassVar[str] = "CodeClassifier"

    codes: int = 32  # numbers in a code
    code: str = "real"  # real | binary
    classes: int = 2

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_positive(codes=self.codes)
        expect_choice("code", self.code, CODES)
        Task("multi-class", self.classes)


class CodeClassifier(Model):
    """logits = CodeClassifier(images), images (batch, channels, height, width) from 0 to 1. Tap: ``code`` (z)."""

    kind: ClassVar[type[NamedSpec]] = CodeClassifierSpec
    input_kind: ClassVar[str] = "images"
    tasks: ClassVar[tuple[str, ...]] = ("images",)
    layer_order: ClassVar[tuple[str, ...]] = ("encoder.stages.*.*", "encoder.dense.layers.*", "to_code")
    lora_targets: ClassVar[tuple[str, ...]] = ("encoder", "to_code")
    spec: CodeClassifierSpec
    mean: Tensor

    def __init__(self, spec: CodeClassifierSpec | None = None, **sizes: Any) -> None:
        super().__init__(choose_spec(spec, sizes, CodeClassifierSpec))
        spec = self.spec
        self.register_buffer("mean", torch.zeros(spec.channels, *spec.image))
        self.encoder = ImageEncoder(spec)
        self.to_code: nn.Module = (BinaryCode if spec.code == "binary" else Linear)(spec.features, spec.codes)
        self.code = Tap()
        self.head = Head(spec.codes, Task("multi-class", spec.classes))

    @override
    def forward(self, images: Float[Tensor, "b c h w"]) -> Float[Tensor, "b classes"]:
        return self.decide(self.represent(images))

    @override
    def represent(self, images: Float[Tensor, "b c h w"]) -> Float[Tensor, "b z"]:
        """The codes of images."""
        z = self.to_code(self.encoder(images - self.mean))
        if self.code.live:
            z = self.code(z)
        return z

    @override
    def decide(self, z: Float[Tensor, "b z"], mask: Tensor | None = None) -> Float[Tensor, "b classes"]:
        return self.head(z)

    def embed(self, images: Float[Tensor, "b c h w"]) -> Float[Tensor, "b z"]:
        """The code of each image."""
        return self.represent(images)

    @override
    def with_labels(
        self, labels: Sequence[str], each: str = "sequence", pooling: str | None = None
    ) -> "CodeClassifier":
        """The same encoder under a fresh head for these classes."""
        body = {name: x for name, x in self.state_dict().items() if not name.startswith("head.")}
        return classes_by_code(self.spec, self.spec.codes, self.spec.code, body, labels, each, pooling)


def classes_by_code(
    coder: ImageCoderSpec,
    codes: int,
    code: str,
    body: dict[str, Tensor],
    labels: Sequence[str],
    each: str = "sequence",
    pooling: str | None = None,
) -> CodeClassifier:
    """A classifier on an encoder: ``body`` are its tensors, which are shared, by their names here."""
    if each != "sequence" or pooling:
        raise ValueError(
            f"an autoencoder gives an image one code, got each={each!r}, pooling={pooling!r}; leave both out"
        )
    own = {field.name: getattr(coder, field.name) for field in fields(ImageCoderSpec)}
    new = CodeClassifier(CodeClassifierSpec(**own, codes=codes, code=code, classes=len(labels)))
    like = next(iter(body.values()))
    new.to(like.device, like.dtype).load_state_dict(body, strict=False, assign=True)
    return new


__all__ = ["CodeClassifier", "CodeClassifierSpec", "classes_by_code"]
