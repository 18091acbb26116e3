r"""What recipes that give an image one of several classes share; a recipe on top of it makes the model alone.

cost = mean −log softmax(model(x))_y
"""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from cutaway.recipes.checks import expect_at_least, expect_share
from cutaway.recipes.images.image_settings import ImageRecipe
from cutaway.recipes.settings import FIRST, setting
from cutaway.tasks.abilities.ability import Offer
from cutaway.training.augmentation.image_changes import ImageChanges, read_changes

if TYPE_CHECKING:
    from torch import Tensor, nn

    from cutaway.data.images.image_data import ImageData
    from cutaway.runs.run import Run
    from cutaway.tasks.images.classify import Change
    from cutaway.training.jobs import Job


@dataclass(frozen=True)
class ImageClassifierRecipe(ImageRecipe):
    """A model that gives an image one of several classes."""

    abilities: ClassVar[tuple[Offer, ...]] = (
        Offer("test"),
        Offer(
            "predict",
            takes="folder/",
            gives="a folder of images, an image or an .npz in; the class and P(label) of each out",
        ),
        Offer("attack"),
    )

    unit: ClassVar[str] = "nats an image"
    needs_labels: ClassVar[bool] = True

    augment: str = setting("", FIRST, "CHANGES")
    """changes of the images in training that keep their class: shift, flip, rotate, affine, crop, colour, cutout,
    mixup, cutmix; each may have its amount, as in shift:2,rotate:10"""
    batch: int = 128
    """images in a batch; fewer images are taken whole"""
    adversarial: float = 0.0
    """train on images that are attacked: the most that a pixel may move, from 0 to 1; 0 for none"""
    adversarial_steps: int = 5
    """steps of that attack; each costs about as much as training without it"""

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_share(self, "adversarial")
        expect_at_least(self, 1, "adversarial_steps")
        read_changes(self.augment)  # checks it

    def build(self, data: "ImageData") -> "nn.Module":
        """The untrained model: images (b, c, h, w) from 0 to 1 → logits (b, classes)."""
        raise self._cannot("be trained")

    def job(self, rank: int = 0, world: int = 1) -> "Job":
        import torch

        from cutaway.data.images.image_batches import ImageBatches
        from cutaway.tasks.images.classify import (
            class_metrics,
            image_cost,
            neighbour_baseline,
            robust_metrics,
        )
        from cutaway.training.attacks.adversarial_training import Adversary
        from cutaway.training.jobs import Job

        data = self.dataset()
        torch.manual_seed(self.seed)
        model = self.build(data)
        facts = self.image_facts(data)
        if data.validation is not None:
            facts["baseline"] = neighbour_baseline(data.train, data.validation, len(data.labels))
        batch = min(self.batch, len(data.train))
        adversary = Adversary(self.adversarial, self.adversarial_steps, self.steps // 5) if self.adversarial else None

        def evaluate(m: "nn.Module") -> dict[str, float]:
            if data.validation is None:
                return {}
            robust = {} if adversary is None else robust_metrics(m, data.validation, adversary)
            return class_metrics(m, data.validation) | robust

        return Job(
            model=model,
            batches=ImageBatches(data.train, batch, self.seed, rank, world),
            objective=partial(image_cost, change=self.change(data), adversary=adversary),
            evaluate=evaluate,
            whole=evaluate,  # the weights that are kept need not be those of the last evaluation
            units=batch,
            unit="images",
            files=self.image_files(data),
            data=facts,
            callbacks=[] if adversary is None else [adversary],
            better="accuracy" if adversary is None else "robust_error",
            more_is_better=adversary is None,
        )

    def change(self, data: "ImageData") -> "Change | None":
        """What is done to the images of a batch in training; None for nothing."""
        changes = read_changes(self.augment)
        return ImageChanges(changes, len(data.labels)) if changes else None

    def test_metrics(self, run: "Run") -> dict[str, float]:
        from cutaway.tasks.images.classify import class_metrics, neighbour_baseline, robust_metrics
        from cutaway.training.attacks.adversarial_training import Adversary

        data = self.dataset(run)
        rows = data.open_test()
        naive = neighbour_baseline(data.train, rows, len(data.labels))["metrics"]
        robust: dict[str, float] = {}
        if self.adversarial:
            adversary = Adversary(self.adversarial)
            robust = robust_metrics(run.model, rows, adversary)
            del robust["robust_error"]  # 1 − robust_accuracy
        return class_metrics(run.model, rows) | robust | {"baseline_accuracy": naive["accuracy"]}

    def predict(self, run: "Run", inputs: Any) -> list[dict[str, Any]]:
        """The class of each image of a folder, a file, several files or an array, and P(label) for every label."""
        from cutaway.tasks.images.classify import predicted_rows

        return predicted_rows(run, self.read_new(run, inputs))

    def labelled_inputs(
        self, run: "Run", given: Any = None, part: str = "validation", most: int = 1000
    ) -> "tuple[Tensor, Tensor, str]":
        """Pixels from 0 to 1 and classes of at most ``most`` images (0: all): those given, else of a part of the data.

        The class of a given image without a label is what the model says of it.
        """
        from cutaway.tasks.images.classify import labelled_pixels

        if given is not None:
            return labelled_pixels(run, self.read_new(run, given), "images of yours", most)
        data = self.dataset(run)
        if part == "test":
            return labelled_pixels(run, data.open_test(), "test images", most)
        rows = data.train if data.validation is None else data.validation
        words = "images that it was trained on" if data.validation is None else "images that it was not trained on"
        return labelled_pixels(run, rows, words, most)
