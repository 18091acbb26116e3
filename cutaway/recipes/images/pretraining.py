r"""What recipes share that learn from images without their labels. A recipe on top of it makes model and cost.

cost(model, x)            of a batch of pixels; labels are never read in training
represent(x) → vectors    what is learned: measured by a linear probe, handed on by `cutaway tune RUN --data labelled`
"""

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cutaway.recipes.images.image_settings import ImageRecipe
from cutaway.tasks.abilities.ability import Offer

if TYPE_CHECKING:
    from torch import Tensor, nn

    from cutaway.data.images.image_data import ImageData, ImageRows
    from cutaway.runs.run import Run
    from cutaway.training.jobs import Job


@dataclass(frozen=True)
class ImagePretrainingRecipe(ImageRecipe):
    """A model that learns from images alone."""

    abilities: ClassVar[tuple[Offer, ...]] = (
        Offer("test"),
        Offer(
            "predict",
            takes="folder/",
            gives="a folder of images, an image or an .npz in; the most alike training image of each, and the class of "
            "the five nearest where classes are known, out",
        ),
        Offer("encode"),
    )

    batch: int = 128
    """images in a batch; fewer images are taken whole"""
    warmup: int = 50
    """steps in which the rate rises from zero"""
    final: Literal["best", "last"] = "last"
    """the weights that the run ends with: last, or best by validation"""

    def build(self, data: "ImageData") -> "nn.Module":
        """The untrained model."""
        raise self._cannot("be trained")

    def cost(self, model: "nn.Module", images: "Tensor") -> "Tensor":
        """What a batch of pixels from 0 to 1 costs."""
        raise self._cannot("be trained")

    def measure(self, model: "nn.Module", images: "ImageRows") -> dict[str, float]:
        """The cost of images that it was not trained on, and what goes with it."""
        raise self._cannot("be tested")

    def naive(self, data: "ImageData", images: "ImageRows") -> dict[str, Any]:
        """What is reached without learning, on the same images: a rule and its metrics."""
        return {}

    def job(self, rank: int = 0, world: int = 1) -> "Job":
        import torch

        from cutaway.data.images.image_batches import ImageBatches
        from cutaway.tasks.images.pixels import as_pixels
        from cutaway.tasks.images.vectors import can_probe
        from cutaway.training.jobs import Job
        from cutaway.training.late_baselines import LateBaseline

        data = self.dataset()
        torch.manual_seed(self.seed)
        model = self.build(data)
        facts, held = self.image_facts(data), data.validation
        untrained = copy.deepcopy(model)
        baseline = LateBaseline(lambda: {} if held is None else self.naive_with_probe(untrained, data, held))
        if data.labels and not can_probe(data, held):
            facts["summary"] += f"\n{data.name}: too few labelled images for a linear probe, which is left out"
        batch = min(self.batch, len(data.train))
        return Job(
            model=model,
            batches=ImageBatches(data.train, batch, self.seed, rank, world),
            objective=lambda m, rows: self.cost(m, as_pixels(m, rows.pixels)),
            evaluate=lambda m: {} if held is None else self.measure(m, held),
            whole=lambda m: {} if held is None else self.measure(m, held) | self.probed(m, data, held),
            units=batch,
            unit="images",
            files=self.image_files(data),
            data=facts,
            callbacks=[baseline],
        )

    def probed(self, model: "nn.Module", data: "ImageData", images: "ImageRows") -> dict[str, float]:
        """The accuracy of a linear probe on its vectors; {} without labels."""
        from cutaway.tasks.images.vectors import can_probe, probe_accuracy

        return {"probe_accuracy": probe_accuracy(model, data, images)} if can_probe(data, images) else {}

    def naive_with_probe(self, model: "nn.Module", data: "ImageData", images: "ImageRows") -> dict[str, Any]:
        """What is reached without learning: the recipe's own rule, and linear probes on pixels and random vectors."""
        from cutaway.tasks.images.vectors import can_probe, probe_accuracy

        found = self.naive(data, images)
        if not can_probe(data, images):
            return found
        random, pixels = (probe_accuracy(m, data, images) for m in (model, None))
        told = f"of the probe, a linear map of the pixels themselves (of the untrained model's vectors: {random:.1%})"
        return {
            "rule": f"of the loss, {found['rule']}; {told}" if found else told,
            "metrics": found.get("metrics", {}) | {"probe_accuracy": pixels},
        }

    def test_metrics(self, run: "Run") -> dict[str, float]:
        from cutaway.tasks.images.vectors import can_probe, probe_accuracy

        data = self.dataset(run)
        images = data.open_test()
        naive = self.naive(data, images).get("metrics", {})
        if can_probe(data, images):
            naive |= {"probe_accuracy": probe_accuracy(None, data, images)}
        found = self.measure(run.model, images) | self.probed(run.model, data, images)
        return found | {f"baseline_{name}": value for name, value in naive.items()}

    def predict(self, run: "Run", inputs: Any) -> list[dict[str, Any]]:
        """The most alike training image of each image of a folder, a file, several files or an array."""
        from cutaway.tasks.images.vectors import alike_rows

        return alike_rows(run, self.read_new(run, inputs), self.dataset(run))

    def encode(self, run: "Run", images: Any) -> "Tensor":
        """Vectors of images: a path, several, arrays, tensors."""
        from cutaway.tasks.images.vectors import vectors_of

        return vectors_of(run.model, self.read_new(run, images))
