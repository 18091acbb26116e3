r"""What recipes share that make images: batches of images, the labels that samples are asked for, codes there and back.

run.sample(16, label="7") → images;   run.encode(images) → codes;   run.decode(codes) → images
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from cutaway.recipes.images.image_settings import ImageRecipe
from cutaway.tasks.abilities.ability import Offer

if TYPE_CHECKING:
    import numpy as np
    from torch import Generator, Tensor, nn

    from cutaway.data.images.image_data import ImageData
    from cutaway.runs.run import Run
    from cutaway.training.jobs import Job

_MOST = 10_000  # images made in one call
_TOGETHER = 250  # of them, in one pass


@dataclass(frozen=True)
class GenerativeRecipe(ImageRecipe):
    """A model that makes images."""

    abilities: ClassVar[tuple[Offer, ...]] = (
        Offer("test"),
        Offer("sample", writer="cutaway.runs.sampled_images"),
        Offer("encode"),
        Offer("decode"),
    )

    samples_by_steps: ClassVar[bool] = False  # whether it makes images step by step, and knows guidance

    batch: int = 128
    """images in a batch; fewer images are taken whole"""
    evaluate_every: int = 200
    """steps between evaluations"""

    def build(self, data: "ImageData") -> "nn.Module":
        """The untrained model."""
        raise self._cannot("be trained")

    def cost(self, model: "nn.Module", images: "Tensor", labels: "Tensor") -> "Tensor":
        """What a batch of pixels from 0 to 1 costs; ``labels`` are −1 where unknown."""
        raise self._cannot("be trained")

    def measure(self, model: "nn.Module", images: Any, draws: int = 1) -> dict[str, float]:
        """Metrics on images that it was not trained on; "loss" is the one that picks the weights."""
        raise self._cannot("be tested")

    def naive(self, data: "ImageData", images: Any) -> dict[str, Any]:
        """What is reached without a network, on the same images: a rule and its metrics."""
        return {}

    def said_before(self, data: "ImageData") -> str:
        """What else a person should know before training."""
        return ""

    def at_the_end(self, model: "nn.Module", data: "ImageData") -> dict[str, float]:
        """Metrics that take long, once, at the end of training."""
        return {}

    def said_at_the_end(self, data: "ImageData") -> str:
        """What a person is told before `at_the_end`, if that takes long."""
        return ""

    def job(self, rank: int = 0, world: int = 1) -> "Job":
        import torch

        from cutaway.data.images.image_batches import ImageBatches
        from cutaway.tasks.images.pixels import as_tensors
        from cutaway.training.jobs import Job
        from cutaway.training.late_baselines import LateBaseline

        data = self.dataset()
        torch.manual_seed(self.seed)
        model = self.build(data)
        facts, held = self.image_facts(data), data.validation
        if told := self.said_before(data):
            facts["summary"] += f"\n{told}"
        baseline = LateBaseline(lambda: {} if held is None else self.naive(data, held))
        batch = min(self.batch, len(data.train))

        def whole(model: "nn.Module") -> dict[str, float]:
            if held is None:
                return {}
            if told := self.said_at_the_end(data):
                baseline.say(told)
            return self.measure(model, held) | self.at_the_end(model, data)

        return Job(
            model=model,
            batches=ImageBatches(data.train, batch, self.seed, rank, world),
            objective=lambda m, rows: self.cost(m, *as_tensors(m, rows)),
            evaluate=lambda m: {} if held is None else self.measure(m, held),
            whole=whole,
            units=batch,
            unit="images",
            files=self.image_files(data),
            data=facts,
            callbacks=[baseline],
        )

    # ------------------------------------------------------------------------------------------------------------------

    def make_samples(
        self,
        run: "Run",
        count: int = 16,
        label: Any = None,
        guidance: float | None = None,
        steps: int | None = None,
        seed: int = 0,
    ) -> "Tensor":
        """New images (count, channels, height, width), pixels from 0 to 1; ``label`` is a class, or one for each."""
        import torch

        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= _MOST:
            raise ValueError(f"count must be from 1 to {_MOST:,} images, got {count}; call several times for more")
        if not self.samples_by_steps and (guidance is not None or steps is not None):
            raise ValueError(
                f"guidance and steps are for runs of `diffusion`, got them for a run of {self.name!r}, which makes "
                "images in one pass; leave them out"
            )
        if not -(2**63) <= seed < 2**63:
            raise ValueError(f"seed must be from -2⁶³ to below 2⁶³, got {seed}; try seed=0")
        classes = self.classes_of(run, label, count)
        generator = torch.Generator().manual_seed(seed)
        draw = self.sampler_of(run, guidance, steps)
        parts = []
        with torch.no_grad():
            for first in range(0, count, _TOGETHER):
                some = None if classes is None else classes[first : first + _TOGETHER]
                parts.append(draw(min(_TOGETHER, count - first), some, generator).cpu())
        return torch.cat(parts)

    def sampler_of(
        self, run: "Run", guidance: float | None, steps: int | None
    ) -> "Callable[[int, np.ndarray | None, Generator], Tensor]":
        """A function of a number of images, their classes if asked for, and a generator that makes images."""
        raise self._cannot("make images")

    def classes_of(self, run: "Run", label: Any, count: int) -> "np.ndarray | None":
        """The numbers of classes that were asked for by their names, one for each image."""
        import numpy as np

        from cutaway.tasks.images.pixels import image_about

        if label is None:
            return None
        labels = [str(name) for name in image_about(run)["labels"]]
        if not labels:
            raise ValueError(f"a label is for runs on images with classes, got {label!r}; leave it out")
        many = isinstance(label, Sequence) and not isinstance(label, str)
        asked = [str(one) for one in label] if many or hasattr(label, "tolist") else [str(label)]
        unknown = [one for one in asked if one not in labels]
        if unknown:
            shown = ", ".join(labels[:12]) + ", …" * (len(labels) > 12)
            raise ValueError(f"label must be one of {shown}, got {unknown[0]!r}; pick one of these")
        if len(asked) not in (1, count):
            raise ValueError(f"label must be one class, or one for each of {count} images, got {len(asked)}")
        return np.resize(np.array([labels.index(one) for one in asked]), count)

    def encode(self, run: "Run", images: Any) -> "Tensor":
        """Codes of images: a path, several, arrays, tensors."""
        import torch

        from cutaway.tasks.images.pixels import as_pixels

        model: Any = run.model
        if not hasattr(model, "encode"):
            raise self._cannot("encode images: it has no code")
        pixels = self.read_new(run, images).pixels()
        with torch.no_grad():
            return torch.cat([model.encode(as_pixels(model, part)).cpu() for part in _parts(pixels)])

    def decode(self, run: "Run", codes: Any) -> "Tensor":
        """The images (n, channels, height, width) of codes (n, width), pixels from 0 to 1."""
        import torch

        model: Any = run.model
        if not hasattr(model, "decode"):
            raise self._cannot("decode codes: it has none")
        codes = torch.as_tensor(codes, dtype=next(model.parameters()).dtype)
        if codes.ndim != 2:
            raise ValueError(
                f"codes must have shape (n, width), got {tuple(codes.shape)}; for one code use codes[None]"
            )
        with torch.no_grad():
            parts = [model.decode(part.to(model.device)).clamp(0, 1).cpu() for part in codes.split(_TOGETHER)]
        return torch.cat(parts) if parts else codes.new_empty(0, model.spec.channels, *model.spec.image)

    def test_metrics(self, run: "Run") -> dict[str, float]:
        data = self.dataset(run)
        images = data.open_test()
        naive = self.naive(data, images).get("metrics", {})
        return self.measure(run.model, images, draws=10) | {f"baseline_{name}": value for name, value in naive.items()}


def _parts(pixels: Any) -> list[Any]:
    return [pixels[first : first + _TOGETHER] for first in range(0, len(pixels), _TOGETHER)]
