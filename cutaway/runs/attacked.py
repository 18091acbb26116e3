r"""A run under attack: how many images keep their class when they are changed a little, on purpose."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cutaway.tasks.abilities.ability import expect_method
from cutaway.tasks.abilities.verbs.attack import ABILITY, KINDS
from cutaway.tasks.images.pixels import image_about
from cutaway.training.attacks.robustness import robust_accuracy

if TYPE_CHECKING:
    from torch import Tensor

    from cutaway.runs.run import Run


def labelled_images(
    run: "Run", given: Any = None, part: str = "validation", most: int = 1000
) -> "tuple[Tensor, Tensor, str]":
    """Images that can be changed little by little, their classes, and what they are."""
    return expect_method(run, ABILITY)(given, part, most)


def attack(
    run: "Run",
    images: Any = None,
    epsilon: float = 0.1,
    kinds: Sequence[str] = KINDS,
    steps: int = 40,
    step: float | None = None,
    restarts: int = 1,
    squares: int = 1000,
    source: Any = None,
    count: int = 1000,
    test: bool = False,
    seed: int = 0,
) -> dict[str, Any]:
    """The share of images that keep their class after each kind of attack; no pixel moves by more than ``epsilon``.

    Without images, ``count`` that the run was not trained on. ``source`` is another run, for which changes are made and
    tried on this one, too.
    """
    sources = {source.path.name: _model_of(run, source)} if source is not None else {}
    pixels, labels, words = labelled_images(run, images, "test" if test else "validation", count)
    rates = robust_accuracy(
        run.model,
        pixels,
        labels,
        epsilon,
        kinds,
        steps,
        step_size(epsilon, steps, step),
        restarts,
        squares,
        seed=seed,
        sources=sources,
    )
    return {"images": words, "epsilon": epsilon, "right": rates}


def step_size(epsilon: float, steps: int, step: float | None) -> float:
    return step or max(2.5 * epsilon / steps, 1e-6)


def _model_of(run: "Run", other: "Run") -> Any:
    """The model of another run, whose images and classes must be those of this one."""
    from cutaway.runs.views.robustness import classifies_images

    if not classifies_images(other):
        raise ValueError(
            f"--source must be a run that gives images a class, got {other.path}, a run of {other.recipe.name!r}; "
            "`cutaway train cnn` makes one"
        )
    mine, theirs = image_about(run), image_about(other)
    for name in ("labels", "shape"):
        if mine[name] != theirs[name]:
            raise ValueError(
                f"--source must have the {name} of the run that is attacked, {mine[name]}, got {theirs[name]}; train "
                "one on the same data"
            )
    return other.model
