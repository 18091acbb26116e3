r"""`MaskedViT` learns from images alone: most patches are hidden, and it fills them in.

    x = [cls; x_v] + P                                visible patches v alone, a quarter of all
    z = norm(layers(x))                               the encoder: a ViT, which is what one keeps
    y = [z W + b at v; the mask vector elsewhere] + Q
    x̂ = norm(layers(y)) V + c                         a small decoder fills in the pixels of every patch

As the encoder never meets the mask vector, it sees in training what it sees later: plain patches; and it works on a
quarter of them, so that a step costs about a third. That is why MAE (He et al. 2022) rather than SimMIM (Xie et al.
2022), whose encoder reads all places. Notes: N3 §8.4.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from einops import rearrange
from jaxtyping import Float, Int
from torch import Tensor, nn

from cutaway.blocks.checks import expect_positive
from cutaway.blocks.dense.affine import Linear
from cutaway.blocks.embeddings.hidden_patches import hidden_places, put_places, take_places
from cutaway.blocks.embeddings.patches import cut_patches
from cutaway.blocks.positions.learned import LearnedPosition
from cutaway.models.base import Model, choose_spec, with_head
from cutaway.models.specs.architectures import HeadSpec, ViTSpec
from cutaway.models.specs.plain_data import NamedSpec
from cutaway.models.transformers.construction import (
    build_encoder_layer,
    build_last_norm,
    initialise_transformer,
    run_layer,
)
from cutaway.models.transformers.vit import ViT
from cutaway.overriding import override


@dataclass(frozen=True)
class MaskedViTSpec(NamedSpec):
    """The encoder, a ViT without a head, and the size of the decoder."""

    model: ClassVar[str] = "MaskedViT"

    encoder: ViTSpec
    width: int = 48  # of the decoder
    depth: int = 1
    heads: int = 4
    standardised: bool = False  # fills in (p − mean p) / spread p in place of the pixels

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_positive(width=self.width, depth=self.depth, heads=self.heads)
        if self.encoder.head is not None:
            raise ValueError("the encoder of a MaskedViT has no head, got one; build its spec with classes=None")
        if self.width % self.heads:
            raise ValueError(
                f"width must be a multiple of heads, got width={self.width}, heads={self.heads} for the decoder; try "
                f"width={self.heads * max(1, round(self.width / self.heads))}"
            )

    @override
    def layers_and_width(self) -> tuple[int, int]:
        return self.encoder.depth + self.depth, self.encoder.width

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of patches."""
        return self.encoder.image[0] // self.encoder.patch, self.encoder.image[1] // self.encoder.patch

    @property
    def patches(self) -> int:
        return self.grid[0] * self.grid[1]


