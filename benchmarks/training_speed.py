"""The `gpt` recipe's step at widths 128 and 512: tokens a second, share of the GEMM peak, overhead of the loop.

A step's work is taken as 6 operations for each weight of a matrix and token, forward and backward, and 12 · context ·
width for each layer's attention and token (Kaplan et al. 2020, §2.1, who count the same); what the optimizer does is
left out of the work but not of the time; Muon's products can be as much as a small batch's own. The peak is the best
rate of n × n float32 products seen in this run. The loop's overhead is all of a step but forward, backward and the
optimizers: batch, clipping, checks, log. Aim: below 3 %.
"""

import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from timing import show, time_once
from trials import loop_of

from cutaway.recipes.texts.gpt import GPTRecipe
from cutaway.training.loop import Loop


def gemm_peak() -> float:
    """Operations a second of the fastest square product."""
    best = 0.0
    for n in (256, 512, 1024):
        a, b = torch.randn(n, n), torch.randn(n, n)
        number = max(1, (1 << 30) // n**3)
        best = max(best, max(2 * n**3 / time_once(lambda: a @ b, number) for _ in range(5)))  # noqa: B023
    return best


def work_of(loop: Loop, context: int) -> float:
    """Operations of one token, forward and backward."""
    model = loop.model
    matrices = sum(p.numel() for name, p in model.named_parameters() if p.ndim == 2 and name != "embed.weight")
    return 6 * matrices + 12 * model.spec.depth * context * model.spec.width


class Clock:
    """Adds up the time spent inside some functions."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def watch(self, holder: Any, name: str) -> None:
        whole: Callable[..., Any] = getattr(holder, name)

        def timed(*inputs: Any, **how: Any) -> Any:
            started = time.perf_counter()
            try:
                return whole(*inputs, **how)
            finally:
                self.seconds += time.perf_counter() - started

        setattr(holder, name, timed)


def watched(loop: Loop) -> Clock:
    """A clock of forward, backward and the optimizers of a loop."""
    clock = Clock()
    clock.watch(loop, "cost")
    for optimizer in loop.optimizers:
        clock.watch(optimizer, "step")
        clock.watch(optimizer, "zero_grad")
    return clock


def measured(recipe: GPTRecipe, peak: float) -> list[tuple[str, str]]:
    loop = loop_of(recipe)
    clock = watched(loop)
    clock.watch(torch.Tensor, "backward")
    steps, shares = [], []
    for i in range(23):
        clock.seconds, started = 0.0, time.perf_counter()
        loop._advance()
        step = time.perf_counter() - started
        if i > 2:  # the first ones are slower
            steps.append(step)
            shares.append(1 - clock.seconds / step)
    step = statistics.median(steps)
    tokens = recipe.batch * recipe.context
    done = work_of(loop, recipe.context) * tokens / step
    return [
        (
            f"width {recipe.width}, {recipe.optimizer}, batch {recipe.batch} × {recipe.context}: a step",
            f"{step * 1e3:.1f} ms",
        ),
        ("  tokens a second", f"{tokens / step:,.0f}"),
        ("  share of the GEMM peak", f"{done / peak:.0%}"),
        ("  overhead of the loop (aim < 3 %)", f"{statistics.median(shares):.1%}"),
    ]


def main() -> None:
    peak = gemm_peak()
    rows = [("GEMM peak, float32", f"{peak / 1e9:.0f} GFLOP/s")]
    for width, heads, context in ((128, 4, 64), (512, 8, 128)):
        for optimizer in ("muon", "adamw"):
            how = dict(width=width, heads=heads, context=context, optimizer=optimizer, steps=10_000)
            rows += measured(GPTRecipe.make("small", data="python-docs", **how), peak)
    show("The gpt recipe's training step, 4 layers", rows)


if __name__ == "__main__":
    main()
