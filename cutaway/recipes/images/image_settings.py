r"""What recipes for images share: reading and showing the images, and reading new ones as those of training were.

files or arrays → one size → bytes (n, c, h, w) → pixels from 0 to 1 → the model, which brings them to its own scale
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.recipes.base import Recipe
from cutaway.recipes.checks import expect_share
from cutaway.recipes.settings import DATA, setting
from cutaway.tasks.abilities.ability import Offer
from cutaway.training.augmentation.image_changes import expect_fitting, read_changes

if TYPE_CHECKING:
    from torch import Tensor

    from cutaway.data.images.image_data import ImageData, ImageRows
    from cutaway.runs.run import Run
    from cutaway.tasks.subjects import Subject


@dataclass(frozen=True)
class ImageRecipe(Recipe):
    """A model of images."""

    abilities: ClassVar[tuple[Offer, ...]] = (
        Offer("embed"),
        Offer("look", takes="folder/"),
    )

    memory: ClassVar[str] = "cutaway.data.stored:keep_images"
    needs_labels: ClassVar[bool] = False  # whether images without a label are left out
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

    def dataset(self, run: "Run | None" = None) -> "ImageData":
        """The images in their three parts; those of a ``run`` must be as they were."""
        found = self.read_shaped(self.channels)
        if run is not None:
            run.expect_same_data(found.fingerprint)
        return found

    def read_shaped(self, channels: int, shape: tuple[int, int] | None = None) -> "ImageData":
        """The images with so many channels, and in a (height, width) if it is fixed already."""
        from cutaway.data.images.image_data import read_images

        found = read_images(
            self.data,
            labelled=self.needs_labels,
            size=self.size,
            channels=channels,
            fit=self.fit,
            shape=shape,
            target=self.target,
            level=self.class_folder,
            validation=self.validation,
            test=self.test_file or self.test,
            seed=self.seed,
            strict=self.strict,
            encoding=self.encoding,
            hold_out=getattr(self, "hold_out", "images"),
        )
        expect_fitting(read_changes(getattr(self, "augment", "")), *found.shape[1:])
        return found

    def image_facts(self, data: "ImageData") -> dict[str, Any]:
        """What config.json says of the images: for `Job.data`."""
        facts: dict[str, Any] = {
            "summary": data.summary(),
            "fingerprint": data.fingerprint.to_dict(),
            "source": self.data,
        }
        if self.meanings:
            facts["meanings"] = dict(self.meanings)
        return facts

    def image_files(self, data: "ImageData") -> dict[str, Callable[[Path], None]]:
        """The files that a run needs to read new images: for `Job.files`."""
        from cutaway.atomic_files import write_json

        about = {"labels": list(data.labels), "shape": list(data.shape), "fit": self.fit}
        return {"images.json": lambda path: write_json(path, about)}

    def read_new(self, run: "Run", inputs: Any) -> "ImageRows":
        """New images (a path, several, arrays, Pillow images), brought to the shape of those of training."""
        from cutaway.tasks.images.pixels import new_images

        return new_images(run, inputs)

    def embed(self, run: "Run", inputs: Any) -> "Tensor":
        """A vector for each image: what the model knows of it before it answers."""
        from cutaway.tasks.images.pixels import image_vectors

        if not hasattr(run.model, "embed"):
            raise self._cannot("embed: its model has no vectors of images")
        return image_vectors(run.model, self.read_new(run, inputs))

    def embedded_items(
        self, run: "Run", source: str, column: str = "", encoding: str = "utf-8"
    ) -> "Iterator[tuple[list[str], Any]]":
        """The images of a folder or file, a few hundred at a time."""
        if column:
            raise ValueError(f"column is for tables of texts, got column={column!r} for a run of images; leave it out")
        rows = self.read_new(run, source)
        for first in range(0, len(rows), 512):
            some = rows.take(slice(first, first + 512))
            yield [str(name) for name in some.names], some

    def subject(self, run: "Run", given: str | None = None) -> "Subject":
        """Images of a path; without one, some of each class that it was not trained on."""
        from cutaway.tasks.images.pixels import choose_each, image_subject

        if given is not None:
            return image_subject(run, self.read_new(run, given), "your images")
        data = replace(self, strict=False).dataset(run)
        rows = data.train if data.validation is None else data.validation
        words = "images that it was trained on" if data.validation is None else "images that it was not trained on"
        if data.labels:
            return image_subject(run, rows.take(choose_each(rows.targets)), f"one of each class, {words}")
        return image_subject(run, rows.take(slice(0, 16)), words)

    def smaller(self) -> str:
        return f"lower batch={self.batch} or size={self.size}"
