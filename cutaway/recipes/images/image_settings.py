r"""Settings of all recipes for images: where the images are, the size and colours that they get, and their parts."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.overriding import override
from cutaway.recipes.base import Recipe
from cutaway.recipes.checks import expect_share
from cutaway.recipes.settings import DATA, setting
from cutaway.tasks.abilities.ability import Offer

if TYPE_CHECKING:
    from torch import nn

    from cutaway.data.images.image_data import ImageData
    from cutaway.tasks.images.image_task import ImageLearner
    from cutaway.tasks.learner import Learner
    from cutaway.tasks.task import Task


@dataclass(frozen=True)
class ImageRecipe(Recipe):
    """A model of images."""

    abilities: ClassVar[tuple[Offer, ...]] = (
        Offer("embed"),
        Offer("look", takes="folder/"),
    )

    memory: ClassVar[str] = "cutaway.data.stored:keep_images"
    meanings: ClassVar[dict[str, str]] = {}  # for the report: what figures mean that need words, by metric

    data: str = "digits"  # in Python arrays, too
    """a folder (one sub-folder a class), zip, CSV of paths and labels, idx files, .npz, or an embedded sample"""
    size: int = setting(0, DATA)
    """pixels on the longer side; 0 for that of the images, at most 64"""
    channels: int = setting(0, DATA)
    """1 for grey, 3 for colour; 0 for what the images have"""
    fit: Literal["crop", "pad", "stretch"] = setting("crop", DATA)
    """how images of different shapes become one: the middle cut out, black around the whole, or stretched"""
    target: str = setting("", DATA)
    """the column of labels in a CSV of paths (default: one called label or class, else found by sight)"""
    class_folder: Literal["first", "last"] = setting("first", DATA)
    """which folders of photos/cats/indoors/1.jpg name the class: the first (cats) or down to the last (cats/indoors)"""
    validation: float = setting(0.1, DATA)
    """share of the images to evaluate on; 0 for none"""
    test: float = setting(0.1, DATA)
    """share of the images for `cutaway test`; 0 for none"""
    test_file: str = setting("", DATA, "PATH")
    """a folder or file of test images of its own, instead of a share"""
    strict: bool = setting(False, DATA)
    """refuse damaged images instead of leaving them out"""
    encoding: str = setting("utf-8", DATA)
    """encoding of a CSV file"""

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        expect_share(self, "validation", "test")
        if self.size != 0 and not 4 <= self.size <= 4096:
            raise ValueError(f"size must be from 4 to 4096 pixels, or 0, got {self.size}; try size=32")
        if self.channels not in (0, 1, 3):
            raise ValueError(f"channels must be 1 (grey), 3 (colour) or 0, got {self.channels}; try channels=1")
        if self.patience and not self.validation:
            raise ValueError(
                f"patience needs images to evaluate on, got patience={self.patience} with validation=0; "
                "set patience=0 too"
            )

    @override
    def read(self, base: Any = None) -> "Task":
        from cutaway.tasks.task import task_of_kind

        task = task_of_kind(self.task_kind)(self)
        task.parts  # noqa: B018 -- reads them
        return task

    def new_model(self, data: "ImageData") -> "nn.Module":
        """An untrained model for these images, whose pixels it takes from 0 to 1."""
        raise self._cannot("be trained")

    def learner_kind(self) -> "type[ImageLearner]":
        """How such a model learns, and what it can do."""
        raise self._cannot("be trained")

    @override
    def build(self, task: Any, base: Any = None, model: Any = None) -> "Learner":
        import torch

        if model is None:
            torch.manual_seed(self.seed)
            model = self.new_model(task.parts)
        return self.learner_kind()(self, task, model)

    @override
    def smaller(self) -> str:
        return f"lower batch={self.batch} or size={self.size}"
