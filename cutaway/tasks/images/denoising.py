r"""The learner of the recipe `diffusion`: tells image from noise at every level, and takes noise away in steps.

    cost = mean ‖f(x_t, t, class) − target‖²          x_t: an image mixed with noise, the class hidden now and then

That the class is hidden in some images lets samples be guided later. Ho et al. 2020; Ho and Salimans 2022.
"""

import dataclasses
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from cutaway.data.images.image_batches import every_image
from cutaway.data.images.image_data import ImageRows
from cutaway.overriding import override
from cutaway.tasks.images.generate import GeneratedImages
from cutaway.tasks.images.image_makers import ImageMaker, Sampler
from cutaway.tasks.images.pixels import as_tensors
from cutaway.tasks.subjects import Subject

_TOGETHER = 125  # samples to be judged that are made in one pass


class Denoiser(ImageMaker):
    """A network that predicts what of an image is noise."""

    in_steps = True
    task: GeneratedImages

    @override
    def pixel_cost(self, model: Any, images: Float[Tensor, "b c h w"], labels: Int[Tensor, "b"]) -> Tensor:
        known = known_classes(model, labels)
        if known is not None:
            hidden = torch.rand(labels.shape, device=labels.device) < self.settings.drop_label
            known = known.masked_fill(hidden, model.spec.classes)
        return model.loss(images, known).mean()

    @override
    @torch.no_grad()
    def measure(self, model: Any, rows: ImageRows, draws: int = 1) -> dict[str, float]:
        """The squared error of the prediction, with levels and noise of a fixed seed."""
        generator = torch.Generator().manual_seed(0)
        total = 0.0
        for batch in every_image(rows):
            x, labels = as_tensors(model, batch)
            known = known_classes(model, labels)
            total += sum(model.loss(x, known, generator).double().sum().item() for _ in range(draws))
        return {"loss": total / (draws * len(rows))}

    @override
    def baseline(self, rows: ImageRows) -> dict[str, Any]:
        return self.task.baseline(rows)

    @override
    def before_last_metrics(self) -> str:
        count = self.task.judged(self.task.parts.validation)
        steps = self.settings.sampling_steps
        return f"making {count} samples, {steps} steps each, to judge them beside held-out images"

    @override
    def last_metrics(self, model: Any) -> dict[str, float]:
        """How samples compare with images that it was not trained on."""
        held, settings = self.task.parts.validation, self.settings
        assert held is not None
        count = self.task.judged(held)
        generator = torch.Generator().manual_seed(settings.seed)
        classes = torch.from_numpy(held.targets[:count].astype("int64"))
        known = known_classes(model, classes)
        how = settings.guidance, settings.sampling_steps, settings.sampler
        parts = []
        for first in range(0, count, _TOGETHER):
            some = None if known is None else known[first : first + _TOGETHER].to(model.device)
            parts.append(model.sample(min(_TOGETHER, count - first), some, *how, generator).cpu())
        return self.task.metrics(torch.cat(parts), held, None if known is None else classes)

    @override
    def sampler(self, guidance: float | None, steps: int | None) -> Sampler:
        """Noise, and from there step by step to images."""
        model, settings = self.model, self.settings
        strength = settings.guidance if guidance is None else guidance
        if not strength >= 0:
            raise ValueError(f"guidance must be 0 or above, got {strength}; try guidance=1.5")
        stops = settings.sampling_steps if steps is None else steps
        if not 1 <= stops <= model.spec.levels:
            raise ValueError(f"steps must be from 1 to {model.spec.levels}, got {stops}; try steps=25")

        def draw(count: int, classes: Int[np.ndarray, "n"] | None, generator: torch.Generator) -> Tensor:
            labels = None if classes is None else torch.from_numpy(classes).to(model.device)
            return model.sample(count, labels, strength, stops, settings.sampler, generator)

        return draw

    @override
    def classes_to_make(self, label: Any, count: int) -> Int[np.ndarray, "n"] | None:
        """Every class in turn, where none was asked for: images of no class mix features of several."""
        classes = self.model.spec.classes
        if label is not None and not classes:
            raise ValueError(f"this run learned no classes, got label={label!r}; leave it out, or train it with labels")
        if label is None and classes:
            return np.resize(np.arange(classes), count)
        return super().classes_to_make(label, count)

    @override
    def subject(self, given: str | None = None) -> Subject:
        """Images with noise halfway to the end, as the network sees them."""
        model = self.model
        clean = super().subject(given)
        (images,) = clean.arguments
        level = torch.full((len(images),), model.spec.levels // 2, device=images.device)
        noise = torch.randn(images.shape, generator=torch.Generator().manual_seed(0)).to(images)
        x = model.schedule.add_noise(2 * images - 1, noise, level)
        return dataclasses.replace(
            clean,
            arguments=(x, level.to(x.dtype) / model.spec.levels),
            words=f"{clean.words}, with noise at level {model.spec.levels // 2} of {model.spec.levels}",
        )


def known_classes(model: Any, labels: Int[Tensor, "b"]) -> Int[Tensor, "b"] | None:
    """Classes as the model takes them: unknown ones are "no class"; None if it knows no classes."""
    return labels.masked_fill(labels < 0, model.spec.classes) if model.spec.classes else None
