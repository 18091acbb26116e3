r"""Settings of all recipes that make images."""

from dataclasses import dataclass
from typing import ClassVar

from cutaway.recipes.images.image_settings import ImageRecipe
from cutaway.tasks.abilities.ability import Offer


@dataclass(frozen=True)
class GenerativeRecipe(ImageRecipe):
    """A model that makes images."""

    abilities: ClassVar[tuple[Offer, ...]] = (
        Offer("test"),
        Offer("sample", writer="cutaway.runs.sampled_images"),
        Offer("encode"),
        Offer("decode"),
    )

    batch: int = 128
    """images in a batch; fewer images are taken whole"""
    evaluate_every: int = 200
    """steps between evaluations"""
