"""`cutaway attack RUN`: how well an image classifier withstands small changes that are aimed at it."""

import json
import sys
from pathlib import Path
from typing import Any

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


def main(asked: Any) -> None:
    _expect(asked)
    from cutaway.runs.execution import load

    run = load(asked.run)
    told = run.attack(
        asked.images or None,
        asked.epsilon,
        asked.kinds,
        asked.steps,
        asked.step,
        asked.restarts,
        asked.squares,
        load(asked.source) if asked.source else None,
        asked.count,
        asked.test,
        asked.seed,
    )
    if asked.out:
        from cutaway.runs.attacked import labelled_images, step_size
        from cutaway.runs.views.robustness import attack_picture

        part, step = "test" if asked.test else "validation", step_size(asked.epsilon, asked.steps, asked.step)
        images, labels, _ = labelled_images(run, asked.images or None, part, asked.count)
        attack_picture(run, images, labels, asked.epsilon, asked.steps, step, asked.seed).save(asked.out)
    if asked.json:
        json.dump(told, sys.stdout, ensure_ascii=False)
        print()
        return
    print(f"{told['images']}; no pixel moves by more than {asked.epsilon:g}")
    print("\n".join(_lines(told["right"], asked)))
    if asked.out:
        print(asked.out, file=sys.stderr)


def _lines(rates: dict[str, float], asked: Any) -> list[str]:
    """A line for each attack: its name, the share that is right, and what was done."""
    facts: dict[str, Any] = dict(steps=asked.steps, squares=asked.squares, restarts=asked.restarts)
    facts["s"] = "s" * (asked.restarts > 1)
    wide = max(map(len, rates))
    told = {name: _WORDS.get(name, "with changes that were made for that run").format(**facts) for name in rates}
    return [f"  {name:<{wide}}  {share:6.1%} right {told[name]}" for name, share in rates.items()]


def _expect(asked: Any) -> None:
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
