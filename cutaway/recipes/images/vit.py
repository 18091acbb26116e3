r"""`vit`: the class of an image, by a transformer over its patches."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from cutaway.overriding import override
from cutaway.recipes.checks import expect_at_least, expect_heads, expect_share
from cutaway.recipes.images.classifier_settings import ImageClassifierRecipe
from cutaway.recipes.settings import FIRST, setting
from cutaway.training.optimizers.names import Optimizer

if TYPE_CHECKING:
    from torch import nn

    from cutaway.data.images.image_data import ImageData
    from cutaway.tasks.images.classifiers import ImageClassifier


@dataclass(frozen=True)
class ViTRecipe(ImageClassifierRecipe):
    """Gives an image one class by a vision transformer: its patches are read as a sentence is.

    A folder has a sub-folder for each class; idx files, zips, .npz, tables of paths and arrays are read too. `cutaway
    look` shows which patches look at which, and `cutaway export` writes a checkpoint that transformers loads.
    """

    name: ClassVar[str] = "vit"
    quality: ClassVar[str] = (
        "MNIST, test accuracy: 99.05 % (the five nearest training images: 95.4 %) in 280 s of one core, three seeds, "
        "with --width 96 --depth 4 --batch 128 --steps 1800 --ema 0.995 --augment shift. The default run, on 8 × 8 "
        "digits: 98.3 % of 180 validation images in 34 s, its last weights 98.9 % (nearest 98.3 %). `python "
        "benchmarks/run.py image_classes` measures it."
    )

    patch: int = setting(0, FIRST)
    """pixels on the side of a patch, a divisor of the image's sides; 0 for about a quarter of the side"""
    width: int = setting(64, FIRST)
    """of the residual stream"""
    depth: int = setting(3, FIRST)
    """layers"""
    heads: int = 4
    """attention heads"""
    pooling: Literal["cls", "mean"] = "cls"
    """what the class is read from: a token of its own (which can be exported), or the mean over the patches"""
    dropout: float = 0.0
    """share of values dropped in training"""

    augment: str = "mixup:0.4"
    """changes of the images in training that keep their class: shift, flip, rotate, affine, crop, colour, cutout,
    mixup, cutmix; each may have its amount, as in shift:2,rotate:10; "" for none"""
    steps: int = 600
    """optimizer steps, at most"""
    batch: int = 64
    """images in a batch; fewer images are taken whole"""
    optimizer: Optimizer = "muon"
    """rule that turns gradients into steps"""
    rate: float = 3e-3
    """full learning rate of what Muon does not train"""
    weight_decay: float = 0.05
    """pull of the matrices towards zero"""
    warmup: int = 50
    """steps in which the rate rises from zero"""
    ema: float = 0.99
    """decay of an average of the weights, which is then what is evaluated and kept; 0 for none"""
    evaluate_every: int = 100
    """steps between evaluations"""

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_at_least(self, 1, "width", "depth", "heads")
        expect_at_least(self, 0, "patch")
        expect_share(self, "dropout")
        expect_heads(self)

    @override
    def new_model(self, data: "ImageData") -> "nn.Module":
        from cutaway.models.specs.architectures import ViTSpec
        from cutaway.models.transformers.vit import ViT
        from cutaway.tasks.images.scales import channel_statistics, expect_patch, fitting_patch

        channels, height, width = data.shape
        patch = self.patch or fitting_patch(height, width)
        expect_patch(patch, height, width)
        spec = ViTSpec.vit(
            image=(height, width),
            patch=patch,
            channels=channels,
            width=self.width,
            depth=self.depth,
            heads=self.heads,
            classes=len(data.labels),
            dropout=self.dropout,
        )
        model = ViT(spec.but(scaled=True, head__pooling=self.pooling))
        assert model.scale is not None
        model.scale.fit(*channel_statistics(data.train))
        return model

    @override
    def learner_kind(self) -> "type[ImageClassifier]":
        from cutaway.tasks.images.classifiers import PatchClassifier

        return PatchClassifier

    @override
    def smaller(self) -> str:
        return f"lower batch={self.batch}, width={self.width} or size={self.size}"
