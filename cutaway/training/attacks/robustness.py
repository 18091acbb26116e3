r"""How well a classifier resists: the share of images that keep their class, attack by attack.

    clean       the images as they are
    noise, …    under one attack of size ε
    worst       an image counts only if it withstands every attack: the figure to state

Of PGD there are two: up the cross-entropy (pgd) and up the margin of another class (margin). Some images fall to one
alone, so that the worst of both is below each. A defence that hides its gradients stops both, but neither squares (no
gradients) nor images made with another model.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from cutaway.training.attacks.attacking import KINDS, as_it_predicts, attack, fitting_tensors

SQUARES = 1000  # steps of the square attack


@torch.no_grad()
def right_answers(model: nn.Module, images: Tensor, labels: Tensor, batch: int = 500) -> Tensor:
    """Which of the images get their class."""
    with as_it_predicts(model):
        parts = [model(part).argmax(1) for part in images.split(batch)]
    return torch.cat(parts) == labels if parts else labels.new_zeros(0, dtype=torch.bool)


def robust_accuracy(
    model: nn.Module,
    images: Tensor,
    labels: Tensor,
    epsilon: float = 0.1,
    kinds: Sequence[str] = KINDS,
    steps: int = 40,
    step: float = 0.01,
    restarts: int = 1,
    squares: int = SQUARES,
    norm: str = "inf",
    bounds: tuple[float, float] = (0.0, 1.0),
    seed: int = 0,
    sources: Mapping[str, nn.Module] | None = None,
) -> dict[str, float]:
    """{"clean": …, each kind: …, "from NAME": …, "worst": …}; ``sources`` are other models to make images with (pgd).

    Attacks run on what is still right, so each figure is exact for its attack and cheap where most has fallen.
    """
    images, labels = fitting_tensors(model, images, labels, bounds)
    clean = right_answers(model, images, labels)
    rates = {"clean": _share(clean)}
    worst = clean.clone()
    standing = clean.nonzero()[:, 0]
    settings: dict[str, Any] = dict(epsilon=epsilon, step=step, norm=norm, bounds=bounds, seed=seed)
    for kind in kinds:
        count = squares if kind == "square" else steps
        tries = restarts if kind in ("pgd", "margin", "square") else 1
        found = attack(model, images[standing], labels[standing], kind, steps=count, restarts=tries, **settings)
        rates[kind] = _kept(worst, standing, ~found.success)
    for name, source in (sources or {}).items():
        found = attack(source, images[standing], labels[standing], "pgd", steps=steps, restarts=1, **settings)
        rates[f"from {name}"] = _kept(worst, standing, right_answers(model, found.images, labels[standing]))
    return rates | {"worst": _share(worst)}


def _kept(worst: Tensor, standing: Tensor, withstood: Tensor) -> float:
    """Notes which images withstood an attack; the share of all images that did."""
    worst[standing[~withstood]] = False
    return int(withstood.sum()) / max(len(worst), 1)


def _share(right: Tensor) -> float:
    return int(right.sum()) / max(len(right), 1)


__all__ = ["SQUARES", "right_answers", "robust_accuracy"]
