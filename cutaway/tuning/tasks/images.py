r"""The task `images`: which class an image belongs to, by a trained model of images.

Images are brought to the shape that the base was trained on.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.overriding import override
from cutaway.recipes.images.classifier_settings import ImageClassifierRecipe
from cutaway.recipes.settings import FIRST, OPTIMIZER, RESULTS, setting
from cutaway.tuning.settings import TunedRecipe

if TYPE_CHECKING:
    from torch import nn

    from cutaway.runs.run import Run
    from cutaway.tasks.images.classify import ImageClasses
    from cutaway.tuning.bases import Base
    from cutaway.tuning.learners.images import TunedImageClasses

_HEAD_RATE = 1e-2  # five epochs on the digits: 53 % of validation images, 32 % at 3e-3


@dataclass(frozen=True)
class TunedImagesRecipe(TunedRecipe, ImageClassifierRecipe):
    """Tunes a model of images to give every image one of several classes."""

    name: ClassVar[str] = "tuned-images"
    task: ClassVar[str] = "images"
    quality: ClassVar[str] = (
        "MNIST with 100 labels, after `contrastive` on 20,000 images without any: LoRA 89.5 %, adapters 89.2 %, all "
        "weights 90.7 %, the head alone 84.9 %, the same network from scratch 72.3 % (benchmarks/pretrained_images.py)."
    )

    data: str = setting("", FIRST, "PATH")  # in Python arrays, too
    """a folder (one sub-folder a class), zip, CSV of paths and labels, idx files, .npz, or an embedded sample"""
    pooling: Literal["auto", "cls", "mean", "attention", "layers"] = setting("auto", FIRST)
    """of a ViT: one vector of an image, by its CLS token, the mean of its patches, a mean weighed by attention, or the
    means of all layers; auto is cls for a ViT, and what a CNN does"""
    fit_head: bool = setting(True, OPTIMIZER)
    """fit the last layer of a new head to the features of the base before anything else learns, C by cross-validation;
    of a head alone, this is all there is to learn, unless steps, epochs or a rate are given"""
    calibrate: bool = setting(True, RESULTS)
    """at the end, make the probabilities as sure as they are right on validation (a temperature in the last layer)"""
    batch: int = 64
    """images in a batch"""

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        if self.head_only and (self.augment or self.adversarial):
            raise ValueError(
                f"a head is trained on features of images as they are, got augment={self.augment!r} and "
                f"adversarial={self.adversarial}; leave them out, or train last=1"
            )

    @override
    def usual_rate(self, way: str) -> float:
        return _HEAD_RATE if way == "head_only" else super().usual_rate(way)

    @override
    @classmethod
    def suits(cls, data: Any) -> str:
        from cutaway.data.kinds import images

        return images(data)

    @override
    def read(self, base: Any = None) -> "ImageClasses":
        from cutaway.tasks.images.classify import ImageClasses
        from cutaway.tuning.image_bases import base_shape

        channels, (height, width) = base_shape(base)
        task = ImageClasses(self, shape=(channels, height, width))
        task.parts  # noqa: B018 -- reads them
        return task

    @override
    def task_of(self, run: "Run") -> "ImageClasses":
        """The task of a run, whose images have the shape of its base's."""
        from cutaway.tasks.images.classify import ImageClasses

        task = ImageClasses(self, run)
        channels, height, width = task.about["shape"]
        task.shape = channels, height, width
        return task

    @property
    def base_pooling(self) -> str | None:
        """The pooling that was chosen; None for that of the base."""
        return None if self.pooling == "auto" else self.pooling

    @override
    def headed(self, base: "Base", task: "ImageClasses") -> "nn.Module":
        from cutaway.training.adapters.stacked_adapters import rebuilt
        from cutaway.tuning.image_bases import keep_head, with_scale

        model, labels = with_scale(base), task.parts.labels
        build = lambda m: m.with_labels(labels, pooling=self.base_pooling)
        return keep_head(base, model, labels, self.base_pooling) or rebuilt(model, build)

    @override
    def head_is_solved(self, base: "Base", task: "ImageClasses") -> bool:
        from cutaway.tuning.image_bases import keep_head

        is_new = keep_head(base, base.model, task.parts.labels, self.base_pooling) is None
        return self.fit_head and self.pooling != "attention" and is_new

    @override
    def learner_kind(self) -> "type[TunedImageClasses]":
        from cutaway.tuning.learners.images import TunedImageClasses

        return TunedImageClasses

    @override
    def smaller(self) -> str:
        return TunedRecipe.smaller(self)