class MaskedViT(Model):
    """x̂ = MaskedViT(images, visible): the pixels of all patches (b, p, n), from those at the places ``visible`` (b, v).

    Without ``visible`` it sees all of them. ``fill`` gives whole images, ``represent`` the vectors that one pretrains
    for: the mean over the patches. ``encoder`` is a ViT.
    """

    kind: ClassVar[type[NamedSpec]] = MaskedViTSpec
    input_kind: ClassVar[str] = "images"
    tasks: ClassVar[tuple[str, ...]] = ("images",)
    spec: MaskedViTSpec

    def __init__(self, spec: MaskedViTSpec | None = None, **sizes: Any) -> None:
        super().__init__(choose_spec(spec, sizes, MaskedViTSpec))
        own, seen = self.spec, self.spec.encoder
        small = ViTSpec.vit(
            image=seen.image, patch=seen.patch, channels=seen.channels, width=own.width, depth=own.depth,
            heads=own.heads,
        )  # fmt: skip
        self.encoder = ViT(seen)
        self.to_decoder = Linear(seen.width, own.width)
        self.hidden = nn.Parameter(torch.zeros(own.width))
        self.position = LearnedPosition(own.patches, own.width)
        self.decoder = nn.ModuleList(build_encoder_layer(small) for _ in range(own.depth))
        self.norm = build_last_norm(small)
        self.out = Linear(own.width, seen.channels * seen.patch**2)
        for part in (self.to_decoder, self.decoder, self.out):
            initialise_transformer(part, own.depth)
        if not self.hidden.is_meta:
            nn.init.normal_(self.hidden, std=0.02)

    @override
    def forward(
        self, images: Float[Tensor, "b c H W"], visible: Int[Tensor, "b v"] | None = None
    ) -> Float[Tensor, "b p n"]:
        if visible is None:
            visible = torch.arange(self.spec.patches, device=images.device).expand(len(images), -1)
        z = self.encode(images, visible)[:, 1:]
        y = self.position(put_places(self.to_decoder(z), visible, self.hidden, self.spec.patches))
        for layer in self.decoder:
            y = layer(y)
        return self.out(y if self.norm is None else self.norm(y))

    def encode(
        self, images: Float[Tensor, "b c H W"], visible: Int[Tensor, "b v"] | None = None
    ) -> Float[Tensor, "b t w"]:
        """The hidden states of CLS and the visible patches: z."""
        if visible is None:
            return self.encoder.encode(images)
        encoder, spec = self.encoder, self.spec.encoder
        x = encoder.patches(images if encoder.scale is None else encoder.scale(images))
        x = encoder.position(torch.cat([encoder.cls.expand(len(x), -1, -1), x], 1))
        x = torch.cat([x[:, :1], take_places(x[:, 1:], visible)], 1)
        for block in encoder.blocks:
            x = run_layer(block, spec.checkpointing, x, window=spec.attention.window)
        return x if encoder.norm is None else encoder.norm(x)

    @override
    def represent(self, images: Float[Tensor, "b c H W"]) -> Float[Tensor, "b w"]:
        """The mean over all patches' hidden states."""
        return self.encode(images)[:, 1:].mean(1)

    def fill(self, images: Float[Tensor, "b c H W"], visible: Int[Tensor, "b v"]) -> Float[Tensor, "b c H W"]:
        """The images with their hidden patches filled in.

        Where the model fills in standardised patches, which have no brightness of their own, each is given the mean and
        spread that all visible pixels of the image have.
        """
        filled, pixels = self(images, visible), cut_patches(images, self.spec.encoder.patch)
        if self.spec.standardised:
            seen = take_places(pixels, visible).flatten(1)
            filled = filled * seen.std(1, correction=0)[:, None, None] + seen.mean(1)[:, None, None]
        hidden = hidden_places(visible, self.spec.patches)[:, :, None]
        return self.as_images(torch.where(hidden, filled, pixels))

    def as_images(self, patches: Float[Tensor, "b p n"]) -> Float[Tensor, "b c H W"]:
        """Pixels of patches, put together."""
        side, (rows, _) = self.spec.encoder.patch, self.spec.grid
        return rearrange(patches, "b (i j) (c h w) -> b c (i h) (j w)", i=rows, h=side, w=side)

    def embed(self, images: Float[Tensor, "b c H W"]) -> Float[Tensor, "b w"]:
        """A vector for each image: what `represent` gives."""
        return self.represent(images)

    def pixel_filters(self) -> Float[Tensor, "n c h w"]:
        """The filters over pixels that the encoder begins with."""
        return self.encoder.pixel_filters()

    @override
    def with_labels(self, labels: Sequence[str], each: str = "sequence", pooling: str | None = None) -> ViT:
        """The encoder, a ViT, under a fresh head for these classes, over the mean of the patches unless told else."""
        if each != "sequence":
            raise ValueError(f"a ViT gives an image one class, got each={each!r}; leave it out")
        return with_head(self.encoder, HeadSpec("classes", labels=tuple(labels), pooling=pooling or "mean"))


__all__ = ["MaskedViT", "MaskedViTSpec"]
