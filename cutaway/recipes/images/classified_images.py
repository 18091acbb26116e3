r"""What recipes that give an image one of several classes share; a recipe on top of it makes the model alone.

cost = mean −log softmax(model(x))_y
"""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from cutaway.recipes.images.image_base import ImageRecipe
from cutaway.recipes.settings import FIRST, setting
from cutaway.training.augmentation.image_changes import ImageChanges, read_changes

if TYPE_CHECKING:
    from torch import nn

    from cutaway.data.images.image_data import ImageData
    from cutaway.recipes.images.image_classes import Change
    from cutaway.runs.run import Run
    from cutaway.training.jobs import Job


@dataclass(frozen=True)
class ImageClassifierRecipe(ImageRecipe):
    """A model that gives an image one of several classes."""

    unit: ClassVar[str] = "nats an image"
    needs_labels: ClassVar[bool] = True

    augment: str = setting("", FIRST, "CHANGES")
    """changes of the images in training that keep their class: shift, flip, rotate, affine, crop, colour, cutout,
    mixup, cutmix; each may have its amount, as in shift:2,rotate:10"""
    batch: int = 128
    """images in a batch; fewer images are taken whole"""

    def build(self, data: "ImageData") -> "nn.Module":
        """The untrained model: images (b, c, h, w) from 0 to 1 → logits (b, classes)."""
        raise self._cannot("be trained")

    def job(self, rank: int = 0, world: int = 1) -> "Job":
        import torch

        from cutaway.data.images.image_batches import ImageBatches
        from cutaway.recipes.images.image_classes import class_metrics, image_cost, neighbour_baseline
        from cutaway.training.jobs import Job

        data = self.dataset()
        torch.manual_seed(self.seed)
        model = self.build(data)
        facts = self.image_facts(data)
        if data.validation is not None:
            facts["baseline"] = neighbour_baseline(data.train, data.validation, len(data.labels))
        batch = min(self.batch, len(data.train))
        return Job(
            model=model,
            batches=ImageBatches(data.train, batch, self.seed, rank, world),
            objective=partial(image_cost, change=self.change(data)),
            evaluate=lambda m: {} if data.validation is None else class_metrics(m, data.validation),
            units=batch,
            unit="images",
            files=self.image_files(data),
            data=facts,
        )

    def __post_init__(self) -> None:
        super().__post_init__()
        read_changes(self.augment)  # checks it

    def change(self, data: "ImageData") -> "Change | None":
        """What is done to the images of a batch in training; None for nothing."""
        changes = read_changes(self.augment)
        return ImageChanges(changes, len(data.labels)) if changes else None

    def test_metrics(self, run: "Run") -> dict[str, float]:
        from cutaway.recipes.images.image_classes import class_metrics, neighbour_baseline

        data = self.dataset(run)
        rows = data.open_test()
        naive = neighbour_baseline(data.train, rows, len(data.labels))["metrics"]
        return class_metrics(run.model, rows) | {"baseline_accuracy": naive["accuracy"]}

    def predict(self, run: "Run", inputs: Any) -> list[dict[str, Any]]:
        """The class of each image of a folder, a file, several files or an array, and P(label) for every label."""
        from cutaway.recipes.images.image_classes import predicted_rows

        return predicted_rows(run, self.read_new(run, inputs))
