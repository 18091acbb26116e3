r"""Settings of all recipes that learn from images without their labels; `cutaway tune` hands on what they learn."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from cutaway.recipes.images.image_settings import ImageRecipe
from cutaway.tasks.abilities.ability import Offer


@dataclass(frozen=True)
class ImagePretrainingRecipe(ImageRecipe):
    """A model that learns from images alone."""

    abilities: ClassVar[tuple[Offer, ...]] = (
        Offer("test"),
        Offer(
            "predict",
            takes="folder/",
            gives="a folder of images, an image or an .npz in; the most alike training image of each, and the class of "
            "the five nearest where classes are known, out",
        ),
        Offer("encode"),
    )

    batch: int = 128
    """images in a batch; fewer images are taken whole"""
    warmup: int = 50
    """steps in which the rate rises from zero"""
    final: Literal["best", "last"] = "last"
    """the weights that the run ends with: last, or best by validation"""
