r"""The learner of the recipes `cnn` and `vit`: a network gives each class of an image a logit.

    cost = mean −log softmax(model(x))_y

Before it, a batch may be changed by augmentation, and by an adversary that moves its pixels.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from cutaway.data.images.image_batches import ImageBatch
from cutaway.data.images.image_data import ImageRows
from cutaway.hub.pretrained import save_pretrained
from cutaway.overriding import override
from cutaway.tasks.images.classify import ImageClasses
from cutaway.tasks.images.image_task import ImageLearner, held_out
from cutaway.tasks.images.pixels import as_pixels, as_tensors, evenly_spread, image_outputs
from cutaway.training.attacks.adversarial_training import Adversary
from cutaway.training.augmentation.image_changes import ImageChanges, read_changes
from cutaway.training.jobs import Job

# Pixels and classes of a batch → others that teach the same; classes may become probabilities (b, classes).
Change = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]


class ImageClassifier(ImageLearner):
    """Any model of images with a logit for each class."""

    task: ImageClasses
    change: Change | None = None  # of the images of a batch
    adversary: Adversary | None = None

    @override
    def fit_first(self) -> None:
        settings = self.settings
        if changes := read_changes(settings.augment):
            self.change = ImageChanges(changes, len(self.task.parts.labels))
        if settings.adversarial:
            self.adversary = Adversary(settings.adversarial, settings.adversarial_steps, settings.steps // 5)

    @override
    def cost(self, model: nn.Module, batch: ImageBatch) -> Tensor:
        return image_cost(model, batch, self.change, self.adversary)

    @override
    def measure(self, model: nn.Module, rows: ImageRows) -> dict[str, float]:
        robust = {} if self.adversary is None else self.task.robust_metrics(model, rows, self.adversary)
        return self.task.metrics(self.logits(model, rows), rows) | robust

    def logits(self, model: nn.Module, rows: ImageRows) -> Float[Tensor, "n c"]:
        """The logits of some images by a model that is being trained."""
        return image_outputs(model, rows)

    @override
    def job(self, rank: int = 0, world: int = 1) -> Job:
        job = super().job(rank, world)
        job.callbacks = [] if self.adversary is None else [self.adversary]
        return job

    def outputs(self, rows: ImageRows) -> Float[Tensor, "n c"]:
        """Logits of some images."""
        return image_outputs(self.model, rows)

    def labelled_inputs(
        self, given: Any = None, part: str = "validation", most: int = 1000
    ) -> tuple[Tensor, Tensor, str]:
        """Pixels from 0 to 1 and classes of at most ``most`` images (0: all): those given, else of a part of the data.

        The class of a given image without a label is what the model says of it.
        """
        task = self.task
        if given is not None:
            rows, words = task.inputs(given), "images of yours"
        elif part == "test":
            rows, words = task.parts.open_test(), "test images"
        else:
            rows, words = held_out(task.parts)
        whole = len(rows)
        if most and whole > most:
            rows, words = evenly_spread(rows, most), f"{most:,} of {whole:,} {words}"
        else:
            words = f"{whole:,} {words}"
        targets = torch.from_numpy(rows.targets.astype(np.int64))
        unknown = targets < 0
        if unknown.any():
            said = self.outputs(rows).argmax(1)
            targets, words = torch.where(unknown, said, targets), f"{words}, taken for what the model says of them"
        x = as_pixels(self.model, rows.pixels())
        return x, targets.to(x.device), words


class PatchClassifier(ImageClassifier):
    """A vision transformer, which transformers can load."""

    def export(self, to: str) -> Path:
        """A Hugging Face checkpoint, with the scale of the pixels folded into its first map."""
        if self.settings.pooling != "cls":
            raise ValueError(
                "a ViT of transformers reads the class from its CLS token alone, got "
                f"pooling={self.settings.pooling!r}; train with --pooling cls to export, or use the run itself: "
                "cut.load"
            )
        return save_pretrained(self.model.without_scale(), to)


def image_cost(
    model: nn.Module, batch: ImageBatch, change: Change | None = None, adversary: Adversary | None = None
) -> Tensor:
    """Mean of −log p(class | image) over the batch, in nats; ``change`` and ``adversary`` act on the batch first."""
    x, y = as_tensors(model, batch)
    if change is not None:
        x, y = change(x, y)
    if adversary is not None:
        x = adversary.change(model, x, y if y.ndim == 1 else y.argmax(1))
    return nn.functional.cross_entropy(model(x).float(), y)
