r"""Schedules give the share of the full learning rate at every step, and batch sizes that grow.

    warm-up     (t + 1) / (w + 1)       for t < w, then one of these, with τ = (t − w) / (T − w) from 0 to 1
    constant    1
    linear      1 − τ                   straight down; Defazio et al. 2023
    cosine      ½ (1 + cos πτ)          Loshchilov & Hutter 2017
    step        f^⌊(t − w) / s⌋         falls by a factor f every s steps; He et al. 2016
    wsd         min(1, (1 − τ) / d)     warm-up, stable, decay over the last share d; Hu et al. 2024

Step T is the first that is not run, so that neither the first step nor the last has rate 0. A batch size that grows by
1/f where a rate would fall by f does the same in fewer steps: Smith et al. 2018. Notes: N3 §3.4.3.
"""

import math
from dataclasses import dataclass
from typing import Literal, get_args

Shape = Literal["constant", "linear", "cosine", "step", "wsd"]
SHAPES: tuple[str, ...] = get_args(Shape)


@dataclass(frozen=True)
class Schedule:
    """The learning rate's share at step t of T: from 0 to 1, after the warm-up never below ``floor``."""

    steps: int
    shape: str = "linear"
    warmup: int = 0
    floor: float = 0.0
    every: int | None = None  # step: how often it falls; by default at each third of what follows the warm-up
    factor: float = 0.1  # step: and by what
    decay: float = 0.2  # wsd: the share of the steps that decay

    def __post_init__(self) -> None:
        if self.shape not in SHAPES:
            raise ValueError(f"schedule must be one of {', '.join(SHAPES)}, got {self.shape!r}; pick one of these")
        if self.steps < 1:
            raise ValueError(f"steps must be above 0, got {self.steps}; try steps=1000")
        if not 0 <= self.warmup < self.steps:
            raise ValueError(f"warmup must be from 0 to below steps={self.steps}, got {self.warmup}; try warmup=0")
        if not 0 <= self.floor <= 1:
            raise ValueError(f"floor must be from 0 to 1, got {self.floor}; it is a share of the full rate")
        if self.every is not None and self.every < 1:
            raise ValueError(f"every must be above 0, got {self.every}; try every={max(1, self.steps // 3)}")
        for name, value in (("factor", self.factor), ("decay", self.decay)):
            if not 0 < value <= 1:
                raise ValueError(f"{name} must be above 0 and at most 1, got {value}; try {name}=0.1")

    def __call__(self, step: int) -> float:
        if step < self.warmup:
            return (step + 1) / (self.warmup + 1)
        return self.floor + (1 - self.floor) * self._share(min(step, self.steps) - self.warmup)

    def _share(self, t: int) -> float:
        length = self.steps - self.warmup
        τ = t / length
        if self.shape == "linear":
            return 1 - τ
        if self.shape == "cosine":
            return 0.5 * (1 + math.cos(math.pi * τ))
        if self.shape == "step":
            return self.factor ** (t // (self.every or math.ceil(length / 3)))
        if self.shape == "wsd":
            return min(1.0, (1 - τ) / self.decay)
        return 1.0


@dataclass(frozen=True)
class BatchSizes:
    """The batch size at every step: ``sizes[k]`` from step ``starts[k]`` on.

    >>> batch = BatchSizes(starts=(0, 10), sizes=(8, 32))
    >>> batch(9), batch(10), batch.before(10), batch.before(12)
    (8, 32, 80, 144)
    """

    starts: tuple[int, ...]
    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.starts) != len(self.sizes) or self.starts[:1] != (0,) or list(self.starts) != sorted(self.starts):
            raise ValueError(
                f"starts must rise from 0, one for each size, got starts={self.starts}, sizes={self.sizes}; "
                "try starts=(0, 100), sizes=(8, 16)"
            )
        if min(self.sizes) < 1:
            raise ValueError(f"a batch must hold at least one example, got sizes={self.sizes}; try sizes=(8, 16)")

    def __call__(self, step: int) -> int:
        return next(size for start, size in zip(self.starts[::-1], self.sizes[::-1]) if start <= step)

    def before(self, step: int) -> int:
        """How many examples the steps before this one took: where its batch begins."""
        ends = (*self.starts[1:], step)
        stages = zip(self.starts, ends, self.sizes, strict=True)
        return sum(size * max(0, min(step, end) - start) for start, end, size in stages)


def growing_batch(start: int, end: int, steps: int, factor: int = 2) -> BatchSizes:
    """A batch that grows by ``factor`` from ``start`` to ``end``, at equal intervals of the ``steps``.

    >>> [growing_batch(8, 32, 9)(t) for t in (0, 3, 6, 8)]
    [8, 16, 32, 32]
    """
    if steps < 1:
        raise ValueError(f"steps must be above 0, got {steps}; try steps=1000")
    if not 0 < start <= end:
        raise ValueError(f"a batch must grow from above 0, got start={start}, end={end}; try start=8, end=32")
    if factor < 2:
        raise ValueError(f"factor must be 2 or more for a batch to grow, got {factor}; try factor=2")
    sizes = [start]
    while sizes[-1] < end:
        sizes.append(min(end, sizes[-1] * factor))
    if len(sizes) > steps:
        raise ValueError(
            f"each batch size needs a step, got steps={steps} for sizes {', '.join(map(str, sizes))}; "
            f"try steps={len(sizes)} or a larger factor"
        )
    return BatchSizes(tuple(math.ceil(k * steps / len(sizes)) for k in range(len(sizes))), tuple(sizes))


def fitting_warmup(usual: int, steps: int) -> int:
    """The usual warm-up, or half of a run that is too short for it.

    >>> fitting_warmup(50, 1000), fitting_warmup(50, 20), fitting_warmup(50, 1)
    (50, 10, 0)
    """
    return usual if usual < steps else steps // 2


def batches_per_step(accumulate: int, batch_growth: int, steps: int) -> BatchSizes:
    """How many batches each step sums: from ``accumulate`` to ``batch_growth`` times as many, doubling on the way.

    >>> [batches_per_step(2, 4, steps=6)(t) for t in range(6)]
    [2, 2, 4, 4, 8, 8]
    """
    for name, value in (("accumulate", accumulate), ("batch_growth", batch_growth)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}; try {name}=1")
    if batch_growth & (batch_growth - 1):
        near = 1 << batch_growth.bit_length()
        raise ValueError(f"batch_growth must be a power of 2, got {batch_growth}; try batch_growth={near}")
    if batch_growth.bit_length() > steps:
        raise ValueError(
            f"each doubling of batch_growth needs a step, got batch_growth={batch_growth}, steps={steps}; "
            f"try batch_growth={1 << (steps - 1)}"
        )
    return growing_batch(accumulate, accumulate * batch_growth, steps)
