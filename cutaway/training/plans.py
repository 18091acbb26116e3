r"""A plan holds the settings that the loop reads at every step: its length, rates and batches."""

from dataclasses import dataclass, fields
from typing import Any

import torch

from cutaway.training.optimizers.schedules import BatchSizes, Schedule

_ONE = BatchSizes(starts=(0,), sizes=(1,))


@dataclass(frozen=True)
class Plan:
    """Rates, batches, moments and precision of a run."""

    schedule: Schedule
    batches: BatchSizes = _ONE  # that each step sums
    seed: int = 0
    clip: float = 0.0  # longest gradient allowed; 0 for any
    log_every: int = 10
    evaluate_every: int = 100
    checkpoint_every: int = 500
    keep: int = 2  # checkpoints
    final: str = "best"  # the weights that the run ends with: best by validation, or last
    precision: torch.dtype | None = None  # of products, where the device is faster with less than float32

    @classmethod
    def of(cls, settings: Any, **made: Any) -> "Plan":
        """The plan of a recipe: the fields that ``made`` gives, and the recipe's settings for all others."""
        names = [field.name for field in fields(cls) if field.name not in made]
        return cls(**made, **{name: getattr(settings, name) for name in names})
