r"""`cnn`: the class of an image, by a convolutional network: digits, clothes, leaves, defects, your own folders."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.overriding import override
from cutaway.recipes.checks import expect_at_least, expect_share
from cutaway.recipes.images.classifier_settings import ImageClassifierRecipe
from cutaway.recipes.settings import FIRST, setting

if TYPE_CHECKING:
    from torch import nn

    from cutaway.data.images.image_data import ImageData


@dataclass(frozen=True)
class CNNRecipe(ImageClassifierRecipe):
    """Gives an image one class by a convolutional network: plain, residual, or of separable convolutions.

    A folder has a sub-folder for each class; idx files, zips, .npz, tables of paths and arrays are read too. Pixels are
    brought to the network's scale by the network itself.
    """

    name: ClassVar[str] = "cnn"
    quality: ClassVar[str] = (
        "MNIST, test accuracy, mean of three seeds: 99.56 % (the five nearest training images: 95.4 %) in 200 s of one "
        "core with --steps 4000 --rate 0.004 --ema 0.998 --augment affine; Fashion-MNIST, 30,000 images: 92.3 % (80.7) "
        "in 770 s, --width 48. The default run, on 8 × 8 digits: 98.9 % (nearest 97.2 %) in 20 s: `python "
        "benchmarks/run.py image_classes`. --preset robust, MNIST, changes of at most 0.3 a pixel: 89.7 % of the test "
        "images withstand every attack tried (PGD of 40 steps, 5 starts: 91.6 %; 99.0 % right as they are) after 103 s "
        "of one core, where a plain network falls to 0.0 %: "
        "`python benchmarks/run.py robustness`."
    )

    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "robust": dict(
            depth=1,
            norm="none",
            dense=128,
            contrast=0.3,
            augment="",
            adversarial=0.3,
            adversarial_steps=2,
            steps=1200,
            beta=0.99,
            weight_decay=0.0,
            warmup=240,
            ema=0.99,
            evaluate_every=300,
        ),
    }

    design: Literal["plain", "residual", "separable"] = setting("plain", FIRST)
    """blocks: convolutions alone, with the input added to what two of them make, or depth-wise separable ones"""
    width: int = setting(32, FIRST)
    """channels of the first stage; each later one has twice as many"""
    stages: int = 0
    """sizes at which the network looks, each half the one before; 0 for as many as bring the last below 8 pixels"""
    depth: int = setting(2, FIRST)
    """blocks of a stage"""
    kernel: int = 3
    """pixels on the side of a filter"""
    squares: int = 0
    """pixels on the side of the squares that become channels first; 1 for none, 0 for 2 in images from 16 pixels on"""
    norm: Literal["batch", "none"] = "batch"
    """whether each channel is standardised over the batch after every convolution"""
    pooling: Literal["max", "mean"] = "max"
    """how the last feature maps become one number a channel"""
    dropout: float = 0.0
    """share of pooled values dropped in training"""
    dense: int = 0
    """numbers of a dense layer over all places of the last feature maps, in place of pooling them; 0 for none"""
    contrast: float = 0.0
    """share of the scale, at either end, that a learned contrast curve flattens at first; 0 for no curve"""

    augment: str = "shift:1"
    """changes of the images in training that keep their class: shift, flip, rotate, affine, crop, colour, cutout,
    mixup, cutmix; each may have its amount, as in shift:2,rotate:10; "" for none"""
    steps: int = 600
    """optimizer steps, at most"""
    rate: float = 5e-3
    """full learning rate"""
    beta: float = 0.98
    """how long Adam remembers squared gradients"""
    weight_decay: float = 0.05
    """pull of the matrices towards zero"""
    warmup: int = 100
    """steps in which the rate rises from zero"""
    ema: float = 0.99
    """decay of an average of the weights, which is then what is evaluated and kept; 0 for none"""
    evaluate_every: int = 100
    """steps between evaluations"""

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_at_least(self, 1, "width", "depth", "kernel")
        expect_at_least(self, 0, "stages", "squares", "dense")
        expect_share(self, "dropout")
        if not 0 <= self.contrast < 0.5:
            raise ValueError(f"contrast must be at least 0 and below 0.5, got {self.contrast}; try contrast=0.3")

    @override
    def new_model(self, data: "ImageData") -> "nn.Module":
        from cutaway.models.convolutional.cnn import CNN
        from cutaway.tasks.images.scales import (
            channel_statistics,
            expect_room,
            fitting_squares,
            fitting_stages,
            last_places,
        )

        channels, height, width = data.shape
        side = min(height, width)
        squares = self.squares or fitting_squares(side)
        expect_room(side, squares, self.stages)
        stages = self.stages or fitting_stages(side, squares)
        model = CNN(
            classes=len(data.labels),
            channels=channels,
            design=self.design,
            width=self.width,
            stages=stages,
            depth=self.depth,
            kernel=self.kernel,
            squares=squares,
            norm=self.norm,
            pooling=self.pooling,
            dropout=self.dropout,
            contrast=self.contrast,
            dense=self.dense,
            places=last_places(height, width, squares, stages) if self.dense else (1, 1),
        )
        model.scale.fit(*channel_statistics(data.train))
        return model

    @override
    def smaller(self) -> str:
        return f"lower batch={self.batch}, width={self.width} or size={self.size}"
