"""The laptop board: the best validation loss on tinyshakespeare in 60 and in 180 seconds of training on two cores.

    python benchmarks/laptop_board.py                          the settings of the board
    python benchmarks/laptop_board.py width=192 batch=24       a setting of your own: any of `cutaway train gpt --help`

A setting gets as many steps as the seconds allow, by the time that its steps take at first, and the schedule is
stretched over them; the loss is that of the whole validation split, the last tenth. Beat it and put yours on the board.
"""

import sys
import time
from dataclasses import replace
from typing import Any

import tyro
from timing import show
from trials import loop_of, shakespeare, train

from cutaway.recipes.texts.gpt import GPTRecipe

BUDGETS = (60, 180)
BOARD: list[dict[str, Any]] = [
    {},
    dict(context=128),
    dict(context=128, depth=6),
    dict(width=192, heads=6, context=128),
    dict(design="gpt2", optimizer="adamw", rate=1e-3, batch=12),
]


def fitted(recipe: GPTRecipe, seconds: float) -> GPTRecipe:
    """The recipe with as many steps as fit into the seconds."""
    loop, count = loop_of(recipe), 15
    for i in range(count + 3):
        if i == 3:  # the first ones are slower
            started = time.perf_counter()
        loop._advance()
    a_step = (time.perf_counter() - started) / count
    return replace(recipe, steps=max(1, int(seconds / a_step)))


def main(settings: list[dict[str, Any]] | None = None, budgets: tuple[int, ...] = BUDGETS) -> None:
    data, rows = shakespeare(), []
    for own in BOARD if settings is None else settings:
        name = " ".join(f"{k}={v}" for k, v in own.items()) or "the small preset"
        found = [str(train(fitted(GPTRecipe.make("small", data=data, **own), budget))) for budget in budgets]
        print(f"{name}: {'; '.join(found)}", flush=True)
        rows += [(f"{name}, {budget} s", trial) for budget, trial in zip(budgets, found, strict=True)]
    show("Laptop board: loss on the whole validation split of tinyshakespeare", rows)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        flags = [part for word in sys.argv[1:] for part in (f"--{word.split('=')[0]}", word.split("=", 1)[1])]
        own = tyro.cli(GPTRecipe, args=flags, default=GPTRecipe.make("small"))
        given = {word.split("=")[0]: getattr(own, word.split("=")[0]) for word in sys.argv[1:]}
        main([given])
    else:
        main()
