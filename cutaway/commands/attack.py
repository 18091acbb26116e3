"""`cutaway attack RUN`: how well an image classifier withstands small changes that are aimed at it."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import tyro

from cutaway.commands.flags import parse_flags

_PICTURES = (".png", ".svg", ".html")
_WORDS = {
    "clean": "as they are",
    "noise": "with noise of that size",
    "fgsm": "after one step along the sign of the gradient",
    "pgd": "after {steps} steps, {restarts} start{s}",
    "margin": "after as many steps towards the nearest other class",
    "square": "after {squares:,} squares, without gradients",
    "worst": "after every attack: the figure to state",
}


@dataclass(frozen=True)
class AttackImages:
    """Changes images a little, so that the run gives them another class, and prints how many keep their class.

    No pixel moves by more than --epsilon, on a scale from 0 (black) to 1 (white). Without images of yours, images are
    taken that the run was not trained on. With --out picture.png (.svg, .html), some images are drawn with what was
    changed.
    """

    examples: ClassVar[tuple[str, ...]] = (
        "cutaway attack runs/cnn-1",
        "cutaway attack runs/cnn-1 --epsilon 0.3 --restarts 5 --count 0 --test",
        "cutaway attack runs/cnn-1 photos/ --kinds fgsm pgd --out attack.png",
        "cutaway attack runs/cnn-2 --source runs/cnn-1",
    )

    run: Annotated[str, tyro.conf.Positional]
    """the run folder"""
    images: Annotated[str, tyro.conf.Positional] = ""
    """a folder or file of images of yours"""
    epsilon: float = 0.1
    """the most that a pixel may move, from 0 to 1"""
    kinds: tuple[Literal["noise", "fgsm", "pgd", "margin", "square"], ...] = (
        "noise",
        "fgsm",
        "pgd",
        "margin",
        "square",
    )
    """attacks to try"""
    steps: int = 40
    """steps of pgd and margin"""
    step: float | None = None
    """size of a step of pgd and margin (default: 2.5 epsilon / steps)"""
    restarts: int = 1
    """starts of pgd, margin and square; an image withstands only if it does so each time"""
    squares: int = 1000
    """squares that the square attack tries"""
    source: str = ""
    """another run: changes are made for it, and tried on this one, too"""
    count: int = 1000
    """images to attack, evenly spread; 0 for all"""
    test: bool = False
    """attack the test images, which no choice should depend on"""
    seed: int = 0
    """the same seed gives the same changes"""
    out: str = ""
    """a picture to write: .png, .svg or .html"""
    overwrite: bool = False
    """write --out even if there is such a file"""
    json: bool = False
    """print JSON"""


def main(argv: Sequence[str]) -> None:
    asked = parse_flags(AttackImages, "cutaway attack", argv)
    _expect(asked)
    from cutaway.runs.execution import load
    from cutaway.runs.views.robustness import attackable
    from cutaway.training.attacks.robustness import robust_accuracy

    run = load(asked.run)
    choose_images = attackable(run)
    sources = {Path(asked.source).name: _source(run, asked.source)} if asked.source else {}
    part = "test" if asked.test else "validation"
    images, labels, words = choose_images(asked.images or None, part, asked.count)
    step = asked.step or max(2.5 * asked.epsilon / asked.steps, 1e-6)
    rates = robust_accuracy(
        run.model,
        images,
        labels,
        asked.epsilon,
        asked.kinds,
        asked.steps,
        step,
        asked.restarts,
        asked.squares,
        seed=asked.seed,
        sources=sources,
    )
    if asked.out:
        from cutaway.runs.views.robustness import attack_picture

        attack_picture(run, images, labels, asked.epsilon, asked.steps, step, asked.seed).save(asked.out)
    if asked.json:
        json.dump({"images": words, "epsilon": asked.epsilon, "right": rates}, sys.stdout, ensure_ascii=False)
        print()
        return
    print(f"{words}; no pixel moves by more than {asked.epsilon:g}")
    print("\n".join(_lines(rates, asked)))
    if asked.out:
        print(asked.out, file=sys.stderr)


def _source(run: Any, path: str) -> Any:
    """The model of another run, whose images and classes must be those of this one."""
    from cutaway.runs.execution import load
    from cutaway.runs.views.image_classes import classifies_images

    other = load(path)
    if not classifies_images(other):
        raise ValueError(
            f"--source must be a run that gives images a class, got {path}, a run of {other.recipe.name!r}; "
            "`cutaway train cnn` makes one"
        )
    tasks: list[Any] = [run.task, other.task]
    mine, theirs = (task.about for task in tasks)
    for name in ("labels", "shape"):
        if mine[name] != theirs[name]:
            raise ValueError(
                f"--source must have the {name} of the run that is attacked, {mine[name]}, got {theirs[name]}; train "
                "one on the same data"
            )
    return other.model


def _lines(rates: dict[str, float], asked: AttackImages) -> list[str]:
    """A line for each attack: its name, the share that is right, and what was done."""
    facts: dict[str, Any] = dict(steps=asked.steps, squares=asked.squares, restarts=asked.restarts)
    facts["s"] = "s" * (asked.restarts > 1)
    wide = max(map(len, rates))
    told = {name: _WORDS.get(name, "with changes that were made for that run").format(**facts) for name in rates}
    return [f"  {name:<{wide}}  {share:6.1%} right {told[name]}" for name, share in rates.items()]


def _expect(asked: AttackImages) -> None:
    """Flags that fit one another."""
    if asked.count < 0:
        raise ValueError(f"--count must be at least 0, got {asked.count}; try --count 1000, or 0 for all")
    if not 0 <= asked.epsilon <= 1:
        raise ValueError(f"--epsilon must be from 0 to 1, got {asked.epsilon}; for 8 of 255 levels say 0.0314")
    if asked.step is not None and not asked.step > 0:
        raise ValueError(f"--step must be above 0, got {asked.step}; leave it out for 2.5 epsilon / steps")
    for name in ("steps", "restarts", "squares"):
        if getattr(asked, name) < 1:
            raise ValueError(f"--{name} must be at least 1, got {getattr(asked, name)}; leave it out for the usual")
    if asked.test and asked.images:
        raise ValueError(f"--test is for the run's own images, got {asked.images} beside it; leave one of them out")
    if asked.out and Path(asked.out).suffix.lower() not in _PICTURES:
        raise ValueError(f"--out must end in {', '.join(_PICTURES)}, got {asked.out!r}; try --out attack.png")
    if asked.out and Path(asked.out).exists() and not asked.overwrite:
        raise ValueError(f"--out must be a new file, got {asked.out}, which is there; add --overwrite to replace it")
    if asked.overwrite and not asked.out:
        raise ValueError("--overwrite is for --out, got no --out; add --out attack.png")
