r"""The task `images`: which class an image belongs to, by a trained model of images.

    cost = mean −log softmax(model(x))_y

Images are brought to the shape that the base was trained on.
"""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.recipes.images.classifier_settings import ImageClassifierRecipe
from cutaway.recipes.settings import FIRST, OPTIMIZER, RESULTS, setting
from cutaway.tuning.settings import BASE_HEAD, TunedRecipe, features_in_words

if TYPE_CHECKING:
    from pathlib import Path

    from torch import nn

    from cutaway.data.images.image_data import ImageData
    from cutaway.runs.run import Run
    from cutaway.training.jobs import Job
    from cutaway.tuning.bases import Base
    from cutaway.tuning.comparison import Answers

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

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.head_only and (self.augment or self.adversarial):
            raise ValueError(
                f"a head is trained on features of images as they are, got augment={self.augment!r} and "
                f"adversarial={self.adversarial}; leave them out, or train last=1"
            )

    def usual_rate(self, way: str) -> float:
        return _HEAD_RATE if way == "head_only" else super().usual_rate(way)

    @classmethod
    def suits(cls, data: Any) -> str:
        from cutaway.data.kinds import images

        return images(data)

    # ------------------------------------------------------------------------------------------------------------------

    def read(self, base: "Base") -> "ImageData":
        from cutaway.tuning.image_bases import base_shape

        channels, shape = base_shape(base)
        return self.read_shaped(channels, shape)

    def count(self, data: "ImageData") -> int:
        return len(data.train)

    def dataset(self, run: "Run | None" = None) -> "ImageData":
        from cutaway.tasks.images.pixels import image_about

        if run is None:
            return super().dataset()
        channels, *shape = image_about(run)["shape"]
        found = self.read_shaped(channels, (shape[0], shape[1]))
        run.expect_same_data(found.fingerprint)
        return found

    def headed(self, base: "Base", data: "ImageData") -> "nn.Module":
        from cutaway.training.adapters.stacked_adapters import rebuilt
        from cutaway.tuning.image_bases import keep_head, with_scale

        model = with_scale(base)
        build = lambda m: m.with_labels(data.labels, pooling=self._pooling)
        return keep_head(base, model, data.labels, self._pooling) or rebuilt(model, build)

    @property
    def _pooling(self) -> str | None:
        return None if self.pooling == "auto" else self.pooling

    def task_job(self, model: "nn.Module", base: "Base", data: "ImageData", rank: int, world: int) -> "Job":
        import torch

        from cutaway.data.images.image_batches import ImageBatches
        from cutaway.tasks.images.classify import (
            class_metrics,
            image_cost,
            neighbour_baseline,
            robust_metrics,
        )
        from cutaway.tasks.images.pixels import image_outputs
        from cutaway.training.attacks.adversarial_training import Adversary
        from cutaway.training.jobs import Job
        from cutaway.tuning.head_learning import calibrate, learn_head
        from cutaway.tuning.image_bases import keep_head
        from cutaway.tuning.image_features import (
            ImageFeatures,
            RowBatches,
            feature_cost,
            feature_metrics,
        )

        facts = self.image_facts(data)
        if data.validation is not None:
            facts["baseline"] = neighbour_baseline(data.train, data.validation, len(data.labels))
        adversary = Adversary(self.adversarial, self.adversarial_steps, self.steps // 5) if self.adversarial else None
        batches: Any = ImageBatches(data.train, self.batch, self.seed, rank, world)
        objective: Any = partial(image_cost, change=self.change(data), adversary=adversary)
        measure: Any = class_metrics
        kept: list[Any] = [None, None]
        if self.head_only:
            kept = [
                None if rows is None else ImageFeatures(model, rows, self.features_memory)
                for rows in (data.train, data.validation)
            ]
            facts["summary"] += f"\n{features_in_words(kept, self.features_memory)}"
            batches = RowBatches(len(data.train), self.batch, self.seed, rank, world)
            objective = partial(feature_cost, features=kept[0])
            measure = lambda m, rows: feature_metrics(m, kept[1])

        def evaluate(m: "nn.Module") -> dict[str, float]:
            if data.validation is None:
                return {}
            robust = {} if adversary is None else robust_metrics(m, data.validation, adversary)
            return measure(m, data.validation) | robust

        job = Job(
            model=model,
            batches=batches,
            objective=objective,
            evaluate=evaluate,
            whole=evaluate,
            units=self.batch,
            unit="images",
            files=self.image_files(data),
            data=facts,
            callbacks=[] if adversary is None else [adversary],
            better="accuracy" if adversary is None else "robust_error",
            more_is_better=adversary is None,
        )
        held = data.validation
        if self.calibrate and held is not None and world == 1:  # shards of weights cannot be divided alone
            job.calibrate = partial(
                calibrate, scores=lambda m: (image_outputs(m, held), torch.from_numpy(held.targets.astype("int64")))
            )
        if self.fit_head and keep_head(base, base.model, data.labels, self._pooling) is None:  # the head is new
            seen = kept[0] or ImageFeatures(model, data.train, self.features_memory)
            learn_head(job, self, seen, data.train.targets.astype("int64"), known=False, world=world)
        return job

    def head_is_solved(self, base: "Base", data: "ImageData") -> bool:
        from cutaway.tuning.image_bases import keep_head

        is_new = keep_head(base, base.model, data.labels, self._pooling) is None
        return self.fit_head and self.pooling != "attention" and is_new

    def held_out_inputs(self, run: "Run") -> "list[tuple[Any, ...]]":
        from cutaway.tasks.images.pixels import as_pixels

        rows = self.dataset(run).validation
        return [] if rows is None else [(as_pixels(run.model, rows.take(slice(0, 128)).pixels()),)]

    def answers_before_and_after(self, run: "Run", base: Any) -> "Answers | None":
        from cutaway.tuning.comparison import image_answers

        data = self.dataset(run)
        if data.validation is None or not hasattr(base, "embed"):
            return None
        return image_answers(base, run.model, data, run.about["data"]["tuning"].get("head") == BASE_HEAD)

    def export(self, run: "Run", to: str) -> "Path | None":  # type: ignore[override]
        """A Hugging Face checkpoint, with the scale of the pixels folded into its first map where it has one."""
        from cutaway.hub.pretrained import save_pretrained

        super().export(run, to)
        model: Any = run.model
        return save_pretrained(model.without_scale(), to) if hasattr(model, "without_scale") else None

    def smaller(self) -> str:
        return TunedRecipe.smaller(self)
