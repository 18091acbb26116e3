r"""Settings of all recipes that give an image one of several classes; a recipe on top of it makes the model alone."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from cutaway.overriding import override
from cutaway.recipes.checks import expect_at_least, expect_share
from cutaway.recipes.images.image_settings import ImageRecipe
from cutaway.recipes.settings import FIRST, setting
from cutaway.tasks.abilities.ability import Offer
from cutaway.training.augmentation.image_changes import read_changes

if TYPE_CHECKING:
    from cutaway.tasks.images.classifiers import ImageClassifier


@dataclass(frozen=True)
class ImageClassifierRecipe(ImageRecipe):
    """A model that gives an image one of several classes."""

    abilities: ClassVar[tuple[Offer, ...]] = (
        Offer("test"),
        Offer(
            "predict",
            takes="folder/",
            gives="a folder of images, an image or an .npz in; the class and P(label) of each out",
        ),
        Offer("attack"),
    )

    unit: ClassVar[str] = "nats an image"
    task_kind: ClassVar[str] = "images/classify"

    augment: str = setting("", FIRST, "CHANGES")
    """changes of the images in training that keep their class: shift, flip, rotate, affine, crop, colour, cutout,
    mixup, cutmix; each may have its amount, as in shift:2,rotate:10"""
    batch: int = 128
    """images in a batch; fewer images are taken whole"""
    adversarial: float = 0.0
    """train on images that are attacked: the most that a pixel may move, from 0 to 1; 0 for none"""
    adversarial_steps: int = 5
    """steps of that attack; each costs about as much as training without it"""

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_share(self, "adversarial")
        expect_at_least(self, 1, "adversarial_steps")
        read_changes(self.augment)  # checks it

    @override
    def learner_kind(self) -> "type[ImageClassifier]":
        from cutaway.tasks.images.classifiers import ImageClassifier

        return ImageClassifier
