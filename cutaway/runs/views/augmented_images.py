r"""A view of what augmentation makes of images: some of them, and what the model may see in their place."""

from typing import TYPE_CHECKING, Any

import torch

from cutaway.look.images.image_grids import image_grid
from cutaway.look.pages.picture import Picture
from cutaway.tasks.subjects import Subject
from cutaway.training.augmentation.image_changes import KINDS, ImageChanges, read_changes

if TYPE_CHECKING:
    from cutaway.runs.run import Run

_IMAGES, _DRAWS = 8, 3


def changes_images(run: "Run") -> bool:
    """Runs of images that were changed in training."""
    return run.recipe.kind.startswith("images/") and bool(read_changes(getattr(run.recipe, "augment", "")))


def augmented(run: "Run", subject: Subject) -> list[Picture]:
    """What augmentation makes of some images."""
    recipe: Any = run.recipe
    changes = read_changes(recipe.augment)
    x = subject.arguments[0][:_IMAGES].cpu()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        # Mixtures need classes only for the targets, which are not shown.
        mix = ImageChanges(changes, len(x))
        draws = [mix(x, torch.arange(len(x)))[0] for _ in range(_DRAWS)]
    told = "; ".join(f"{name} {KINDS[name].keeps}" for name in changes)
    return [
        image_grid(
            torch.cat([x, *draws]),
            title="What the model sees in training",
            columns=len(x),
            rows=["as it is", *(f"draw {i + 1}" for i in range(_DRAWS))],
            caption="Each row below the first shows the same images changed anew: the class of each must still show.",
            note=f"{told[:1].upper()}{told[1:]}.",
            cell=64,
        )
    ]


__all__ = ["augmented", "changes_images"]
