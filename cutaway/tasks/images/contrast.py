r"""The task of finding the other view of an image among those of others, and its learner, of the recipe `contrastive`.

    x₁, x₂ = two changes of x, drawn apart;   cost = NT-Xent(model(x₁), model(x₂))

Its baseline compares the pixels of the views. Chen et al. 2020 (SimCLR).
"""

from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from cutaway.blocks.losses.contrastive import nt_xent
from cutaway.data.images.image_batches import every_image
from cutaway.data.images.image_data import ImageRows
from cutaway.overriding import override
from cutaway.tasks.images.pixels import as_pixels
from cutaway.tasks.images.pretraining import Pretrainer, UnlabelledImages
from cutaway.training.augmentation.image_changes import ImageChanges, read_changes

_MOST = 2_048  # images asked in all


class ContrastedViews(UnlabelledImages):
    """Images, two views of each of which must find each other."""

    kind: ClassVar[str] = "images/contrast"


class ViewMatcher(Pretrainer):
    """An encoder and a projection, whose vectors of two views are compared."""

    def changes(self) -> ImageChanges:
        """What makes the views."""
        return ImageChanges(read_changes(self.settings.augment))

    @override
    def pixel_cost(self, model: nn.Module, images: Tensor) -> Tensor:
        return contrast_cost(model, images, self.changes(), self.settings.temperature)

    @override
    def measure(self, model: nn.Module | None, rows: ImageRows) -> dict[str, float]:
        """The loss, and how many views find each other; without a model by their pixels."""
        return contrast_metrics(model, rows, self.changes(), self.settings.temperature, self.settings.batch)

    @override
    def baseline(self, rows: ImageRows) -> dict[str, Any]:
        found = self.measure(None, rows)
        return {"rule": "views compared by their pixels", "metrics": {"found": found["found"]}} if found else {}


def contrast_cost(model: nn.Module, images: Tensor, changes: ImageChanges, temperature: float) -> Tensor:
    """The mean NT-Xent loss of two views of each image; one pass for both."""
    a, b = model(torch.cat([changes.images(images), changes.images(images)])).float().chunk(2)
    return nt_xent(a, b, temperature).mean()


@torch.no_grad()
def contrast_metrics(
    model: nn.Module | None, images: ImageRows, changes: ImageChanges, temperature: float, batch: int
) -> dict[str, float]:
    """The loss, and the share of views whose most alike other view is their own, among those of ``batch`` images.

    Without a model pixels are compared. The views are drawn with a seed of their own, the same at every evaluation.
    """
    images = images.take(slice(0, max(batch, _MOST // batch * batch)))
    total = found = count = 0.0
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        for rows in every_image(images, batch):
            if len(rows.pixels) < 2:
                continue  # one image has none to be told from
            if model is None:
                x = torch.from_numpy(rows.pixels).float() / 255
                a, b = (changes.images(x).flatten(1) - x.mean(0).flatten() for _ in range(2))
            else:
                x = as_pixels(model, rows.pixels)
                a, b = model(torch.cat([changes.images(x), changes.images(x)])).float().chunk(2)
            total += nt_xent(a, b, temperature).sum().item()
            found += _found(a, b)
            count += len(x)
    return {"loss": total / count, "found": found / count} if count else {}


def _found(a: Tensor, b: Tensor) -> float:
    z = nn.functional.normalize(torch.cat([a, b]), dim=1)
    alike = (z @ z.T).fill_diagonal_(-torch.inf)
    own = torch.arange(len(z), device=z.device).roll(len(a))
    return (alike.argmax(1) == own).float().sum().item() / 2


def views_of(images: Tensor, changes: ImageChanges, seed: int = 0) -> Any:
    """Two views of each image, always the same: for pictures."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return changes.images(images), changes.images(images)
