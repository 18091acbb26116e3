r"""ViT: a transformer encoder over the patches of an image.

    x = [cls; patches W] + P
    x ← x + attention(norm(x));  x ← x + mlp(norm(x))           depth times
    logits = norm(x)_cls W + b

Dosovitskiy et al. 2021. Notes: N3 §6.5.
"""

from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.blocks.dense.activations import find_activation
from cutaway.blocks.dense.affine import Dense
from cutaway.blocks.embeddings.patches import PatchEmbedding
from cutaway.blocks.norms.channels import ChannelScale
from cutaway.blocks.positions.learned import LearnedPosition
from cutaway.models.base import Model, choose_spec
from cutaway.models.specs.architectures import NamedSpec, ViTSpec
from cutaway.models.transformers.construction import (
    build_encoder_layer,
    build_last_norm,
    drop,
    initialise_transformer,
    run_layer,
)
from cutaway.models.transformers.output_heads import build_head
from cutaway.overriding import override


class ViT(Model):
    """logits = ViT(images), images (batch, channels, height, width); the hidden states if the spec has no head.

    Pooling other than by CLS is over the patches alone. With ``spec.scaled``, images are pixels from 0 to 1 and the
    model standardises them by the mean and spread that it keeps.
    """

    kind: ClassVar[type[NamedSpec]] = ViTSpec
    input_kind: ClassVar[str] = "images"
    tasks: ClassVar[tuple[str, ...]] = ("images",)
    tuned_by: ClassVar[str] = "lora"
    spec: ViTSpec

    def __init__(self, spec: ViTSpec | None = None, **sizes: Any) -> None:
        super().__init__(choose_spec(spec, sizes, ViTSpec.vit))
        spec = self.spec
        patches = (spec.image[0] // spec.patch) * (spec.image[1] // spec.patch)
        self.scale = ChannelScale(spec.channels) if spec.scaled else None
        self.patches = PatchEmbedding(spec.patch, spec.channels, spec.width)
        self.cls = nn.Parameter(torch.zeros(1, 1, spec.width))
        self.position = LearnedPosition(patches + 1, spec.width)
        self.blocks = nn.ModuleList(build_encoder_layer(spec) for _ in range(spec.depth))
        self.norm = build_last_norm(spec)
        pooled = find_activation(spec.pooler_activation)
        self.pooler = Dense(spec.width, spec.width, pooled) if spec.pooler else None
        self.head = build_head(spec, "cls")
        initialise_transformer(self, spec.depth)

    @override
    def forward(self, images: Float[Tensor, "b c H W"]) -> Float[Tensor, "b ..."]:
        return self.encode(images) if self.head is None else self.head.decide(self.represent(images))

    @override
    def represent(self, images: Float[Tensor, "b c H W"]) -> Float[Tensor, "b *t w"]:
        head: Any = self.head
        by_cls = self.spec.head is not None and self.spec.head.pooling in (None, "cls")
        states: list[Tensor] | None = [] if head.wants_layers else None
        z = self.encode(images, states)
        if states is not None:
            return head.read([state[:, 1:] for state in states])
        return head.read(z if by_cls else z[:, 1:])

    def encode(self, images: Float[Tensor, "b c H W"], states: list[Tensor] | None = None) -> Float[Tensor, "b t w"]:
        """The hidden states of CLS and all patches, after the final norm.

        ``states``, an empty list, is given those of all layers.
        """
        if images.ndim != 4:
            raise ValueError(
                f"images must have shape (batch, channels, height, width), got {tuple(images.shape)}; "
                "for one image use images[None]"
            )
        if tuple(images.shape[-2:]) != self.spec.image:
            raise ValueError(
                f"images must be {self.spec.image[0]} × {self.spec.image[1]} pixels, got {tuple(images.shape[-2:])}; "
                "resize them, or build the model for their size"
            )
        x = self.patches(images if self.scale is None else self.scale(images))
        x = self.position(torch.cat([self.cls.expand(len(x), -1, -1), x], 1))
        x = drop(x, self.spec.dropout, self.training)
        for block in self.blocks:
            if states is not None:
                states.append(x)
            x = run_layer(block, self.spec.checkpointing, x, window=self.spec.attention.window)
        x = x if self.norm is None else self.norm(x)
        if states is not None:
            states.append(x)
        return x

    def embed(self, images: Float[Tensor, "b c H W"]) -> Float[Tensor, "b w"]:
        """The vector of each image: the hidden state of CLS, or the mean of the patches if the head takes that."""
        z = self.encode(images)
        by_cls = self.spec.head is None or self.spec.head.pooling in (None, "cls")
        return z[:, 0] if by_cls else z[:, 1:].mean(1)

    @torch.no_grad()
    def without_scale(self) -> "ViT":
        """The same function with its scale folded into the patches' map: (x − μ)/σ · W + b = x · W/σ + (b − μ/σ · W).

        It is what checkpoints of other programs can hold.
        """
        if self.scale is None:
            return self
        folded = ViT(self.spec.but(scaled=False)).to(self.device, next(self.parameters()).dtype)
        state = {name: x for name, x in self.state_dict().items() if not name.startswith("scale.")}
        # a patch is flattened with its channels first
        mean, spread = (x.repeat_interleave(self.spec.patch**2) for x in (self.scale.mean, self.scale.spread))
        weight = state["patches.map.weight"] / spread[:, None]
        state |= {"patches.map.weight": weight, "patches.map.bias": state["patches.map.bias"] - mean @ weight}
        folded.load_state_dict(state)
        return folded.train(self.training)

    def pixel_filters(self) -> Float[Tensor, "n c h w"]:
        """The filters over pixels that the map of patches is made of."""
        side, channels = self.spec.patch, self.spec.channels
        return self.patches.map.weight.detach().T.reshape(-1, channels, side, side)

    def pool(self, z: Float[Tensor, "b t w"]) -> Float[Tensor, "b w"]:
        """The CLS vector through the pooler: φ(z_cls W + b)."""
        if self.pooler is None:
            raise ValueError("this model has no pooler; use z[:, 0], or cutaway.blocks.pool_mean over the patches")
        return self.pooler(z[:, 0])
