r"""Settings of all recipes that make images."""

from dataclasses import dataclass
from typing import ClassVar

from cutaway.recipes.images.image_settings import ImageRecipe


@dataclass(frozen=True)
class GenerativeRecipe(ImageRecipe):
    """A model that makes images."""

    sample_files: ClassVar[str] = "cutaway.runs.sampled_images"

    batch: int = 128
    """images in a batch; fewer images are taken whole"""
    evaluate_every: int = 200
    """steps between evaluations"""
