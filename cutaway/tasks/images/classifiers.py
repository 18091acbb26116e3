r"""The learner of the recipes `cnn` and `vit`: a network gives each class of an image a logit.

    cost = mean −log softmax(model(x))_y

Before it, a batch may be changed by augmentation, and by an adversary that moves its pixels.
"""

from collections.abc import Callable
from pathlib import Path

from jaxtyping import Float
from torch import Tensor, nn

from cutaway.data.images.image_batches import ImageBatch
from cutaway.data.images.image_data import ImageRows
from cutaway.hub.pretrained import save_pretrained
from cutaway.tasks.images.classify import ImageClasses
from cutaway.tasks.images.image_task import ImageLearner
from cutaway.tasks.images.pixels import as_tensors, image_outputs
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

    def fit_first(self) -> None:
        settings = self.settings
        if changes := read_changes(settings.augment):
            self.change = ImageChanges(changes, len(self.task.parts.labels))
        if settings.adversarial:
            self.adversary = Adversary(settings.adversarial, settings.adversarial_steps, settings.steps // 5)

    def cost(self, model: nn.Module, batch: ImageBatch) -> Tensor:
        return image_cost(model, batch, self.change, self.adversary)

    def measure(self, model: nn.Module, rows: ImageRows) -> dict[str, float]:
        robust = {} if self.adversary is None else self.task.robust_metrics(model, rows, self.adversary)
        return self.task.metrics(self.logits(model, rows), rows) | robust

    def logits(self, model: nn.Module, rows: ImageRows) -> Float[Tensor, "n c"]:
        """The logits of some images by a model that is being trained."""
        return image_outputs(model, rows)

    def job(self, rank: int = 0, world: int = 1) -> Job:
        job = super().job(rank, world)
        job.callbacks = [] if self.adversary is None else [self.adversary]
        return job

    def outputs(self, rows: ImageRows) -> Float[Tensor, "n c"]:
        """Logits of some images."""
        return image_outputs(self.model, rows)


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
