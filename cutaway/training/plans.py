r"""How long and how to train: what the loop reads at every step."""

from dataclasses import dataclass

import torch

from cutaway.blocks.checks import expect_positive
from cutaway.training.optimizers.schedules import Schedule, growing_batch


@dataclass(frozen=True)
class Plan:
    """Rates, batches, moments and precision of a run."""

    schedule: Schedule
    seed: int = 0
    accumulate: int = 1  # batches in a step
    growth: int = 1  # … times this at the end, doubling on the way (N3 §3.4.3)
    clip: float | None = None
    log_every: int = 10
    evaluate_every: int = 100
    checkpoint_every: int = 500
    keep: int = 2  # checkpoints
    final: str = "best"  # the weights that the run ends with: best by validation, or last
    precision: torch.dtype | None = None  # of products, where the device is faster with less than float32

    def __post_init__(self) -> None:
        expect_positive(accumulate=self.accumulate, growth=self.growth)
        if self.growth & (self.growth - 1):
            near = 1 << self.growth.bit_length()
            raise ValueError(f"growth must be a power of 2, got {self.growth}; try growth={near}")
        steps = self.schedule.steps
        if self.growth.bit_length() > steps:
            raise ValueError(
                f"each doubling of growth needs a step, got growth={self.growth}, steps={steps}; "
                f"try growth={1 << (steps - 1)}"
            )

    def batches(self, step: int) -> int:
        """How many batches a step sums up."""
        return growing_batch(self.accumulate, self.accumulate * self.growth, self.schedule.steps)(step)
