r"""`siamese`: learns which images are of one kind, and then tells kinds apart of which it is shown a single example."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from cutaway.overriding import override
from cutaway.recipes.checks import expect_at_least
from cutaway.recipes.images.image_settings import ImageRecipe
from cutaway.recipes.settings import DATA, FIRST, MODEL, setting
from cutaway.tasks.abilities.ability import Offer
from cutaway.training.augmentation.image_changes import MIXTURES, read_changes

if TYPE_CHECKING:
    from torch import nn

    from cutaway.data.images.image_data import ImageData
    from cutaway.tasks.images.siamese import Comparer


@dataclass(frozen=True)
class SiameseRecipe(ImageRecipe):
    """Learns which images are of one kind, and tells new kinds apart by a single example of each.

    Classes of validation and test are never trained on, if there are enough of them. `cutaway predict RUN folder/`
    names each image by the most alike example: those in folder/support (a folder or a file a class), else the classes
    that it was trained on.
    """

    name: ClassVar[str] = "siamese"
    abilities: ClassVar[tuple[Offer, ...]] = (
        Offer("test"),
        Offer(
            "predict",
            takes="folder/",
            gives="a folder of images in; the class whose examples, in folder/support, are most alike to each image "
            "out",
        ),
    )
    task_kind: ClassVar[str] = "images/one_shot"
    quality: ClassVar[str] = (
        "Omniglot's 20 official one-shot runs, 20 classes with one example each, trained on one of the two small "
        "background sets with --steps 1500, 180 s of one core: 6.0 and 5.0 % errors, one seed (published: people 4.5, "
        "a convolutional network 23.2, modified Hausdorff distance 38.8): `python benchmarks/run.py one_shot`."
    )
    unit: ClassVar[str] = "nats a pair"
    meanings: ClassVar[dict[str, str]] = {
        "one_shot_error": "the share of images of new classes that are more alike to an example of another class",
        "ways": "the number of classes with one example each, among which it must find the right one",
    }

    class_folder: Literal["first", "last"] = setting("last", DATA)
    validation: float = setting(0.2, DATA)
    """share of the classes (or of their groups) to evaluate on; 0 for none"""
    test: float = setting(0.0, DATA)
    """share of the classes for `cutaway test`; 0 for none"""
    hold_out: Literal["auto", "classes", "images"] = setting("auto", DATA)
    """what validation and test have: whole classes, images of every class, or classes if there are enough (auto)"""
    loss: Literal["infonce", "prototypical", "margin"] = setting("infonce", FIRST)
    """each image finds its like among all; the nearest example wins; or like pairs near, others a margin apart"""
    temperature: float = setting(0.07, MODEL)
    """of infonce and prototypical: small ones care for the most alike others alone"""
    margin: float = setting(1.0, MODEL)
    """of margin: how far apart images of different classes must be; vectors have length 1"""
    ways: int = setting(48, FIRST)
    """classes in a batch, at most"""
    shots: int = setting(2, DATA)
    """images of each class in a batch"""
    turns: bool = setting(True, DATA)
    """classes turned by 90°, 180° and 270° count as classes of their own; square images only"""
    centre: bool | None = setting(None, DATA)
    """whether what stands out is brought to the middle and to one size; without it, where the ground is plain"""
    augment: str = setting("affine:1.5", DATA, "CHANGES")
    """changes of the images in training: shift, flip, rotate, affine, crop, colour, cutout; as in shift:2,rotate:10"""
    average: int = setting(8, MODEL)
    """small changes of an image whose vectors are averaged when it is used; 0 for the image alone"""
    width: int = 48
    """channels of the first stage; the later ones have twice as many"""
    stages: int = 3
    """stages, after each of which the image is half as large; fewer for small images"""
    embedding: int = 128
    """numbers in the vector of an image"""

    size: int = setting(32, DATA)
    """pixels on the longer side; 0 for that of the images, at most 64"""
    steps: int = 800
    """optimizer steps"""
    rate: float = 2e-3
    """full learning rate"""
    warmup: int = 50
    """steps in which the rate rises from zero"""
    weight_decay: float = 0.05
    """pull of the matrices towards zero"""
    final: Literal["best", "last"] = "last"
    """the weights that the run ends with: last, or best by validation"""

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_at_least(self, 1, "width", "stages", "embedding")
        expect_at_least(self, 2, "ways", "shots")
        expect_at_least(self, 0, "average")
        for name in ("temperature", "margin"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be above 0, got {getattr(self, name)}; try {name}=0.1")
        mixed = [name for name in read_changes(self.augment) if name in MIXTURES]
        if mixed:
            raise ValueError(f"augment must keep each image one kind, got {mixed[0]}, which mixes two; leave it out")

    @override
    def new_model(self, data: "ImageData") -> "nn.Module":
        import torch

        from cutaway.models.siamese import Siamese
        from cutaway.tasks.images.siamese import has_plain_ground

        channels, height, width = data.shape
        some = torch.from_numpy(data.train.take(slice(0, 2000)).pixels()).float() / 255
        model = Siamese(
            channels=channels,
            image=(height, width),
            squares=2 if min(height, width) >= 2 ** (self.stages + 1) else 1,
            width=self.width,
            stages=fitting_stages(self.stages, min(height, width)),
            embedding=self.embedding,
            centred=has_plain_ground(some) if self.centre is None else self.centre,
        )
        model.set_scale(some)
        return model

    @override
    def learner_kind(self) -> "type[Comparer]":
        from cutaway.tasks.images.siamese import Comparer

        return Comparer


def fitting_stages(stages: int, side: int) -> int:
    """As many stages as images of that side have room for.

    >>> fitting_stages(3, 32), fitting_stages(3, 8), fitting_stages(3, 5)
    (3, 3, 2)
    """
    return max(1, min(stages, side.bit_length() - 1))
