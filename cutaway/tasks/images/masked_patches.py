r"""The task of filling in hidden patches of images, and its learner, that of the recipe `masked-image`.

    cost          mean over hidden pixels of (x̂ − x)²
    blur          each hidden pixel is the mean of the visible ones, weighted by exp(−d² / 2 s²), d pixels away
    mean image    each hidden pixel is the mean that training images have there

The better of the two on training images is the baseline. He et al. 2022.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from cutaway.blocks.embeddings.hidden_patches import (
    choose_visible,
    hidden_error,
    hidden_places,
    patch_targets,
)
from cutaway.data.images.image_batches import every_image
from cutaway.data.images.image_data import ImageRows
from cutaway.hub.pretrained import save_pretrained
from cutaway.overriding import override
from cutaway.tasks.images.pixels import as_pixels, evenly_spread
from cutaway.tasks.images.pretraining import Pretrainer, UnlabelledImages
from cutaway.training.augmentation.image_changes import ImageChanges, read_changes

Filling = Callable[[Tensor, Tensor], Tensor]  # images and visible places → filled images
_BLURS = (0.25, 0.5, 1.0, 2.0)  # spreads that are tried, in sides of a patch
_TRIED, _ASKED = 500, 2_000  # training images to choose among them, images to evaluate on


class MaskedPatches(UnlabelledImages):
    """Images, some of whose patches are hidden."""

    kind: ClassVar[str] = "images/masked_patches"


class PatchFiller(Pretrainer):
    """A vision transformer that fills in patches; its encoder is what one keeps."""

    @override
    def pixel_cost(self, model: nn.Module, images: Float[Tensor, "b c h w"]) -> Tensor:
        changes = ImageChanges(read_changes(self.settings.augment))
        return filling_cost(model, changes.images(images), self.settings.hidden)

    @override
    def measure(self, model: nn.Module, rows: ImageRows) -> dict[str, float]:
        return filling_metrics(model, rows, self.settings.hidden)

    @override
    def baseline(self, rows: ImageRows) -> dict[str, Any]:
        spec = self.model.spec
        return filling_baseline(
            self.task.parts.train, rows, spec.encoder.patch, self.settings.hidden, spec.standardised
        )

    def export(self, to: str) -> Path:
        """The encoder as a Hugging Face checkpoint, with the scale of the pixels folded into its first map."""
        return save_pretrained(self.model.encoder.without_scale(), to)


def filling_cost(model: Any, images: Float[Tensor, "b c h w"], hidden: float) -> Tensor:
    """The mean squared error of the hidden pixels; which are hidden is drawn anew."""
    spec = model.spec
    visible = choose_visible(len(images), spec.patches, hidden, device=images.device)
    return _errors(model, images, visible).mean()


def _errors(model: Any, images: Tensor, visible: Tensor) -> Float[Tensor, "b"]:
    spec = model.spec
    targets = patch_targets(images, spec.encoder.patch, spec.standardised)
    return hidden_error(model(images, visible).float(), targets.float(), hidden_places(visible, spec.patches))


@torch.no_grad()
def filling_metrics(model: nn.Module, images: ImageRows, hidden: float) -> dict[str, float]:
    """The mean squared error of hidden pixels, of at most 2,000 images; always with the same patches hidden."""
    generator = torch.Generator().manual_seed(0)
    images, total = evenly_spread(images, _ASKED), 0.0
    spec: Any = model.spec
    for batch in every_image(images):
        visible = choose_visible(len(batch.pixels), spec.patches, hidden, generator, next(model.parameters()).device)
        total += _errors(model, as_pixels(model, batch.pixels), visible).sum().item()
    return {"loss": total / len(images)}


def blurred(
    images: Float[Tensor, "b c h w"], visible: Int[Tensor, "b v"], side: int, spread: float
) -> Float[Tensor, "b c h w"]:
    """Images whose hidden pixels are means of the visible ones, weighted by their distance."""
    height, width = images.shape[2:]
    hidden = hidden_places(visible, (height // side) * (width // side)).float()
    seen = 1 - hidden.view(-1, 1, height // side, width // side)
    seen = seen.repeat_interleave(side, 2).repeat_interleave(side, 3)
    down, across = (_weights(n, spread) for n in (height, width))
    total = torch.einsum("ij,bcjk,kl->bcil", down, images * seen, across)
    weight = torch.einsum("ij,bcjk,kl->bcil", down, seen, across)
    return torch.where(seen > 0, images, total / weight.clamp(min=1e-12))


def _weights(count: int, spread: float) -> Float[Tensor, "n n"]:
    place = torch.arange(count, dtype=torch.float32)
    return (-((place[:, None] - place) ** 2) / (2 * spread**2)).exp().clamp(min=1e-6)


def filling_baseline(
    train: ImageRows, images: ImageRows, side: int, hidden: float, standardised: bool
) -> dict[str, Any]:
    """The squared error of hidden pixels without learning: by a blur or the mean image, whichever suits training."""
    if standardised:
        return {"rule": "the mean of each patch, for standardised pixels", "metrics": {"loss": 1.0}}
    mean = (torch.from_numpy(evenly_spread(train, 5 * _ASKED).pixels()).float() / 255).mean(0, keepdim=True)
    rules: dict[str, Filling] = {
        "the mean image of training in place of hidden pixels": lambda x, visible: mean.expand_as(x)
    }
    for blur in _BLURS:
        words = f"a blur of the visible pixels in place of hidden ones (a Gaussian of spread {side * blur:g})"
        rules[words] = partial(blurred, side=side, spread=side * blur)
    rule = min(rules, key=lambda words: _filling_error(rules[words], evenly_spread(train, _TRIED), side, hidden))
    return {"rule": rule, "metrics": {"loss": _filling_error(rules[rule], evenly_spread(images, _ASKED), side, hidden)}}


def _filling_error(fill: Filling, images: ImageRows, side: int, hidden: float) -> float:
    generator, total = torch.Generator().manual_seed(0), 0.0
    for batch in every_image(images):
        x = torch.from_numpy(batch.pixels).float() / 255
        patches = (x.shape[2] // side) * (x.shape[3] // side)
        visible = choose_visible(len(x), patches, hidden, generator)
        filled = patch_targets(fill(x, visible), side)
        total += hidden_error(filled, patch_targets(x, side), hidden_places(visible, patches)).sum().item()
    return total / len(images)
