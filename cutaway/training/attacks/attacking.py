r"""`cut.attack`: changes images, by at most ε, so that a classifier gives another class.

    success_i = [argmax f(x′_i) ≠ y_i]      robust accuracy = 1 − mean(success)

kinds   noise    uniform change in the ball: what is not aimed hardly hurts
        fgsm     one step along the sign of the gradient
        pgd      many small steps up the cross-entropy, from a uniform start
        margin   many small steps up max_{c≠y} z_c − z_y, from a uniform start: PGD where the model is very sure
        square   no gradients: squares of ±ε that help are kept

Epsilon is in the units of the model's own inputs. Cutaway's image models take pixels from 0 to 1 and normalise inside,
so ε = 0.3 means 0.3 of the way from black to white. The model is attacked as it predicts (evaluation mode); its
weights, gradients and mode stay as they were.

Goodfellow, Shlens and Szegedy 2015; Madry et al. 2018; Carlini and Wagner 2017 (margins). Notes: N3 §8.3.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from numbers import Integral
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from cutaway.blocks.checks import expect_choice
from cutaway.training.attacks.balls import Ball
from cutaway.training.attacks.gradient_steps import fgsm, pgd
from cutaway.training.attacks.margins import cross_entropy_cost, margin, margin_cost
from cutaway.training.attacks.square import square_attack

KINDS = ("noise", "fgsm", "pgd", "margin", "square")
_COSTS = {"pgd": cross_entropy_cost, "margin": margin_cost}  # what PGD makes larger


class Attacked(NamedTuple):
    """The changed images, and which of them the model no longer gives their class."""

    images: Float[Tensor, "b *pixels"]
    success: Bool[Tensor, "b"]


def attack(
    run_or_model: Any,
    images: Tensor,
    labels: Tensor,
    kind: str = "fgsm",
    epsilon: float = 0.1,
    steps: int = 40,
    step: float = 0.01,
    restarts: int = 1,
    norm: str | float = "inf",
    bounds: tuple[float, float] = (0.0, 1.0),
    seed: int = 0,
    *,
    random_start: bool = True,
    batch: int = 250,
) -> Attacked:
    """Attacks ``images`` whose classes are ``labels``, within ``epsilon`` in the ``norm`` and within ``bounds``.

    ``steps`` and ``step`` are those of pgd and margin (for square: how many squares). With ``restarts``, images that
    withstood are attacked again from another start; one withstands only if it does so each time. ``random_start=False``
    starts pgd and margin at the images. An image that had the wrong class before counts as a success. Images and labels
    are taken to the model's device, images to its precision; arrays are fine.

    >>> _ = torch.manual_seed(0)
    >>> model = nn.Linear(2, 2)
    >>> x = torch.rand(8, 2)
    >>> found = attack(model, x, model(x).argmax(1), kind="fgsm", epsilon=1.0)
    >>> found.success.float().mean(), attack(model, x, model(x).argmax(1), epsilon=0.0).success.any()
    (tensor(1.), tensor(False))
    """
    model = run_or_model if isinstance(run_or_model, nn.Module) else getattr(run_or_model, "model", run_or_model)
    if not isinstance(model, nn.Module):
        raise ValueError(f"an attack needs a run or an nn.Module, got {type(run_or_model).__name__}; try cut.load(RUN)")
    expect_choice("kind", kind, KINDS)
    for name, count in (("steps", steps), ("restarts", restarts), ("batch", batch)):
        if not isinstance(count, Integral) or count < 1:
            raise ValueError(f"{name} must be a whole number of at least 1, got {count!r}; leave it out for the usual")
    if not step > 0:
        raise ValueError(f"step must be above 0, got {step}; try step=0.01")
    ball = Ball(epsilon, str(norm), tuple(bounds))  # type: ignore[arg-type]
    with torch.inference_mode(False), as_it_predicts(model):
        images, labels = fitting_tensors(model, images, labels, ball.bounds)
        generator = torch.Generator(images.device).manual_seed(seed)
        _expect_classes(model, images[:1], labels)
        x, weakest = images.clone(), torch.full((len(images),), torch.inf, dtype=images.dtype, device=images.device)
        for _ in range(1 if kind == "fgsm" or (kind in _COSTS and not random_start) else restarts):
            start = ball.draw(images, generator)  # of all images: a subset that is left draws as it would in the whole
            left = (weakest >= 0).nonzero()[:, 0]
            for part in left.split(batch):
                move = _moves(kind, start[part] if random_start or kind == "noise" else None, steps, step, generator)
                found = move(model, images[part], labels[part], ball)
                with torch.no_grad():
                    margins = _decided(model(found), labels[part])
                better = margins < weakest[part]
                x[part[better]], weakest[part[better]] = found[better], margins[better]
    return Attacked(x, weakest < 0)


def _moves(
    kind: str, start: Tensor | None, steps: int, step: float, generator: torch.Generator
) -> Callable[..., Tensor]:
    """One attack on a batch: (model, images, labels, ball) → images."""
    if kind == "noise":
        return lambda model, images, labels, ball: ball.project(images + start, images)
    if kind == "square":
        return partial(square_attack, steps=steps, generator=generator)
    return fgsm if kind == "fgsm" else partial(pgd, steps=steps, step=step, start=start, cost=_COSTS[kind])


def _decided(logits: Float[Tensor, "b k"], labels: Int[Tensor, "b"]) -> Float[Tensor, "b"]:
    """The margin of the true class; where it ties, or is no number, what argmax says decides."""
    margins = margin(logits, labels).nan_to_num(nan=-1.0)
    wrong = logits.argmax(1) != labels
    return torch.where(wrong & (margins >= 0), torch.full_like(margins, -torch.finfo(margins.dtype).tiny), margins)


_lock = threading.Lock()
_visits: dict[nn.Module, tuple[int, dict[nn.Module, bool]]] = {}  # models in use: how often, and their modes before


@contextmanager
def as_it_predicts(model: nn.Module) -> Iterator[None]:
    """Evaluation mode; afterwards every part is as it was. Of several threads the last one out restores it."""
    with _lock:
        count, modes = _visits.get(model) or (0, {module: module.training for module in model.modules()})
        _visits[model] = count + 1, modes
        model.eval()
    try:
        yield
    finally:
        with _lock:
            count, modes = _visits.pop(model)
            if count > 1:
                _visits[model] = count - 1, modes
            else:
                for module, mode in modes.items():
                    module.training = mode


def fitting_tensors(
    model: nn.Module, images: Tensor, labels: Tensor, bounds: tuple[float, float] = (0.0, 1.0)
) -> tuple[Tensor, Tensor]:
    """Images and labels as tensors that belong together, where the model is and in its precision."""
    images, labels = torch.as_tensor(images), torch.as_tensor(labels)
    if images.ndim < 2:
        raise ValueError(
            f"images must have shape (count, ...), got {tuple(images.shape)}; for one image use image[None]"
        )
    if not images.is_floating_point():
        raise ValueError(f"images must be floats within bounds={bounds}, got {images.dtype}; try images / 255")
    if labels.ndim != 1 or len(labels) != len(images) or labels.is_floating_point():
        raise ValueError(
            f"labels must be one class number for each of the {len(images):,} images, got shape "
            f"{tuple(labels.shape)} of {labels.dtype}; give integers of shape ({len(images)},)"
        )
    if images.numel() and not (images.amin() >= bounds[0] - 1e-6 and images.amax() <= bounds[1] + 1e-6):
        raise ValueError(
            f"images must lie within bounds={bounds}, got values from {images.amin():.4g} to {images.amax():.4g}; "
            "scale them, or set bounds"
        )
    own = next((p for p in model.parameters() if p.is_floating_point()), images)
    images = images.detach().to(own.device, own.dtype)
    # Clones: tensors of inference mode do, and the layout in memory, in which starts are drawn, is always the same.
    return images.clone(memory_format=torch.contiguous_format), labels.to(images.device, torch.int64).clone()


@torch.no_grad()
def _expect_classes(model: nn.Module, image: Tensor, labels: Tensor) -> None:
    """The model must give logits (b, classes), and the labels must be among these."""
    if not len(image):
        return
    logits = model(image)
    if not isinstance(logits, Tensor) or logits.ndim != 2:
        got = f"shape {tuple(logits.shape)}" if isinstance(logits, Tensor) else type(logits).__name__
        raise ValueError(f"an attack needs a classifier that gives logits (b, classes), got {got}; wrap it in one")
    if labels.amin() < 0 or labels.amax() >= logits.shape[1]:
        raise ValueError(
            f"labels must be classes from 0 to {logits.shape[1] - 1}, got {labels.amin()} to {labels.amax()}; "
            "number them as in training"
        )


__all__ = ["KINDS", "Attacked", "as_it_predicts", "attack", "fitting_tensors"]
