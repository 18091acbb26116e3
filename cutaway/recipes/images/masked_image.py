r"""`masked-image`: learns from images without labels, by filling in patches that are hidden from it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from cutaway.overriding import override
from cutaway.recipes.checks import expect_at_least, expect_heads
from cutaway.recipes.images.pretraining import ImagePretrainingRecipe
from cutaway.recipes.settings import FIRST, MODEL, setting
from cutaway.training.augmentation.image_changes import MIXTURES, read_changes
from cutaway.training.optimizers.names import Optimizer

if TYPE_CHECKING:
    from torch import nn

    from cutaway.data.images.image_data import ImageData
    from cutaway.tasks.images.masked_patches import PatchFiller


@dataclass(frozen=True)
class MaskedImageRecipe(ImagePretrainingRecipe):
    """Learns from images without labels: a vision transformer sees a few patches of each and fills in the others.

    Its encoder is a `vit`: `cutaway tune RUN --data labelled/` gives it classes, `cutaway export` makes a checkpoint of
    it. The decoder, which fills in, is small and is thrown away (He et al. 2022).
    """

    name: ClassVar[str] = "masked-image"
    task_kind: ClassVar[str] = "images/masked_patches"
    quality: ClassVar[str] = (
        "The default run, on 8 × 8 digits: squared error 0.056 a hidden pixel of validation images (the mean image: "
        "0.074). A linear map tells 89.4 % of them apart by its frozen vectors (untrained ones 86.7 %, pixels 94.4 %). "
        "20,000 images of MNIST (--hidden 0.75 --steps 800, 97 s of one core), then 100 labels: 73.6 % by a linear map "
        "on its vectors (pixels 71.7 %), 76.4 % after tuning all weights (one draw of the labels), 28 % for the same "
        "network from scratch (benchmarks/pretrained_images.py)."
    )
    unit: ClassVar[str] = "squared error a hidden pixel"
    meanings: ClassVar[dict[str, str]] = {
        "loss": "the squared error of a pixel that was hidden; pixels lie from 0 to 1",
        "probe_accuracy": "the share of images whose class a linear map tells from the frozen encoder's vectors",
    }

    hidden: float = setting(0.6, FIRST)
    """share of the patches that are hidden"""
    patch: int = setting(0, FIRST)
    """pixels on the side of a patch, a divisor of the image's sides; 0 for about a seventh of the side"""
    width: int = setting(64, FIRST)
    """of the encoder's residual stream"""
    depth: int = setting(4, FIRST)
    """layers of the encoder"""
    heads: int = 4
    """attention heads"""
    decoder_width: int = setting(48, MODEL)
    """of the decoder's residual stream"""
    decoder_depth: int = setting(1, MODEL)
    """layers of the decoder"""
    standardise: bool = setting(False, MODEL)
    """fill in pixels standardised patch by patch, in place of the pixels themselves"""
    augment: str = setting("shift:1", MODEL, "CHANGES")
    """changes of the images in training: shift, flip, rotate, affine, crop, colour, cutout; as in shift:2,rotate:10"""

    steps: int = 600
    """optimizer steps"""
    optimizer: Optimizer = "muon"
    """rule that turns gradients into steps"""
    rate: float = 3e-3
    """full learning rate of what Muon does not train"""
    weight_decay: float = 0.05
    """pull of the matrices towards zero"""
    evaluate_every: int = 200
    """steps between evaluations"""

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_at_least(self, 1, "width", "depth", "heads", "decoder_width", "decoder_depth")
        expect_at_least(self, 0, "patch")
        expect_heads(self)
        if not 0 < self.hidden < 1:
            raise ValueError(f"hidden must be above 0 and below 1, got {self.hidden}; try hidden=0.6")
        if self.decoder_width % self.heads:
            near = self.heads * max(1, round(self.decoder_width / self.heads))
            raise ValueError(
                f"decoder_width must be a multiple of heads, got decoder_width={self.decoder_width}, "
                f"heads={self.heads}; try decoder_width={near}"
            )
        expect_unmixed(self.augment)

    def patch_of(self, data: "ImageData") -> int:
        """The side of a patch of these images."""
        from cutaway.tasks.images.scales import expect_patch, fitting_patch

        height, width = data.shape[1:]
        patch = self.patch or fitting_patch(height, width, across=7)
        expect_patch(patch, height, width)
        if patch == max(height, width):
            raise ValueError(
                f"an image needs two patches or more to hide some, got patch={patch} for {height} × {width} pixels; "
                "use smaller patches"
            )
        return patch

    @override
    def new_model(self, data: "ImageData") -> "nn.Module":
        from cutaway.models.pretraining.masked_vit import MaskedViT, MaskedViTSpec
        from cutaway.models.specs.architectures import ViTSpec
        from cutaway.tasks.images.scales import channel_statistics

        channels, height, width = data.shape
        encoder = ViTSpec.vit(
            image=(height, width),
            patch=self.patch_of(data),
            channels=channels,
            width=self.width,
            depth=self.depth,
            heads=self.heads,
        )
        spec = MaskedViTSpec(
            encoder.but(scaled=True), self.decoder_width, self.decoder_depth, self.heads, self.standardise
        )
        model = MaskedViT(spec)
        assert model.encoder.scale is not None
        model.encoder.scale.fit(*channel_statistics(data.train))
        return model

    @override
    def learner_kind(self) -> "type[PatchFiller]":
        from cutaway.tasks.images.masked_patches import PatchFiller

        return PatchFiller

    @override
    def smaller(self) -> str:
        return f"lower batch={self.batch}, width={self.width} or size={self.size}"


def expect_unmixed(augment: str) -> None:
    """Changes of images without labels must keep each one image."""
    mixed = [name for name in read_changes(augment) if name in MIXTURES]
    if mixed:
        raise ValueError(f"augment must keep each image one, got {mixed[0]}, which mixes two; leave it out")
