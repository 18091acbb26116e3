r"""Views of how an image classifier withstands attacks: what was changed, and how many images keep their class."""

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from cutaway.look.images.image_grids import image_grid
from cutaway.look.images.resistance_curves import resistance_curves
from cutaway.look.images.signed_pixels import signed_pixels
from cutaway.look.pages.picture import Picture
from cutaway.runs.attacked import labelled_images
from cutaway.runs.views.image_classes import classifies_images
from cutaway.tasks.subjects import Subject
from cutaway.training.attacks.attacking import attack

if TYPE_CHECKING:
    from cutaway.runs.run import Run

_SHOWN = 8  # images with their changes
_TRIED = 100  # images that are attacked, to show some
_COUNT = 200  # images behind a point of the curve
_STEPS = 20
_CURVES = {
    "noise": "noise",
    "one step (FGSM)": "fgsm",
    "many steps (PGD)": "pgd",
    "many steps, by margin": "margin",
}
_WORST = "every one of these"


def trained_with_attacks(run: "Run") -> bool:
    """Runs that were trained to withstand: their reports show whether they do."""
    return classifies_images(run) and bool(run.recipe.adversarial)  # type: ignore[attr-defined]


def trained_without_attacks(run: "Run") -> bool:
    """The other runs that give images a class, which learned from images as they are."""
    return classifies_images(run) and not run.recipe.adversarial  # type: ignore[attr-defined]


def attacked(run: "Run", subject: Subject) -> Picture:
    """What must change in some images for another class."""
    images, labels, _ = labelled_images(run, None, "validation", 100)
    epsilon = run.recipe.adversarial or 0.1  # type: ignore[attr-defined]
    return attack_picture(run, images, labels, epsilon, _STEPS, 2.5 * epsilon / _STEPS)


def resistance(run: "Run", subject: Subject) -> Picture:
    """How many images keep their class as changes grow: aimed ones beside noise."""
    images, labels, words = labelled_images(run, None, "validation", _COUNT)
    most = run.recipe.adversarial or 0.2  # type: ignore[attr-defined]
    model: Any = run.model
    sizes = [most * i / 6 for i in range(9)]
    found: dict[str, list[float]] = {name: [] for name in (*_CURVES, _WORST)}
    for epsilon in sizes:
        step = max(2.5 * epsilon / _STEPS, 1e-6)
        tried = {n: attack(model, images, labels, k, epsilon, _STEPS, step).success for n, k in _CURVES.items()}
        tried[_WORST] = torch.stack([*tried.values()]).any(0)
        for name, fallen in tried.items():
            found[name].append(1 - fallen.float().mean().item())
    return resistance_curves(
        sizes,
        found,
        title="How many images keep their class as changes grow",
        caption="Noise of a size hardly hurts where a change of the same size that is aimed does.",
        note=f"{words[0].upper()}{words[1:]}; {_STEPS} steps of PGD, one start: up the cross-entropy, or "
        "(by margin) towards the nearest other class.",
    )


def attack_picture(
    run: "Run", images: Tensor, labels: Tensor, epsilon: float, steps: int, step: float, seed: int = 0
) -> Picture:
    """Images that the run gives their class, the change that takes it away (or tries to), and the changed images.

    Those that lose it are shown first, one of each class; how many do, of the first ones, is said.
    """
    names = run.task.labels
    model: Any = run.model
    tried = _right(model, images, labels)
    found = attack(model, images[tried], labels[tried], "pgd", epsilon, steps=steps, step=step, seed=seed)
    chosen = _of_each(labels[tried], found.success)
    x, changed = images[tried][chosen], found.images[chosen]
    change = (changed - x).cpu()
    times = 1 / epsilon if epsilon else 1.0
    return image_grid(
        [*x.cpu(), *(signed_pixels(part, most=epsilon or 1.0) for part in change), *changed.cpu()],
        title=f"Images, changed by at most {epsilon:g} a pixel",
        columns=len(chosen),
        rows=["image", f"change, × {times:.3g}", "changed image"],
        names=[*_said(model, x, names), *[""] * len(chosen), *_said(model, changed, names)],
        framed=[False] * 2 * len(chosen) + found.success[chosen].tolist(),
        caption="The change in the middle (red: lighter, blue: darker) turns the image above it into the one below, "
        "which the model gives another class where its frame is red.",
        note=f"{int(found.success.sum())} of {len(tried)} images lost their class; these are shown before others.",
    )


@torch.no_grad()
def _right(model: nn.Module, images: Tensor, labels: Tensor) -> list[int]:
    """Places of the first images that the model gives their class; of all, if there are none."""
    right = (model(images[:_TRIED]).argmax(1) == labels[:_TRIED]).nonzero()[:, 0].tolist()
    return right or list(range(min(_TRIED, len(images))))


def _of_each(labels: Tensor, fallen: Tensor) -> list[int]:
    """Places of images of different classes, in the order of these; fallen ones rather than others."""
    first: dict[int, int] = {}
    for i in sorted(range(len(labels)), key=lambda i: not fallen[i]):
        first.setdefault(int(labels[i]), i)
    return sorted(list(first.values())[:_SHOWN], key=lambda i: int(labels[i]))


@torch.no_grad()
def _said(model: nn.Module, images: Tensor, names: list[str]) -> list[str]:
    """What the model says of each image, and how sure it is."""
    share, best = model(images).float().softmax(1).max(1)
    return [f"{names[int(i)]}, {p:.0%}" for i, p in zip(best, share.tolist(), strict=True)]


__all__ = [
    "attack_picture",
    "attacked",
    "resistance",
    "trained_with_attacks",
    "trained_without_attacks",
]
