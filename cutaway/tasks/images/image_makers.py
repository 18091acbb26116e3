r"""Learners that make images: how they are trained beside a simple method, the classes that are asked for, and codes.

run.sample(16, label="7") → images;   run.encode(images) → codes;   run.decode(codes) → images
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from cutaway.data.images.image_batches import ImageBatch
from cutaway.data.images.image_data import ImageRows
from cutaway.overriding import override
from cutaway.tasks.images.image_task import ImageLearner
from cutaway.tasks.images.pixels import as_pixels, as_tensors
from cutaway.training.jobs import Job
from cutaway.training.late_baselines import LateBaseline

_MOST = 10_000  # images made in one call
_TOGETHER = 250  # of them, in one pass
# A number of images, their classes if some were asked for, and a generator → images.
Sampler = Callable[[int, Int[np.ndarray, "n"] | None, torch.Generator], Tensor]


class ImageMaker(ImageLearner):
    """A model that makes images."""

    in_steps: bool = False  # whether it makes images step by step, and knows guidance

    def pixel_cost(self, model: Any, images: Float[Tensor, "b c h w"], labels: Int[Tensor, "b"]) -> Tensor:
        """The cost of pixels from 0 to 1; ``labels`` are −1 where unknown."""
        raise ValueError(f"a learner needs a cost to be trained, got {type(self).__name__} without; define it")

    @override
    def cost(self, model: nn.Module, batch: ImageBatch) -> Tensor:
        return self.pixel_cost(model, *as_tensors(model, batch))

    @override
    def measure(self, model: Any, rows: ImageRows, draws: int = 1) -> dict[str, float]:
        """Metrics on images that it was not trained on; "loss" is the one that picks the weights."""
        raise ValueError(f"a learner needs metrics, got {type(self).__name__} without; define `measure`")

    def baseline(self, rows: ImageRows) -> dict[str, Any]:
        """What is reached without a network, on the same images: a rule and its metrics."""
        return {}

    def last_metrics(self, model: Any) -> dict[str, float]:
        """Metrics that take long, once, at the end of training."""
        return {}

    def before_last_metrics(self) -> str:
        """A line that a person reads before `last_metrics`, if that takes long."""
        return ""

    @override
    def job(self, rank: int = 0, world: int = 1) -> Job:
        job, held = super().job(rank, world), self.task.parts.validation
        baseline = LateBaseline(lambda: {} if held is None else self.baseline(held))

        def whole(model: nn.Module) -> dict[str, float]:
            if held is None:
                return {}
            if line := self.before_last_metrics():
                baseline.say(line)
            return self.measure(model, held) | self.last_metrics(model)

        job.whole, job.callbacks = whole, [baseline]
        return job

    # New images.

    def sampler(self, guidance: float | None, steps: int | None) -> Sampler:
        """A function that makes images."""
        raise ValueError(f"a learner that makes images needs a sampler, got {type(self).__name__}; define `sampler`")

    def make_samples(
        self,
        count: int = 16,
        label: Any = None,
        guidance: float | None = None,
        steps: int | None = None,
        seed: int = 0,
    ) -> Float[Tensor, "n c h w"]:
        """New images, pixels from 0 to 1; ``label`` is a class, or one for each."""
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= _MOST:
            raise ValueError(f"count must be from 1 to {_MOST:,} images, got {count}; call several times for more")
        if not self.in_steps and (guidance is not None or steps is not None):
            raise ValueError(
                f"guidance and steps are for runs of `diffusion`, got them for a run of {self.settings.name!r}, which "
                "makes images in one pass; leave them out"
            )
        if not -(2**63) <= seed < 2**63:
            raise ValueError(f"seed must be from -2⁶³ to below 2⁶³, got {seed}; try seed=0")
        classes = self.classes_to_make(label, count)
        generator = torch.Generator().manual_seed(seed)
        draw = self.sampler(guidance, steps)
        parts = []
        with torch.no_grad():
            for first in range(0, count, _TOGETHER):
                some = None if classes is None else classes[first : first + _TOGETHER]
                parts.append(draw(min(_TOGETHER, count - first), some, generator).cpu())
        return torch.cat(parts)

    def classes_to_make(self, label: Any, count: int) -> Int[np.ndarray, "n"] | None:
        """The numbers of classes that were asked for by their names, one for each image."""
        if label is None:
            return None
        labels = [str(name) for name in self.task.labels]
        if not labels:
            raise ValueError(f"a label is for runs on images with classes, got {label!r}; leave it out")
        many = isinstance(label, Sequence) and not isinstance(label, str)
        names = [str(one) for one in label] if many or hasattr(label, "tolist") else [str(label)]
        unknown = [one for one in names if one not in labels]
        if unknown:
            shown = ", ".join(labels[:12]) + ", …" * (len(labels) > 12)
            raise ValueError(f"label must be one of {shown}, got {unknown[0]!r}; pick one of these")
        if len(names) not in (1, count):
            raise ValueError(f"label must be one class, or one for each of {count} images, got {len(names)}")
        return np.resize(np.array([labels.index(one) for one in names]), count)

    # Codes.

    def encode(self, images: Any) -> Float[Tensor, "n z"]:
        """Codes of images: a path, several, arrays, tensors."""
        model: Any = self.model
        if not hasattr(model, "encode"):
            raise self._cannot("encode images: it has no code")
        pixels = self.task.inputs(images).pixels()
        parts = [pixels[first : first + _TOGETHER] for first in range(0, len(pixels), _TOGETHER)]
        with torch.no_grad():
            return torch.cat([model.encode(as_pixels(model, part)).cpu() for part in parts])

    def decode(self, codes: Any) -> Float[Tensor, "n c h w"]:
        """The images of codes (n, width), pixels from 0 to 1."""
        model: Any = self.model
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

    def _cannot(self, what: str) -> ValueError:
        return ValueError(
            f"a run of {self.settings.name!r} cannot {what}; `cutaway list recipes` tells what each can do"
        )
