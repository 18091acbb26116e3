r"""`contrastive`: learns from images without labels, by telling two changed views of one image from those of others."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.overriding import override
from cutaway.recipes.checks import expect_at_least, expect_heads
from cutaway.recipes.images.masked_image import expect_unmixed
from cutaway.recipes.images.pretraining import ImagePretrainingRecipe
from cutaway.recipes.settings import FIRST, MODEL, setting
from cutaway.training.augmentation.image_changes import read_changes

if TYPE_CHECKING:
    from torch import nn

    from cutaway.data.images.image_data import ImageData
    from cutaway.tasks.images.contrast import ViewMatcher


@dataclass(frozen=True)
class ContrastiveRecipe(ImagePretrainingRecipe):
    """Learns from images without labels: two changed views of an image must find each other among all of a batch.

    What a class keeps, the changes must keep too: choose --augment for your images. The encoder, a `cnn` or a `vit`, is
    what one keeps: `cutaway tune RUN --data labelled/` gives it classes (SimCLR, Chen et al. 2020).
    """

    name: ClassVar[str] = "contrastive"
    task_kind: ClassVar[str] = "images/contrast"
    quality: ClassVar[str] = (
        "Digits of 8 × 8 pixels, a linear map on its vectors beside one on pixels, 497 new images: 10 labels 65.4 % "
        "(52.3), 30 labels 87.9 % (75.3), 100 labels 94.8 % (87.5), after 150 steps on 1,170 images without labels: "
        "examples/learn_without_labels.py. The default run, where the map has 1,437 labels: 94.4 % of 180 test images "
        "(96.7), so it pays where labels are few. MNIST with 100 labels: 90.7 % after tuning, 72.3 % from scratch "
        "(benchmarks/pretrained_images.py)."
    )
    unit: ClassVar[str] = "nats a view"
    meanings: ClassVar[dict[str, str]] = {
        "found": "the share of views whose most alike other view, among those of a batch, is their own",
        "probe_accuracy": "the share of images whose class a linear map tells from the frozen encoder's vectors",
    }

    encoder: Literal["cnn", "vit"] = setting("cnn", FIRST)
    """what looks at the images: a convolutional network, or a vision transformer"""
    augment: str = setting("rotate:15,crop:0.3", FIRST, "CHANGES")
    """changes that make the views: shift, flip, rotate, affine, crop, colour, cutout; as in crop:0.4,colour:0.4"""
    temperature: float = setting(0.2, MODEL)
    """of the comparison: small ones care for the most alike others alone"""
    width: int = setting(32, FIRST)
    """channels of the first stage of a cnn, each later one has twice as many; of a vit, its residual stream (try 64)"""
    depth: int = setting(2, FIRST)
    """blocks of a stage of a cnn; layers of a vit (try 4)"""
    heads: int = 4
    """attention heads of a vit"""
    hidden: int = setting(128, MODEL)
    """units of the projection, which is thrown away"""
    projected: int = setting(64, MODEL)
    """numbers that are compared"""

    batch: int = 128
    """images in a batch, each against all others; fewer images are taken whole"""
    steps: int = 400
    """optimizer steps"""
    rate: float = 3e-3
    """full learning rate"""
    weight_decay: float = 0.05
    """pull of the matrices towards zero"""
    evaluate_every: int = 200
    """steps between evaluations"""

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_at_least(self, 1, "width", "depth", "heads", "hidden", "projected")
        expect_at_least(self, 2, "batch")
        if self.encoder == "vit":
            expect_heads(self)
        if not self.temperature > 0:
            raise ValueError(f"temperature must be above 0, got {self.temperature}; try temperature=0.2")
        expect_unmixed(self.augment)
        if not read_changes(self.augment):
            raise ValueError(
                "two views of an image must differ, got augment without a change; try augment=rotate:15,crop:0.3"
            )

    @override
    def new_model(self, data: "ImageData") -> "nn.Module":
        from cutaway.models.convolutional.cnn import CNNSpec
        from cutaway.models.pretraining.contrastive_encoder import ContrastiveEncoder, ContrastiveSpec
        from cutaway.models.specs.architectures import ViTSpec
        from cutaway.tasks.images.scales import (
            channel_statistics,
            fitting_patch,
            fitting_squares,
            fitting_stages,
        )

        if len(data.train) < 2:
            raise ValueError(f"images are told from each other, of which training needs two, got 1 in {data.name}")
        channels, height, width = data.shape
        sizes: dict[str, Any] = dict(width=self.width, depth=self.depth, channels=channels)
        cnn = vit = None
        if self.encoder == "cnn":
            squares = fitting_squares(min(height, width))
            stages = fitting_stages(min(height, width), squares)
            cnn = CNNSpec(classes=0, squares=squares, stages=stages, **sizes)
        else:
            patch = fitting_patch(height, width)
            vit = ViTSpec.vit(image=(height, width), patch=patch, heads=self.heads, **sizes).but(scaled=True)
        model = ContrastiveEncoder(ContrastiveSpec(cnn, vit, self.hidden, self.projected))
        assert model.encoder.scale is not None
        model.encoder.scale.fit(*channel_statistics(data.train))
        return model

    @override
    def learner_kind(self) -> "type[ViewMatcher]":
        from cutaway.tasks.images.contrast import ViewMatcher

        return ViewMatcher

    @override
    def smaller(self) -> str:
        return f"lower batch={self.batch}, width={self.width} or size={self.size}"
